"""What one step wants done, collected; and what may not be said before the disk has it.

A vote, and the acknowledgement of an entry, are promises about what will be remembered. They are held
here under the persist they rest on and released by ``Persisted``. A leader's own appends are not held:
it sends while its disk still syncs and counts itself only afterwards.

Releasing late is no different from a slow network: whatever the node has done since, the message was
true when it was made and the disk holds what it says.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from targets.leasekv.ports import HardState, Persist, Ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.evidence import Fact
    from targets.leasekv.messages import Entry, PeerMessage, Response, Snapshot

NOTHING = Ready()


class Outbox:
    """Effects of the step under way, and messages that wait.

    ``unsaved`` is what this step has said to be stored.
    """

    __slots__ = (
        "_facts", "_hard", "_held", "_messages", "_replies", "_snapshot",
        "durable_seq", "seq", "unsaved",
    )  # fmt: skip

    def __init__(self, held_max: int) -> None:
        self.seq = 0
        self.durable_seq = 0
        self._facts: list[Fact] = []
        self._messages: list[tuple[str, PeerMessage]] = []
        self._replies: list[tuple[int, Response]] = []
        self._hard: HardState | None = None
        self._snapshot: Snapshot | None = None
        self.unsaved: list[Entry] = []
        # Beyond the bound the oldest is lost, as on a network; its sender asks again.
        self._held: deque[tuple[int, str, PeerMessage]] = deque(maxlen=held_max)

    @property
    def pending_seq(self) -> int:
        """The persist that carries everything said to be stored so far."""
        return self.seq + 1 if self.unsaved or self._hard is not None else self.seq

    def fact(self, fact: Fact) -> None:
        """Write a line of evidence."""
        self._facts.append(fact)

    def send(self, peer: str, message: PeerMessage) -> None:
        """Say it at once."""
        self._messages.append((peer, message))

    def send_once_durable(self, peer: str, message: PeerMessage, seq: int) -> None:
        """Say it when persist ``seq`` and all before it are durable."""
        if seq <= self.durable_seq:
            self._messages.append((peer, message))
        else:
            self._held.append((seq, peer, message))

    def reply(self, client: int, response: Response) -> None:
        """Answer a client."""
        self._replies.append((client, response))

    def store_hard(self, hard: HardState) -> None:
        """Make term and vote durable."""
        self._hard = hard

    def store(self, entries: Sequence[Entry]) -> None:
        """Make entries durable; within a step they follow on each other."""
        self.unsaved.extend(entries)

    def start_over(self, snapshot: Snapshot, hard: HardState, entries: Sequence[Entry]) -> None:
        """Store this instead of everything stored so far: a snapshot, and what follows it."""
        self._snapshot = snapshot
        self._hard = hard
        self.unsaved = list(entries)

    def durable(self, seq: int) -> None:
        """Release what waited for ``seq`` or less."""
        self.durable_seq = seq
        if not self._held:
            return
        waiting = list(self._held)
        self._held.clear()
        for item in waiting:
            if item[0] <= self.durable_seq:
                self._messages.append(item[1:])
            else:
                self._held.append(item)

    def flush(self) -> Ready:
        """Return everything collected and start afresh."""
        persist = None
        if self.unsaved or self._hard is not None:
            self.seq += 1
            persist = Persist(self.seq, self._hard, tuple(self.unsaved), self._snapshot)
            self._hard = None
            self._snapshot = None
            self.unsaved.clear()
        elif not (self._facts or self._messages or self._replies):
            return NOTHING
        ready = Ready(tuple(self._facts), persist, tuple(self._messages), tuple(self._replies))
        self._facts.clear()
        self._messages.clear()
        self._replies.clear()
        return ready
