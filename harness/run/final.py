"""The final reads: every key at every node, once the cluster has settled.

They turn what is left undecided into proof: a write that was acknowledged and lost is seen here at the
latest. A node that may not answer from its own lease (a follower) is asked a second time through
ReadIndex; one that answers neither way is given up after `TRIES`: a final read asserts nothing by
failing, and on a network that loses messages some do. A node that answers none of them, not even with
a refusal, is *silent*: nobody has looked at it, and its run does not pass. A key that no node answered
for is *unseen*: what was acknowledged there may be lost.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from checker.events import ReadPath
from targets.session import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIES: Final = 4
PAUSE_NS: Final = 50_000_000  # between two tries of one read
EACH_MAX_NS: Final = 10_000_000
"""What each of them adds to the time they have: of a long load at full rate there are thousands."""


class FinalRead(msgspec.Struct, frozen=True):
    """One read still owed; not before ``due_ns``."""

    key: str
    node: str
    due_ns: int
    tried: int = 0

    @property
    def call(self) -> Call:
        """The operation: the policy's own way first and every other time."""
        return Call("read", self.key, path=ReadPath.READINDEX if self.tried % 2 else None)


class FinalReads:
    """What is still to read."""

    def __init__(self, keys: Sequence[str], nodes: Sequence[str], now_ns: int) -> None:
        self._owed = deque(FinalRead(key, node, now_ns) for key in keys for node in nodes)
        self.given_up = 0
        self.silent = frozenset(read.node for read in self._owed)
        self._unseen = dict.fromkeys(keys)

    def __len__(self) -> int:
        return len(self._owed)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The keys that no node told the value of."""
        return tuple(self._unseen)

    @property
    def due_ns(self) -> int | None:
        """When the next one may start; None if there is none."""
        return self._owed[0].due_ns if self._owed else None

    def take(self, now_ns: int) -> FinalRead | None:
        """Return the next read to invoke, if one is due."""
        return self._owed.popleft() if self._owed and self._owed[0].due_ns <= now_ns else None

    def heard(self, node: str) -> None:
        """Note that a node is there, whatever it says."""
        self.silent -= {node}

    def read(self, key: str) -> None:
        """Note that a node told the value of a key."""
        self._unseen.pop(key, None)

    def failed(self, read: FinalRead, now_ns: int) -> None:
        """Put a read that failed back in line, or give it up."""
        if read.tried + 1 >= TRIES:
            self.given_up += 1
        else:
            again = FinalRead(read.key, read.node, now_ns + PAUSE_NS, read.tried + 1)
            self._owed.append(again)
