"""Unordered queues whose values are put in once: any may come out, so each value stands for itself.

A history of such a bag is linearizable iff no value comes out that nobody put in, or twice, or before
it was put in, and no "empty" was answered while cores (see `stays`) covered every instant of it. The
order: every value stays for its core and no longer, or for one instant if it has none; then the bag is
empty as often as it can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.direct.stays import Runs, Stay, gather, not_empty, runs
from checker.direct.verdict import Direct, Impossible, Ordered
from checker.operations import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checker.part import Part

TAKEN, INSTANT, PUT = 0, 1, 2
"""What comes first at one instant: who leaves, who has no core (and answers "empty"), who stays."""


def decide(part: Part) -> Direct:
    """Return the decision for an unordered queue that starts empty."""
    stays = gather(part)
    if stays is None or isinstance(stays, Impossible):
        return stays
    covered = runs(stays.counting)
    wrong = not_empty(covered, part, stays.empties)
    if wrong is not None:
        return wrong if stays.sure else None
    timed = [*_timed(stays.counting), *free_instants(part, covered, stays.empties)]
    timed.sort()
    return Ordered([i for *_, i in timed])


def _timed(stays: Iterable[Stay]) -> Iterable[tuple[int, int, int, int]]:
    for stay in stays:
        if stay.has_core:
            yield stay.put_return, PUT, 0, stay.put
            if stay.take >= 0:
                yield stay.take_call, TAKEN, 0, stay.take
        else:
            yield from at_once(stay)


def at_once(stay: Stay) -> Iterable[tuple[int, int, int, int]]:
    """Yield the putting and the taking of a stay without a core, both at its instant."""
    instant = max(stay.put_call, stay.take_call)
    yield instant, INSTANT, 2 * stay.put, stay.put
    yield instant, INSTANT, 2 * stay.put + 1, stay.take


def free_instants(
    part: Part, covered: Runs, empties: Sequence[int]
) -> Iterable[tuple[int, int, int, int]]:
    """Yield every answer "empty" at its first instant that no run covers; there must be one."""
    for i in empties:
        yield covered.free(part.calls[i]), INSTANT, -NEVER, i
