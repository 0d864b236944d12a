"""Where a run owes availability before its faults are healed: spans that leave a majority in peace.

A fault has its nodes, a link its two ends. If a minority of the voters accounts for every fault that
stands, the others are a majority, undisturbed among themselves: within the bound they have a leader, and
go on. Each beginning and each end of a fault begins another span, since whoever leads may have to be
replaced by then. Nothing is owed while members change.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from nemesis.faults import ChangeMembers, LinksFault, Standing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from harness.plan.plan import Plan
    from nemesis.faults import Fault
    from nemesis.machine import InjectionRecord
    from nemesis.machine.record import Injected

Spans = tuple[tuple[int, int], ...]


def owed_calm(plan: Plan, record: InjectionRecord, load_ns: tuple[int, int] | None) -> Spans:
    """Return the spans of a run that is held to them: half-open, from its origin, in order."""
    if load_ns is None or "availability" not in plan.require:
        return ()
    return calm(record, load_ns, nodes=plan.node_names, voters=plan.voter_names)


def calm(
    record: InjectionRecord,
    load_ns: tuple[int, int],
    *,
    nodes: Collection[str],
    voters: Sequence[str],
) -> Spans:
    """Return the spans of the load, from the run's origin, that leave a majority in peace."""
    begin_ns, end_ns = load_ns
    lasting = [
        (begin_ns + each.asked_ns, end_ns if each.healed_ns is None else begin_ns + each.healed_ns, each)
        for each in record.faults
        if each.fault.lasts and each.standing is not Standing.SKIPPED
    ]
    edges = {begin_ns, end_ns, *(edge for since, until, _ in lasting for edge in (since, until))}
    return tuple(
        (since_ns, until_ns)
        for since_ns, until_ns in pairwise(sorted(edge for edge in edges if edge <= end_ns))
        if _in_peace(list(_standing(lasting, since_ns)), voters, nodes)
    )


def _standing(lasting: Sequence[tuple[int, int, Injected]], at_ns: int) -> Iterator[Fault]:
    return (each.fault for since_ns, until_ns, each in lasting if since_ns <= at_ns < until_ns)


def _in_peace(standing: Sequence[Fault], voters: Sequence[str], nodes: Collection[str]) -> bool:
    """Whether so few voters account for all of it that the others are a majority."""
    if any(isinstance(fault, ChangeMembers) for fault in standing):
        return False
    bystanders = set(nodes).difference(voters)
    minority = (len(voters) - 1) // 2
    return any(
        all(_touches_only({*few, *bystanders}, fault) for fault in standing)
        for few in combinations(voters, minority)
    )


def _touches_only(few: Collection[str], fault: Fault) -> bool:
    if isinstance(fault, LinksFault):
        return all(link.source in few or link.target in few for link in fault.links)
    return set(fault.nodes) <= set(few)
