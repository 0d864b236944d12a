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

What a value's stay is, and what counts of unknown ends, `stays` says.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import heapify, heappop, heappush
from itertools import accumulate
from typing import TYPE_CHECKING

from checker.direct.stays import Stay, gather, not_empty, positions, runs
from checker.direct.verdict import Direct, Impossible, Ordered, keeps_time
from checker.operations import NEVER
from checker.values import show

if TYPE_CHECKING:
    from checker.part import Part


def decide(part: Part) -> Direct:
    """Return the decision for a FIFO queue that starts empty."""
    stays = gather(part)
    if stays is None or isinstance(stays, Impossible):
        return stays
    wrong = _overtaken(part, stays.counting) or not_empty(runs(stays.counting), part, stays.empties)
    if wrong is not None:
        return wrong if stays.sure else None
    order = _order(part, stays.counting, stays.empties)
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
            return Impossible(
                positions([first, stay]), stay.take, f"overtook {named}, which had been put in before"
            )
    return None


def _later_taken(a: Stay, b: Stay) -> Stay:
    return a if a.take_call >= b.take_call else b


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
