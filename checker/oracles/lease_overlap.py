"""Oracle 2: no two nodes would answer from a lease at one instant of the true clock.

It needs no client traffic that conflicts, only nodes that check; so it convicts many a wrong lease
whose stale read nobody happened to make. An overlap is reported only if it is certain (see
`holdings`): two intervals that share more than one instant, or the bracket of a point strictly inside
an interval. Two points prove nothing. The same node holding again after a re-election is no overlap.

Off for a policy that lets two leaders read by design (lease-log).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

import msgspec

from checker.oracles.holdings import Holding, holdings
from checker.oracles.result import Finding, Oracle, OracleResult, judged, unavailable
from checker.timeline import MS, ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.timeline import Timelines

NAME: Final = Oracle.LEASE_OVERLAP
KIND: Final = "lease-overlap"


class Overlap(msgspec.Struct, frozen=True):
    """Two nodes hold at once from ``start_ns`` to ``end_ns``; at one instant if either is a point."""

    first: Holding
    second: Holding
    start_ns: int
    end_ns: int


def lease_overlap(
    timelines: Timelines, *, held: Mapping[str, Sequence[Holding]] | None = None
) -> OracleResult:
    """Judge the leases of all nodes; ``held`` are their `holdings` if they are known already."""
    if not timelines:
        return unavailable(NAME, KIND, "no node left any evidence")
    if held is None:
        held = {node: holdings(timeline) for node, timeline in timelines.items()}
    found: dict[tuple[tuple[int, str], tuple[int, str]], list[Overlap]] = {}
    for one, other in combinations(sorted(held), 2):
        for overlap in overlaps(held[one], held[other]):
            first, second = overlap.first, overlap.second
            found.setdefault(((first.term, first.node), (second.term, second.node)), []).append(overlap)
    groups = sorted(found.values(), key=lambda group: group[0].start_ns)
    every = [holding for one in held.values() for holding in one]
    figures: dict[str, int | float] = {
        "holdings": len(every),
        "held_ms": sum(holding.end_ns - holding.start_ns for holding in every if not holding.point) / MS,
        "overlaps": sum(map(len, groups)),
        "longest_ms": max((_length_ns(lap) for group in groups for lap in group), default=0) / MS,
    }
    return judged(NAME, KIND, [_finding(group, timelines) for group in groups], figures)


def overlaps(one: Sequence[Holding], other: Sequence[Holding]) -> Iterator[Overlap]:
    """Yield the certain overlaps of two nodes' holdings, each in the order of time; older term first."""
    i = j = 0
    while i < len(one) and j < len(other):
        a, b = one[i], other[j]
        start_ns, end_ns = max(a.start_ns, b.start_ns), min(a.end_ns, b.end_ns)
        if start_ns <= end_ns and _certain(a, b):
            first, second = sorted((a, b), key=lambda holding: (holding.term, holding.node))
            yield Overlap(first, second, start_ns, end_ns)
        if a.end_ns <= b.end_ns:
            i += 1
        else:
            j += 1


def _certain(a: Holding, b: Holding) -> bool:
    if a.point and b.point:
        return False
    if a.point:
        return b.start_ns < a.start_ns and a.end_ns < b.end_ns
    if b.point:
        return a.start_ns < b.start_ns and b.end_ns < a.end_ns
    return max(a.start_ns, b.start_ns) < min(a.end_ns, b.end_ns)


def _length_ns(overlap: Overlap) -> int:
    point = overlap.first.point or overlap.second.point
    return 0 if point else overlap.end_ns - overlap.start_ns


def _finding(group: Sequence[Overlap], timelines: Timelines) -> Finding:
    overlap = group[0]
    first, second = overlap.first, overlap.second
    length_ns = sum(map(_length_ns, group))
    instants = sum(overlap.first.point or overlap.second.point for overlap in group)
    parts = [f"for {ms(length_ns)}"] * (length_ns > 0)
    parts += [f"at {instants} instant{'s' * (instants != 1)}"] * (instants > 0)
    return Finding(
        sentence=(
            f"{first.node} (term {first.term}) and {second.node} (term {second.term}) would both have"
            f" answered from a lease {' and '.join(parts)}, first {timelines.at(overlap.start_ns)}"
            f" into the run and last {timelines.at(max(overlap.end_ns for overlap in group))}"
        ),
        during_ns=(overlap.start_ns, overlap.end_ns),
        nodes=(first.node, second.node),
        terms=(first.term, second.term),
    )
