"""FIFO queues whose values are put in once: decided in n log n (after Henzinger, Sezgin and Vafeiadis).

A history of such a queue is linearizable iff none of these is in it:

* a value comes out that nobody put in, or comes out twice, or came out before it was put in;
* a was put in before b, and b came out before a did, or a never came out;
* "empty" was answered although at every instant of that operation some value was certainly inside:
  values whose stays, from the end of the putting to the beginning of the taking, overlap one another
  and cover it.

The order itself is made greedily: values may go through the queue in any order in which none was
certainly put in, or certainly taken, before its predecessor; of those that may be next, the one whose
taking began first. Taking happens as early as it can, putting as late as it can, so that the queue is
empty as often as it can be, and the answers "empty" are put where it is. Where that does not work out,
and none of the patterns is there, the search decides.

A putting of unknown end counts if its value came out. A taking of unknown end may take anything:
without them a history that fits, fits; one that does not is left to the search.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate
from typing import TYPE_CHECKING

from checker.direct.verdict import Direct, Impossible, Ordered, keeps_time
from checker.models.queues import PUTS, TAKES
from checker.operations import NEVER
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable

    from checker.part import Part


@dataclass(slots=True)
class Stay:
    """A value in the queue: positions of its putting and taking (-1: never taken), and their stamps."""

    put: int
    take: int
    put_call: int
    put_return: int
    take_call: int
    take_return: int


def decide(part: Part) -> Direct:  # noqa: C901, PLR0911 - one pass that meets every pattern of single values
    """Return the decision for a FIFO queue that starts empty."""
    if part.start != () or not {op.f for op in part.operations} <= PUTS | TAKES:
        return None
    stays: dict[Hashable, Stay] = {}
    takes: list[int] = []
    empties: list[int] = []
    maybe_taken = False
    for i, op in enumerate(part.operations):
        if op.f in PUTS:
            value = tag(op.value)
            if value in stays or value is None:
                return None
            stays[value] = Stay(i, -1, part.calls[i], part.returns[i], NEVER, NEVER)
        elif not op.known:
            maybe_taken = True
        else:
            (empties if op.value is None else takes).append(i)
    for i in takes:
        value = tag(part.operations[i].value)
        stay = stays.get(value)
        if stay is None:
            return Impossible([i], i, "took a value that nobody put in")
        if stay.take >= 0:
            return Impossible(sorted((stay.put, stay.take, i)), i, "took a value that had been taken")
        stay.take, stay.take_call, stay.take_return = i, part.calls[i], part.returns[i]
        if stay.take_return < stay.put_call:
            return Impossible([i, stay.put], i, "took a value before it was put in")
    counting = [stay for stay in stays.values() if stay.take >= 0 or stay.put_return != NEVER]
    for stay in counting:
        stay.put_return = min(stay.put_return, stay.take_return)
        stay.take_call = max(stay.take_call, stay.put_call)
    wrong = _overtaken(part, counting) or _never_empty(part, counting, empties)
    if wrong is not None:
        return None if maybe_taken else wrong
    order = _order(part, counting, empties)
    return (
        None
        if order is None or not keeps_time(order, [*part.calls], [*part.returns])
        else Ordered(order)
    )


def _overtaken(part: Part, stays: list[Stay]) -> Impossible | None:
    """Return two values that went in in one order and came out in the other."""
    by_return = sorted(stays, key=lambda stay: stay.put_return)
    returns = [stay.put_return for stay in by_return]
    latest: list[Stay] = list(accumulate(by_return, _later_taken))
    for stay in stays:
        before = bisect_left(returns, stay.put_call)
        if before and latest[before - 1].take_call > stay.take_return:
            first = latest[before - 1]
            named = show(part.operations[first.put].value)
            positions = sorted({first.put, stay.put, stay.take, first.take} - {-1})
            return Impossible(positions, stay.take, f"overtook {named}, which had been put in before")
    return None


def _later_taken(a: Stay, b: Stay) -> Stay:
    return a if a.take_call >= b.take_call else b


def _never_empty(part: Part, stays: list[Stay], empties: list[int]) -> Impossible | None:
    """Return an answer "empty" that is covered by values certainly inside."""
    if not empties:
        return None
    sure = sorted(
        (stay for stay in stays if stay.put_return < stay.take_call), key=lambda stay: stay.put_return
    )
    starts: list[int] = []
    ends: list[int] = []
    members: list[list[Stay]] = []
    for stay in sure:
        if starts and stay.put_return < ends[-1]:
            if stay.take_call > ends[-1]:
                ends[-1] = stay.take_call
                members[-1].append(stay)
        else:
            starts.append(stay.put_return)
            ends.append(stay.take_call)
            members.append([stay])
    for i in empties:
        at = bisect_left(starts, part.calls[i]) - 1
        if at >= 0 and ends[at] > part.returns[i]:
            needed = _cover(members[at], part.calls[i], part.returns[i])
            positions = sorted(
                {i, *(stay.put for stay in needed), *(stay.take for stay in needed)} - {-1}
            )
            return Impossible(positions, i, "found it empty, though something was inside all the while")
    return None


def _cover(members: list[Stay], call: int, back: int) -> list[Stay]:
    """Return the members of an overlapping run that are needed to cover from ``call`` to ``back``."""
    needed: list[Stay] = []
    reached = call
    while reached <= back:
        best = max(
            (stay for stay in members if stay.put_return < reached), key=lambda stay: stay.take_call
        )
        needed.append(best)
        reached = best.take_call
    return needed


def _order(part: Part, stays: list[Stay], empties: list[int]) -> list[int] | None:
    """Return an order, if the greedy one works out."""
    line = _line(stays)
    if line is None:
        return None
    put_latest = list(accumulate((stay.put_return for stay in reversed(line)), min))[::-1]
    put_earliest, taken = -NEVER, -NEVER
    events: list[tuple[int, int, int, int]] = []
    changes: list[tuple[int, int]] = []
    for at, (stay, latest) in enumerate(zip(line, put_latest, strict=True)):
        put_earliest = max(put_earliest, stay.put_call)
        if stay.take < 0:
            taken = NEVER
            put = latest
        else:
            taken = max(taken, stay.take_call, put_earliest)
            put = min(latest, taken)
            events.append((taken, 1, 2 * at + 1, stay.take))
            changes.append((taken, -1))
        events.append((put, 1, 2 * at, stay.put))
        changes.append((put, 1))
    if not _place_empties(part, empties, changes, events):
        return None
    events.sort()
    return [i for _, _, _, i in events]


def _place_empties(
    part: Part,
    empties: list[int],
    changes: list[tuple[int, int]],
    events: list[tuple[int, int, int, int]],
) -> bool:
    """Give every answer "empty" an instant at which the queue is; return whether all have one."""
    held: dict[int, int] = {}
    for stamp, change in changes:
        held[stamp] = held.get(stamp, 0) + change
    stamps = sorted(held)
    inside = list(accumulate(held[stamp] for stamp in stamps))
    empty_after = [stamp for stamp, count in zip(stamps, inside, strict=True) if count == 0]
    for i in empties:
        call, back = part.calls[i], part.returns[i]
        before = bisect_left(stamps, call)
        if before == 0 or inside[before - 1] == 0:
            events.append((call, 0, i, i))
            continue
        at = bisect_right(empty_after, call - 1)
        if at == len(empty_after) or empty_after[at] > back:
            return False
        events.append((empty_after[at], 2, i, i))
    return True


def _line(stays: list[Stay]) -> list[Stay] | None:
    """Return the values in an order in which they can go through the queue."""
    coming = sorted(stays, key=lambda stay: stay.put_call, reverse=True)
    puts = [(stay.put_return, stay.put) for stay in stays]
    takes = [(stay.take_return, stay.put) for stay in stays]
    heapify(puts)
    heapify(takes)
    gone: set[int] = set()
    ready: list[tuple[int, int, Stay]] = []
    line: list[Stay] = []
    while len(line) < len(stays):
        for heap in (puts, takes):
            while heap[0][1] in gone:
                heappop(heap)
        while coming and coming[-1].put_call <= puts[0][0]:
            stay = coming.pop()
            heappush(ready, (stay.take_call, stay.put, stay))
        if not ready or ready[0][0] > takes[0][0]:
            return None
        stay = heappop(ready)[2]
        gone.add(stay.put)
        line.append(stay)
    return line
