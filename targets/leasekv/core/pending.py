"""Reads under way: a table in order of arrival, so that the first one is also the first to be late.

Every read has the same time to live, measured on the node's monotonic clock. Where it waits decides
which code it ends with when that is over: all of them definite, since a read has no effect.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from checker.events import ReadPath
from targets.clock import FOREVER_NS
from targets.leasekv.messages import Code, Key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Stage(Enum):
    """What a read waits for."""

    NEW = "new"
    BARRIER = "barrier"
    ROUND = "round"
    TICKET = "ticket"
    LOG = "log"
    APPLIED = "applied"
    DONE = "done"

    @property
    def late(self) -> Code:
        """The code of a read that waited here for too long."""
        match self:
            case Stage.BARRIER:
                return Code.NOT_READY
            case Stage.APPLIED:
                return Code.APPLY_TIMEOUT
            case _:
                return Code.NO_QUORUM


class PendingRead(msgspec.Struct, eq=False):
    """One read, of a client or of a follower (``peer``, which wants only the index).

    ``paths`` are the ways still to be tried, ``path`` the one being tried. ``left_ns`` is what was left
    of the lease when it was checked; None where none was, or where none has an end. ``arrived_ns`` is on
    the monotonic clock, and so is ``waits_ns``, when it began to wait for the state machine.
    """

    key: Key
    client: int
    id: int
    peer: str | None
    paths: tuple[ReadPath, ...]
    path: ReadPath
    arrived_ns: int
    deadline_ns: int
    stage: Stage = Stage.NEW
    round: int = 0
    ticket: int = 0
    index: int = 0
    left_ns: int | None = None
    waits_ns: int = 0


class Table:
    """The reads that wait for anything; ``due_ns`` is when the first of them is late."""

    __slots__ = ("_reads", "due_ns")

    def __init__(self) -> None:
        self._reads: dict[PendingRead, None] = {}  # an ordered set
        self.due_ns = FOREVER_NS

    def __len__(self) -> int:
        return len(self._reads)

    def wait(self, read: PendingRead, stage: Stage) -> None:
        """Let ``read`` wait, keeping its place among the others if it has one."""
        read.stage = stage
        self._reads.setdefault(read)
        self.due_ns = min(self.due_ns, read.deadline_ns)

    def done(self, read: PendingRead) -> None:
        """Take ``read`` out; whoever still holds it sees that it is over."""
        waited = read.stage is not Stage.NEW
        read.stage = Stage.DONE
        if waited:
            self._reads.pop(read, None)
            first = next(iter(self._reads), None)
            self.due_ns = FOREVER_NS if first is None else first.deadline_ns

    def late(self, now_ns: int) -> Iterator[PendingRead]:
        """Yield the reads whose time is over, first come first."""
        while True:
            read = next(iter(self._reads), None)
            if read is None or read.deadline_ns > now_ns:
                return
            yield read
            assert read.stage is Stage.DONE, "a late read is answered at once"

    def matching(self, wanted: Callable[[PendingRead], bool]) -> list[PendingRead]:
        """Return the reads that ``wanted`` accepts, first come first."""
        return [read for read in self._reads if wanted(read)]
