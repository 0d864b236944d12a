"""Oracle 6: once every fault is healed, reads and writes succeed again within a stated bound.

They also do before that, wherever the faults that stand leave a majority in peace, if such spans are
told. There a stall counts from the first operation that was asked in it to the next one that ended *ok*
or to the end of the span.

After the heal only operations invoked since count, and the time is that from the heal to the first one
that ended *ok*. If the history ends before the bound is over without one, nothing can be said. A miss is
a violation only where availability was required; else it is a note, for what is claimed is safety.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from checker.events import EventType
from checker.oracles.result import Finding, OracleResult, judged, noted, unavailable
from checker.timeline import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checker.operations import Operation

NAME: Final = "availability"
KIND: Final = "availability"
READS: Final = frozenset({"read"})
WRITES: Final = frozenset({"write", "cas", "delete"})


def availability(
    operations: Sequence[Operation],
    *,
    healed_ns: int,
    bound_ns: int,
    calm_ns: Sequence[tuple[int, int]] = (),
    required: bool = False,
) -> OracleResult:
    """Judge what followed ``healed_ns``, and half-open spans before it, in order.

    All times here count from the history's origin.
    """
    after = [operation for operation in operations if operation.call_ns >= healed_ns]
    figures: dict[str, int | float] = {}
    findings: list[Finding] = []
    open_questions: list[str] = []
    for word, functions in (("reads", READS), ("writes", WRITES)):
        asked = [operation for operation in after if operation.f in functions]
        ends = [
            operation.return_ns
            for operation in asked
            if operation.outcome is EventType.OK and operation.return_ns is not None
        ]
        seen_ns = max((_end_ns(operation) for operation in asked), default=healed_ns)
        resumed_ns = min(ends, default=None)
        if resumed_ns is not None:
            figures[f"{word}_resumed_ms"] = round((resumed_ns - healed_ns) / MS, 3)
        if (seen_ns if resumed_ns is None else resumed_ns) - healed_ns > bound_ns:
            findings.append(_finding(word, healed_ns, bound_ns, resumed_ns=resumed_ns))
        elif resumed_ns is None:
            open_questions.append(
                f"no {word} succeeded after the heal, but the history ends before the bound does"
            )
        of_kind = [operation for operation in operations if operation.f in functions]
        for since_ns, stall_ns in _stalls(of_kind, calm_ns):
            if stall_ns > bound_ns:
                findings.append(_stalled(word, since_ns, stall_ns))
    if findings:
        return (judged if required else noted)(NAME, KIND, findings, figures)
    if open_questions:
        return unavailable(NAME, KIND, "; ".join(open_questions))
    return judged(NAME, KIND, (), figures)


def _stalls(
    operations: Sequence[Operation], calm_ns: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield since when, and for how long, nothing that was asked for succeeded."""
    calls = sorted(operation.call_ns for operation in operations)
    ends = sorted(
        operation.return_ns
        for operation in operations
        if operation.outcome is EventType.OK and operation.return_ns is not None
    )
    for since_ns, until_ns in calm_ns:
        inside = ends[bisect_left(ends, since_ns) : bisect_left(ends, until_ns)]
        for last_ns, next_ns in pairwise((since_ns, *inside, until_ns)):
            place = bisect_left(calls, last_ns)
            if place < len(calls) and calls[place] < next_ns:
                yield calls[place], next_ns - calls[place]


def _end_ns(operation: Operation) -> int:
    return operation.call_ns if operation.return_ns is None else operation.return_ns


def _finding(word: str, healed_ns: int, bound_ns: int, *, resumed_ns: int | None) -> Finding:
    bound = f"within {bound_ns / SECOND:.3f} s of the heal"
    if resumed_ns is not None:
        late = f"{word} resumed {(resumed_ns - healed_ns) / SECOND:.3f} s after the heal, not {bound}"
    else:
        late = f"{word} did not resume {bound}"
    return Finding(sentence=f"{late}, which came {healed_ns / SECOND:.3f} s into the run")


def _stalled(word: str, since_ns: int, stall_ns: int) -> Finding:
    during = f"for {stall_ns / SECOND:.3f} s, from {since_ns / SECOND:.3f} s into the run on"
    left = "though the faults that stood left a majority in peace"
    span_ns = (since_ns, since_ns + stall_ns)
    return Finding(sentence=f"no {word} succeeded {during}, {left}", during_ns=span_ns)
