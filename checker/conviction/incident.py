"""The instant that a violation is about: a node, and the lines at which it held its lease and answered.

A history names the reads that prove it; an overlap and a broken promise name a lease holder and a time,
a broken invariant a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.evidence import Appended, Checked, Dated, ServedRead
from checker.oracles.result import violations
from checker.proof import explain, served_line
from checker.timeline import Leadership

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checker.operations import Operation
    from checker.oracles.result import Finding, OracleResult
    from checker.timeline import Timeline, Timelines
    from checker.verdict import Violation


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """``checks`` are the places of the granted checks that it may rest on, ``served`` of the answer.

    ``at_true_ns`` is when it was over at the latest; ``own_ns`` when the lease is asked about, on the
    node's monotonic clock, if that is not at the check. ``dated`` are the places of what bears on a
    timestamp that is out of order, ``led`` the leadership under which nothing succeeded.
    """

    node: str
    term: int
    checks: tuple[int, ...]
    served: int | None
    at_true_ns: int
    own_ns: int | None = None
    dated: tuple[int, ...] = ()
    led: Leadership | None = None


def of_history(violation: Violation, timelines: Timelines) -> list[Incident]:
    """Return the reads of a proof that evidence tells of, the one most to blame first."""
    guess = violation.staleness.read if violation.staleness is not None else None
    offender = explain(violation.operations, timelines, read=guess).read
    others = [op for op in violation.operations if op.f == "read" and op != offender]
    reads = [*([offender] if offender is not None else []), *others]
    return [incident for read in reads if (incident := _of_read(read, timelines)) is not None]


def _of_read(read: Operation, timelines: Timelines) -> Incident | None:
    timeline = timelines.get(read.node) if read.node is not None else None
    if timeline is None or read.return_ns is None:
        return None
    called_ns = timelines.origin_ns + read.call_ns
    returned_ns = timelines.origin_ns + read.return_ns
    served = served_line(read, timeline, called_ns, returned_ns)
    if served is None:
        return None
    what = timeline.lines[served].what
    return Incident(
        node=timeline.node,
        term=getattr(what, "term", 0),
        checks=tuple(_checks(timeline, served, called_ns)),
        served=served,
        at_true_ns=timeline.after_ns[served],
    )


def _checks(timeline: Timeline, served: int, called_ns: int) -> Iterator[int]:
    """Yield the granted checks that an answer may rest on: since the read was sent, up to the answer."""
    for place, check in timeline.facts(Checked):
        if place < served and check.granted and timeline.after_ns[place] >= called_ns:
            yield place


def of_findings(oracles: Sequence[OracleResult], timelines: Timelines) -> list[Incident]:
    """Return what oracles of evidence found wrong: leases with their holders, and answered reads."""
    return [
        incident
        for told in violations(oracles)
        for finding in told.findings
        for incident in _of_finding(told.kind, finding, timelines)
    ]


def _of_finding(kind: str, finding: Finding, timelines: Timelines) -> list[Incident]:
    if kind == "availability" and finding.during_ns is not None:
        return _of_a_stall(timelines, finding.during_ns)
    incident = _of_nodes(kind, finding, timelines)
    return [] if incident is None else [incident]


def _of_a_stall(timelines: Timelines, during_ns: tuple[int, int]) -> list[Incident]:
    """Return the leaderships of that time, the longest in it first; the instants are the history's."""
    start_ns, end_ns = (timelines.origin_ns + instant_ns for instant_ns in during_ns)
    shares = [
        (min(end_ns, timeline.before_ns[lead.last]) - max(start_ns, timeline.after_ns[lead.first]), lead)
        for timeline in timelines.values()
        for lead in timeline.leaderships
    ]
    shares.sort(key=lambda share: -share[0])
    return [
        Incident(node=lead.node, term=lead.term, checks=(), served=None, at_true_ns=end_ns, led=lead)
        for share_ns, lead in shares
        if share_ns > 0
    ]


def _of_nodes(kind: str, finding: Finding, timelines: Timelines) -> Incident | None:
    match kind, finding.during_ns, finding.nodes, finding.terms:
        case "lease-overlap", (start_ns, end_ns), (holder, _), (term, _):
            return _of_lease(timelines, holder, term, (start_ns, end_ns))
        case "promise", (start_ns, end_ns), (_, holder), (_, term):
            return _of_lease(timelines, holder, term, (start_ns, end_ns))
        case "invariant", (start_ns, end_ns), (node,), (*_, term):
            return _of_line(timelines[node], term, (start_ns, end_ns))
        case "timestamp-order", during_ns, (*_, node), _ if during_ns is not None:
            return _of_dates(timelines, node, during_ns)
        case _:
            return None


def _of_dates(timelines: Timelines, node: str, during_ns: tuple[int, int]) -> Incident:
    """Return what a node dated and told of meanwhile; the instants are the history's."""
    timeline = timelines[node]
    start_ns, end_ns = (timelines.origin_ns + instant_ns for instant_ns in during_ns)
    places = [
        place
        for place in timeline.turns(Appended, Dated)
        if timeline.after_ns[place] >= start_ns and timeline.before_ns[place] <= end_ns
    ]
    return Incident(node=node, term=0, checks=(), served=None, at_true_ns=end_ns, dated=tuple(places))


def _of_line(timeline: Timeline, term: int, during_ns: tuple[int, int]) -> Incident:
    """Return the read answered on a line of a state that was too old, if it is one."""
    served = (
        place
        for place, read in timeline.facts(ServedRead)
        if timeline.lines[place].true_ns == during_ns and read.applied_index < read.read_index
    )
    return Incident(
        node=timeline.node,
        term=term,
        checks=(),
        served=next(served, None),
        at_true_ns=during_ns[1],
    )


def _of_lease(timelines: Timelines, node: str, term: int, during_ns: tuple[int, int]) -> Incident | None:
    timeline = timelines[node]
    checks = [
        place
        for place, check in timeline.facts(Checked)
        if check.granted and check.term == term and timeline.before_ns[place] <= during_ns[1]
    ]
    if not checks:
        return None
    later = (line.own_ns for line in timeline.lines[checks[-1] :] if line.true_ns[0] >= during_ns[0])
    own_ns = next(later, timeline.lines[checks[-1]].own_ns)
    return Incident(
        node=node,
        term=term,
        checks=(checks[-1],),
        served=None,
        at_true_ns=during_ns[1],
        own_ns=own_ns,
    )
