"""What a summary says of a run, counted from its history and the nemesis's record. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from checker.events import EventType
from harness.report.faults import held, shape_of
from harness.report.view import FaultCount, ReadPathCount
from nemesis.faults import Standing
from targets.clock import SECOND

if TYPE_CHECKING:
    from checker.operations import History
    from nemesis.machine import Injected, InjectionRecord


def by_outcome(history: History) -> dict[str, dict[str, int]]:
    """Return function -> how it ended -> how many."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for what in history.what:
        kind = history.kinds[what]
        counts[kind.f][kind.outcome.value] += 1
    return {f: dict(ends) for f, ends in sorted(counts.items())}


def reads_by_path(history: History) -> dict[str, ReadPathCount]:
    """Return how many reads each path answered, and the median time from call to return."""
    times_ns: dict[str, list[int]] = defaultdict(list)
    for operation in history:
        served = operation.evidence
        if operation.f != "read" or served is None or served.path is None:
            continue
        if operation.outcome is EventType.OK and operation.return_ns is not None:
            times_ns[served.path.value].append(operation.return_ns - operation.call_ns)
    return {
        path: ReadPathCount(reads=len(spent), p50_ns=round(median(spent)))
        for path, spent in sorted(times_ns.items())
    }


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


def fault_counts(record: InjectionRecord) -> dict[str, FaultCount]:
    """Return every kind of fault with how often it took hold, and what it did."""
    kinds: dict[str, list[Injected]] = defaultdict(list)
    for fault in record.faults:
        kinds[fault.fault.kind].append(fault)
    return {kind: _count(faults) for kind, faults in sorted(kinds.items())}


def _count(faults: list[Injected]) -> FaultCount:
    standings = Counter(fault.standing or Standing.UNKNOWN for fault in faults)
    return FaultCount(
        installed=standings[Standing.INSTALLED],
        skipped=standings[Standing.SKIPPED],
        unknown=standings[Standing.UNKNOWN],
        did=_did([*held(faults)]),
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
        least, most = (_seconds(end(lasted_ns)) for end in (min, max))
        one = f"{least} s" if len(lasted_ns) == 1 else f"{least} s each"
        words.append(one if least == most else f"{least} to {most} s each")
    return ", ".join(words)


def _seconds(length_ns: int) -> str:
    """Return a length with as many digits as a short one needs: a pause of 30 ms is none of 0.0 s."""
    return f"{length_ns / 1e9:.{1 if length_ns >= SECOND // 10 else 3}f}"


def _words(fault: Injected) -> list[str]:
    shape = shape_of(fault.fault)
    if shape is not None:
        return [shape]
    return [fault.roles.get(node, node) for node in fault.fault.concerned]
