"""What a summary says of a run, counted from its history and the nemesis's record. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from checker.events import EventType
from harness.report.view import FaultCount, ReadPathCount
from nemesis.faults import Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checker.operations import History
    from nemesis.machine import Injected, InjectionRecord


def by_outcome(history: History) -> dict[str, dict[str, int]]:
    """Return function -> how it ended -> how many."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for what in history.what:
        kind = history.kinds[what]
        counts[kind.f][kind.outcome.value] += 1
    return {f: dict(ends) for f, ends in sorted(counts.items())}


def reads_by_path(history: History) -> tuple[ReadPathCount, ...]:
    """Return how many reads each path answered, and the median time from call to return."""
    times_ns: dict[str, list[int]] = defaultdict(list)
    for operation in history:
        served = operation.evidence
        if operation.f != "read" or served is None or served.path is None:
            continue
        if operation.outcome is EventType.OK and operation.return_ns is not None:
            times_ns[served.path.value].append(operation.return_ns - operation.call_ns)
    return tuple(
        ReadPathCount(path=path, reads=len(spent), p50_ns=round(median(spent)))
        for path, spent in sorted(times_ns.items())
    )


def largest_stall(history: History, load_ns: tuple[int, int]) -> tuple[int, int] | None:
    """Return the longest time of the load without an *ok*, and when it began."""
    start_ns, end_ns = load_ns
    oks = sorted(
        back_ns
        for back_ns, what in zip(history.return_ns, history.what, strict=True)
        if history.kinds[what].outcome is EventType.OK and start_ns <= back_ns <= end_ns
    )
    marks = [start_ns, *oks, end_ns]
    return max(((later - mark, mark) for mark, later in pairwise(marks)), default=None)


def fault_counts(record: InjectionRecord) -> tuple[FaultCount, ...]:
    """Return every kind of fault with how often it took hold, and what it did."""
    kinds: dict[str, list[Injected]] = defaultdict(list)
    for fault in record.faults:
        kinds[fault.fault.kind].append(fault)
    return tuple(_count(kind, faults) for kind, faults in sorted(kinds.items()))


def fault_json(counts: Iterable[FaultCount]) -> dict[str, Any]:
    """Return the counts for ``--json``."""
    return {
        count.kind: {
            "installed": count.installed,
            "skipped": count.skipped,
            "unknown": count.unknown,
            "did": count.did,
        }
        for count in counts
    }


def _count(kind: str, faults: list[Injected]) -> FaultCount:
    standings = Counter(fault.standing or Standing.UNKNOWN for fault in faults)
    return FaultCount(
        kind=kind,
        installed=standings[Standing.INSTALLED],
        skipped=standings[Standing.SKIPPED],
        unknown=standings[Standing.UNKNOWN],
        did=_did([fault for fault in faults if fault.standing is Standing.INSTALLED]),
    )


def _did(installed: list[Injected]) -> str:
    """Say whom it hit, in which role and shape, and for how long."""
    hit = Counter(word for fault in installed for word in _words(fault))
    lasted_ns = [
        fault.healed_ns - fault.installed_ns
        for fault in installed
        if fault.healed_ns is not None and fault.installed_ns is not None
    ]
    words = [f"{word} {count}x" for word, count in hit.most_common(6)]
    if lasted_ns:
        least, most = (f"{end(lasted_ns) / 1e9:.1f}" for end in (min, max))
        words.append(f"{least} s each" if least == most else f"{least} to {most} s each")
    return ", ".join(words)


def _words(fault: Injected) -> list[str]:
    shape = getattr(fault.fault, "shape", None)
    if shape is not None:
        return [str(shape)]
    return [_role(fault.roles, node) for node in fault.fault.concerned]


def _role(roles: Mapping[str, str], node: str) -> str:
    """Return what a node was, whether the record names roles by node or nodes by role."""
    if node in roles:
        return roles[node]
    return next((role for role, holder in roles.items() if holder == node), node)
