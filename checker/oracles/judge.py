"""Every oracle over one run, in the order in which a reader wants them.

Oracles see what was *declared*, never what was planted. One that does not apply says so: leases may
overlap by design under one policy, votes are free under another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.oracles import availability as available
from checker.oracles import clock_audit as clocks
from checker.oracles import lease_overlap as overlap
from checker.oracles import promise as promises
from checker.oracles import timestamps as stamps
from checker.oracles.fencing import fencing
from checker.oracles.holdings import holdings
from checker.oracles.raft import raft
from checker.oracles.result import Oracle, OracleResult, unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checker.operations import Operation
    from checker.timeline import Timelines


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What a run said of itself before it started.

    ``nodes`` are all voters. ``owes`` are the oracles that the policy has to satisfy, of those it
    might break by design. ``healed_ns`` counts from the run's origin; None if nothing was ever healed,
    and then availability is not judged. ``calm_ns`` are spans before that in which the faults left a
    majority in peace.
    """

    nodes: tuple[str, ...]
    drift_ppm: int | None = None
    owes: frozenset[Oracle] = frozenset(Oracle)
    healed_ns: int | None = None
    calm_ns: tuple[tuple[int, int], ...] = ()
    resume_within_ns: int = 10_000_000_000
    availability_required: bool = False


def judge(
    operations: Sequence[Operation], timelines: Timelines, declared: Declared
) -> tuple[OracleResult, ...]:
    """Return what every oracle says; that of locks only where there were any."""
    return (
        *_owed(timelines, declared),
        raft(timelines),
        *_timestamps(operations, timelines),
        *filter(None, (fencing(operations, timelines),)),
        _availability(operations, declared),
        clocks.clock_audit(timelines, drift_ppm=declared.drift_ppm),
    )


def _owed(timelines: Timelines, declared: Declared) -> Iterator[OracleResult]:
    held = {node: holdings(timeline) for node, timeline in timelines.items()}
    by_design = "the policy does not owe it"
    if Oracle.LEASE_OVERLAP not in declared.owes:
        yield unavailable(overlap.NAME, overlap.KIND, by_design)
    else:
        yield overlap.lease_overlap(timelines, held=held)
    if Oracle.PROMISE not in declared.owes:
        yield unavailable(promises.NAME, promises.KIND, by_design)
    else:
        yield promises.promise(timelines, nodes=declared.nodes, held=held)


def _timestamps(operations: Sequence[Operation], timelines: Timelines) -> Iterator[OracleResult]:
    writes = stamps.stamped(operations)
    if writes:
        yield stamps.timestamps(writes, origin_ns=timelines.origin_ns)


def _availability(operations: Sequence[Operation], declared: Declared) -> OracleResult:
    if declared.healed_ns is None:
        return unavailable(available.NAME, available.KIND, "there was nothing to heal")
    return available.availability(
        operations,
        healed_ns=declared.healed_ns,
        bound_ns=declared.resume_within_ns,
        calm_ns=declared.calm_ns,
        required=declared.availability_required,
    )
