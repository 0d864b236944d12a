"""Oracle: timestamps of writes are ordered as the writes are, and are past once a write is told.

Of two writes, one of them over before the other began, the later has the larger timestamp. And a write
is over only when its timestamp is past on the true clock: else somebody else, who asks the same time
service and knows nothing of this log, acts after it with a smaller timestamp, or reads as of now and
misses it. Only writes that said their timestamp are judged. Equal stamps of the history are concurrent;
equal timestamps are out of order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from checker.oracles.availability import WRITES
from checker.oracles.result import Finding, OracleResult, judged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.operations import Operation

NAME: Final = "timestamps"
KIND: Final = "timestamp-order"


class Stamped(msgspec.Struct, frozen=True):
    """A write that was acknowledged with a timestamp; ``node`` is who acknowledged it."""

    index: int
    call_ns: int
    return_ns: int
    stamp_ns: int
    node: str


def stamped(operations: Iterable[Operation]) -> tuple[Stamped, ...]:
    """Return the writes that say their timestamp, in their own order."""
    return tuple(
        Stamped(each.index, each.call_ns, each.return_ns, each.evidence.stamp_ns, each.node or "?")
        for each in operations
        if each.f in WRITES
        and each.known
        and each.return_ns is not None
        and each.evidence is not None
        and each.evidence.stamp_ns is not None
    )


def timestamps(writes: Iterable[Stamped], *, origin_ns: int) -> OracleResult:
    """Judge each write against the largest timestamp of all that were over before it began.

    ``origin_ns`` is where the history begins on the clock of the timestamps.
    """
    by_call = sorted(writes, key=lambda write: (write.call_ns, write.index))
    by_return = sorted(by_call, key=lambda write: (write.return_ns, write.index))
    findings: list[Finding] = []
    largest: Stamped | None = None
    over = 0
    for write in by_call:
        if origin_ns + write.return_ns < write.stamp_ns:
            ahead_ns = write.stamp_ns - origin_ns - write.return_ns
            findings.append(_too_soon(write, ahead_ns, origin_ns))
        while over < len(by_return) and by_return[over].return_ns < write.call_ns:
            if largest is None or by_return[over].stamp_ns > largest.stamp_ns:
                largest = by_return[over]
            over += 1
        if largest is not None and largest.stamp_ns >= write.stamp_ns:
            findings.append(_finding(largest, write, origin_ns))
    return judged(NAME, KIND, findings, {"stamped_writes": len(by_call)})


def _finding(earlier: Stamped, later: Stamped, origin_ns: int) -> Finding:
    behind_ms = (earlier.stamp_ns - later.stamp_ns) / 1e6
    return Finding(
        sentence=(
            f"operation {earlier.index} at {earlier.node} was over before operation {later.index} at "
            f"{later.node} began, and the timestamp of the later one is {behind_ms:.3f} ms smaller"
        ),
        during_ns=(origin_ns + earlier.return_ns, origin_ns + later.call_ns),
        nodes=(earlier.node, later.node),
    )


def _too_soon(write: Stamped, ahead_ns: int, origin_ns: int) -> Finding:
    return Finding(
        sentence=(
            f"operation {write.index} was answered by {write.node} {ahead_ns / 1e6:.3f} ms before its "
            f"own timestamp: who reads as of then misses it"
        ),
        during_ns=(origin_ns + write.call_ns, origin_ns + write.return_ns),
        nodes=(write.node,),
    )
