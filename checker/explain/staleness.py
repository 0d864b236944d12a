"""How stale a read was, at the least.

A value was certainly gone once some operation of a value that must come after it had returned. Of all
such values that began before the read was called, the one that began earliest says since when, and
their number how many versions the read was behind. The read itself, which claims that the value still
stood, is left out of the evidence for when it stood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.operations import NEVER
from checker.values import tag
from checker.verdict import Staleness
from checker.zones.clusters import gather
from checker.zones.lower import Code, Lowered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.operations import Operation


def staleness(lowered: Lowered, read: Operation, at: int, *, in_ns: bool) -> Staleness | None:
    """Return how far behind ``read``, at position ``at``, was; None if that cannot be said.

    ``in_ns`` says whether the stamps of ``lowered`` are times.
    """
    if lowered.codes[at] != Code.READ:
        return None
    without = Lowered(
        codes=lowered.codes[:at] + lowered.codes[at + 1 :],
        values=[*lowered.values[:at], *lowered.values[at + 1 :]],
        calls=[*lowered.calls[:at], *lowered.calls[at + 1 :]],
        returns=[*lowered.returns[:at], *lowered.returns[at + 1 :]],
        start=lowered.start,
    )
    clusters = gather(without)
    mine = None if clusters is None else clusters.where.get(tag(lowered.values[at]))
    if clusters is None or mine is None:
        return None
    began = list(map(min, clusters.write_return, clusters.read_return))
    call = lowered.calls[at]
    gone: list[int] = []
    for other, first in enumerate(began):
        latest = max(clusters.write_call[other], clusters.read_call.get(other, -NEVER))
        if other != mine and began[mine] < latest and first < call:
            gone.append(first)
    if not gone:
        return None
    return Staleness(read=read, stale_ns=call - min(gone) if in_ns else None, versions=len(gone))


def stalest(
    lowered: Lowered, candidates: Sequence[tuple[int, Operation]], *, in_ns: bool
) -> Staleness | None:
    """Return the staleness of the stalest read among ``candidates``, pairs of position and operation."""
    found = [staleness(lowered, op, at, in_ns=in_ns) for at, op in candidates]
    return max(
        (each for each in found if each is not None), key=lambda each: each.versions, default=None
    )
