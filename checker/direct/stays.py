"""Values that go into a container once: how long each was in it, as far as that is certain.

Put in once and taken out once, a value has a *stay*. Two stamps of it matter most: it was certainly in
from the end of its putting to the beginning of its taking, its *core*. Where the putting had not ended
when the taking began there is no core: the two may have been one instant.

A putting of unknown end counts if its value came out, and has no core then. Otherwise it is left out,
for nobody could tell. A taking of unknown end may take anything: without them a history that fits, fits;
one that does not is left to the search (`Stays.sure`).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.direct.verdict import Impossible
from checker.models.queues import PUTS, TAKES
from checker.operations import NEVER
from checker.values import tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.part import Part


@dataclass(slots=True, eq=False)
class Stay:
    """A value in a container: positions of its putting and taking (-1: never taken), their stamps."""

    put: int
    take: int
    put_call: int
    put_return: int
    take_call: int
    take_return: int

    @property
    def has_core(self) -> bool:
        """Whether it was certainly inside for a while."""
        return self.put_return < self.take_call


@dataclass(frozen=True, slots=True, eq=False)
class Stays:
    """The stays that count, and the positions of the answers "empty".

    ``sure``: nothing else can have been taken, so what is impossible for these is impossible.
    """

    counting: list[Stay]
    empties: list[int]
    sure: bool


def gather(part: Part) -> Stays | Impossible | None:
    """Return the stays of a container that starts empty; None if a value is put in twice, or is nil."""
    if part.start != () or not {op.f for op in part.operations} <= PUTS | TAKES:
        return None
    stays: dict[Hashable, Stay] = {}
    takes: list[int] = []
    empties: list[int] = []
    sure = True
    for i, op in enumerate(part.operations):
        if op.f in PUTS:
            value = tag(op.value)
            if value in stays or value is None:
                return None
            stays[value] = Stay(i, -1, part.calls[i], part.returns[i], NEVER, NEVER)
        elif not op.known:
            sure = False
        else:
            (empties if op.value is None else takes).append(i)
    for i in takes:
        stay = stays.get(tag(part.operations[i].value))
        if stay is None:
            return Impossible([i], i, "took a value that nobody put in")
        if stay.take >= 0:
            return Impossible(sorted((stay.put, stay.take, i)), i, "took a value that had been taken")
        stay.take, stay.take_call, stay.take_return = i, part.calls[i], part.returns[i]
        if stay.take_return < stay.put_call:
            return Impossible([i, stay.put], i, "took a value before it was put in")
    counting = [stay for stay in stays.values() if stay.take >= 0 or stay.put_return != NEVER]
    return Stays(counting, empties, sure)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Cores that overlap one another, run by run in time: while a run lasts, something is inside."""

    starts: list[int]
    ends: list[int]
    members: list[list[Stay]]

    def covering(self, call: int, back: int) -> list[Stay] | None:
        """Return stays whose cores leave no instant from ``call`` to ``back`` free; None if one is."""
        at = bisect_left(self.starts, call) - 1
        if at < 0 or self.ends[at] <= back:
            return None
        return cover([(stay.put_return, stay.take_call, stay) for stay in self.members[at]], call, back)

    def free(self, call: int) -> int:
        """Return the first instant from ``call`` on at which no run lasts."""
        at = bisect_left(self.starts, call) - 1
        return call if at < 0 else max(call, self.ends[at])


def runs(stays: Sequence[Stay]) -> Runs:
    """Return the runs of the cores of ``stays``."""
    found = Runs([], [], [])
    for stay in sorted((stay for stay in stays if stay.has_core), key=lambda stay: stay.put_return):
        if found.starts and stay.put_return < found.ends[-1]:
            if stay.take_call > found.ends[-1]:
                found.ends[-1] = stay.take_call
                found.members[-1].append(stay)
        else:
            found.starts.append(stay.put_return)
            found.ends.append(stay.take_call)
            found.members.append([stay])
    return found


def cover(spans: Sequence[tuple[int, int, Stay]], call: int, back: int) -> list[Stay]:
    """Return few of ``spans``, open at both ends, that leave no instant from ``call`` to ``back`` free.

    All of them together must.
    """
    needed: list[Stay] = []
    reached = call
    while reached <= back:
        _, reached, best = max((span for span in spans if span[0] < reached), key=lambda span: span[1])
        needed.append(best)
    return needed


def not_empty(found: Runs, part: Part, empties: Sequence[int]) -> Impossible | None:
    """Return an answer "empty" that was given while something was certainly inside all the time."""
    for i in empties:
        needed = found.covering(part.calls[i], part.returns[i])
        if needed is not None:
            return Impossible(
                positions(needed, i), i, "found it empty, though something was inside all the while"
            )
    return None


def positions(stays: Sequence[Stay], *more: int) -> list[int]:
    """Return the positions of what ``stays`` consist of, and ``more``, in order."""
    found = {*more, *(stay.put for stay in stays), *(stay.take for stay in stays)}
    return sorted(found - {-1})
