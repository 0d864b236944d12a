"""What a run exercised: a verdict of "nothing found" means something only where the danger was.

Every claim that a policy may make is counted here, always from what was observed, never from what a
schedule meant to do. A count of 0 makes a run *not exercised*.

* ``lease-reads``, ``readindex-reads``, ``log-reads``, ``follower-reads``: reads that ended ok, by path.
* ``leader-changes``: how often the leader of a term was another node than that of the term before.
* ``deposed-reads``: reads invoked at a node that took itself for the leader of an older term, after a
  newer leader's write had been acknowledged. Whatever came of the read: a refusal is the right answer.
* ``grants``, ``expiries``, ``refused-tokens``: acquisitions of a lock that ended ok, sessions that were
  ended because nobody renewed them, writes refused because their token was not the newest.
* ``clock-bend``: the largest rate error measured, in ppm; if no rate was bent, how far a wall clock was
  off, in ms. What clocks do by themselves, or a fake by its granularity, is below the threshold and 0.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from checker.events import EventType, ReadPath
from checker.oracles import fencing
from checker.oracles.availability import READS, WRITES
from checker.oracles.clock_audit import measure
from checker.timeline import MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checker.operations import Operation
    from checker.timeline import Leadership, Timelines

BENT_RATE_PPM: Final = 10_000
BENT_WALL_NS: Final = 50 * MS


def count(operations: Iterable[Operation], timelines: Timelines) -> Mapping[str, int]:
    """Return the count of every claim. ``timelines`` carry the origin that operations count from."""
    operations = list(operations)
    leaders = sorted(
        (lead for timeline in timelines.values() for lead in timeline.leaderships),
        key=lambda lead: (lead.term, lead.node),
    )
    return {
        **_reads_by_path(operations),
        "leader-changes": sum(a.node != b.node for a, b in pairwise(leaders)),
        "deposed-reads": _deposed_reads(operations, timelines, leaders),
        "clock-bend": _clock_bend(timelines),
        **fencing.counts(operations, timelines),
    }


def _reads_by_path(operations: Sequence[Operation]) -> dict[str, int]:
    counts = {f"{path}-reads": 0 for path in ReadPath}
    for operation in operations:
        told = operation.evidence
        if operation.f in READS and operation.known and told is not None and told.path is not None:
            counts[f"{told.path}-reads"] += 1
    return counts


def _deposed_reads(
    operations: Sequence[Operation], timelines: Timelines, leaders: Sequence[Leadership]
) -> int:
    """Count reads invoked between a newer write's acknowledgement and the end of a leadership."""
    acked = _first_acks(operations, timelines)
    counted: set[int] = set()
    for lead in leaders:
        newer = [true_ns for term, true_ns in acked.items() if term > lead.term]
        if not newer:
            continue
        timeline = timelines[lead.node]
        since_ns = max(min(newer), timeline.after_ns[lead.first])
        until_ns = timeline.before_ns[lead.last]
        counted.update(
            operation.index
            for operation in operations
            if operation.f in READS
            and operation.node == lead.node
            and since_ns < timelines.origin_ns + operation.call_ns < until_ns
        )
    return len(counted)


def _first_acks(operations: Sequence[Operation], timelines: Timelines) -> dict[int, int]:
    """Return for each term when its leader's first write was acknowledged, on the true clock."""
    first: dict[int, int] = {}
    for operation in operations:
        if operation.f not in WRITES or operation.outcome is not EventType.OK:
            continue
        if operation.return_ns is None:
            continue
        true_ns = timelines.origin_ns + operation.return_ns
        told = operation.evidence
        term = told.term if told is not None else None
        if term is None:
            term = _led_at(timelines, operation.node, true_ns)
        if term is not None:
            first[term] = min(first.get(term, true_ns), true_ns)
    return first


def _led_at(timelines: Timelines, node: str | None, true_ns: int) -> int | None:
    """Return the term that ``node`` led at an instant."""
    timeline = timelines.get(node) if node is not None else None
    if timeline is None:
        return None
    leads = timeline.leaderships
    index = bisect_right(leads, true_ns, key=lambda lead: timeline.after_ns[lead.first]) - 1
    if index < 0 or timeline.after_ns[leads[index].last] < true_ns:
        return None
    return leads[index].term


def _clock_bend(timelines: Timelines) -> int:
    reports = [measure(timeline) for timeline in timelines.values()]
    rate_ppm = max((abs(report.rate_error_ppm) for report in reports), default=0)
    if rate_ppm >= BENT_RATE_PPM:
        return rate_ppm
    wall_ns = max((abs(report.wall_offset_ns) for report in reports), default=0)
    return wall_ns // MS if wall_ns >= BENT_WALL_NS else 0
