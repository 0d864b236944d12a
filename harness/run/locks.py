"""Clients that write under locks, and readers beside them: a workload, as `generator` is one.

A *contender* acquires a lock, writes to the resource of the same name a few times, each time with its
token, and gives the lock back. It renews its session while it works. *Readers* are pinned to every node
and read the resources the way the policy reads, from a lease for instance: what they see has to fit what
the fenced writes did.

Now and then a contender is *stopped*: after a grant or between two writes nothing comes from it for
longer than its session lives. It cannot know: its own idea of the time stood still meanwhile, so it goes
on with the very write it was about to make. That is SIGSTOP, or a collection of garbage, as its cluster
sees it, and the same in every place where nodes can run. What such a client does next is right of it;
only the storage can refuse it.

A value is ``[token, number]``: a read tells under which token was written what it saw. A session that
waits for a lock renews nothing, and may have ended when its turn comes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from checker.events import EventType
from targets.session import Call

from .slots import PROBED, RETRY_NS, Seat, Slots

if TYPE_CHECKING:
    from random import Random

    from targets.session import Completion

    from .slots import Workload

WRITES_MAX: Final = 4  # under one grant
STOPPED_ONE_IN: Final = 6
LOST: Final = frozenset({"FENCED", "EXPIRED", "NOT_HELD"})
"""Codes that tell a contender that it holds nothing."""


class Step(StrEnum):
    """What a contender does next."""

    ACQUIRE = "acquire"
    WRITE = "write"
    RELEASE = "release"


class Contender(Seat):
    """One slot that is no reader's; ``renewed_ns`` is when, as it sees it, its session was renewed."""

    step: Step = Step.ACQUIRE
    session: str = ""
    key: str = ""
    token: int = 0
    writes: int = 0
    renewed_ns: int = 0


class Reader(Seat):
    """One slot that reads at its node all day."""


class Locks(Slots[Reader | Contender]):
    """The workload in motion."""

    def __init__(self, workload: Workload, rng: Random) -> None:
        super().__init__(workload, rng)
        self._ttl_ns = workload.ttl_ns
        self._last_session = 0
        readers = [Reader(node, self._gap_ns()) for node in workload.nodes]
        contenders = [
            Contender(workload.nodes[seat % len(workload.nodes)], self._gap_ns())
            for seat in range(workload.clients - len(readers))
        ]
        self.seats = (*readers, *contenders)

    def next(self, slot: int, now_ns: int) -> tuple[Call, str]:
        """Draw the slot's next operation and the node to ask."""
        seat = self.seats[slot]
        if isinstance(seat, Reader):
            return Call("read", self._key()), seat.node
        return self._go_on(seat, now_ns), seat.node

    def _go_on(self, seat: Contender, now_ns: int) -> Call:
        match seat.step:
            case Step.ACQUIRE:
                if not seat.session:
                    self._last_session += 1
                    seat.session = f"s{self._last_session}"
                    seat.key = self._key()
                seat.renewed_ns = now_ns
                return Call("acquire", seat.key, [seat.session, self._ttl_ns])
            case Step.WRITE if now_ns - seat.renewed_ns > self._ttl_ns // 3:
                seat.renewed_ns = now_ns
                return Call("renew", seat.key, seat.session)
            case Step.WRITE:
                self._keys.count(seat.key)
                return Call("write", seat.key, [seat.token, self._unique()], fenced=True)
            case Step.RELEASE:
                return Call("release", seat.key, seat.session)

    def probe(self, f: str, key: Any) -> Call:
        """Make the operation a probe asks for: a read where something was stored, or a plain write."""
        if f == "write":
            return Call(f, PROBED if key is None else key, self._unique())
        return Call(f, self._keys.written if key is None else key)

    def ended(self, slot: int | None, call: Call, completion: Completion, now_ns: int) -> None:
        """Learn how an operation ended (a probe's has no slot)."""
        if completion.type is EventType.INFO and call.f == "write":
            self._keys.unknown(call.key)
        if slot is None:
            return
        seat = self.seats[slot]
        seat.due_ns = now_ns + self._gap_ns()
        if completion.type is not EventType.OK:
            seat.due_ns = max(seat.due_ns, now_ns + RETRY_NS)
        if isinstance(seat, Contender):
            self._learn(seat, call, completion)

    def _learn(self, seat: Contender, call: Call, completion: Completion) -> None:
        match completion.type, call.f:
            case EventType.OK, "acquire":
                seat.step, seat.token = Step.WRITE, completion.value
                seat.writes = 1 + self._rng.randrange(WRITES_MAX)
                self._perhaps_stop(seat)
            case EventType.OK, "write":
                self._keys.acknowledged(seat.key)
                seat.writes -= 1
                if seat.writes:
                    self._perhaps_stop(seat)
                else:
                    seat.step = Step.RELEASE
            case EventType.OK, "release":
                self._leave(seat)
            case EventType.FAIL, _ if completion.error not in LOST:
                seat.node = completion.leader or self._after(seat.node)
            case ((EventType.FAIL | EventType.INFO), _):
                self._leave(seat)
            case _:
                pass

    def _perhaps_stop(self, seat: Contender) -> None:
        """Let nothing come from a seat for one to three times as long as its session lives."""
        if self._rng.randrange(STOPPED_ONE_IN):
            return
        stopped_ns = self._ttl_ns * (100 + self._rng.randrange(201)) // 100
        seat.due_ns += stopped_ns
        seat.renewed_ns += stopped_ns

    def _leave(self, seat: Contender) -> None:
        """Think no more of a lock, nor of its session; the next one is another."""
        seat.step, seat.session = Step.ACQUIRE, ""
