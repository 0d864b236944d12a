"""Bending clocks, measured: what counts is what the node's clocks do, not what they were told.

A node reads its own clocks beside the true one whenever it is asked for its status. Two such pairs give
its rate; a pair before the bend and one after give the step of its wall clock. A target that does not
notice the bend (a static binary under a preload) is found out here, and the fault is skipped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from targets.clock import MS
from targets.cluster import ClockBend, NodeStatus, Primitive, ProcessState

from .common import Ineffective, Means, Unverified, installed

if TYPE_CHECKING:
    from nemesis.faults import BendClock, Verification
    from targets.cluster import Cluster

MEASURED_S: Final = 0.15
"""Time between two readings that give a rate: short beside an election, long beside their error."""

RATE_ERROR_PPM: Final = 3_000
"""What a rate may be off: a reading is some microseconds late, a change of rate leaves a small step."""

WALL_ERROR_NS: Final = 60 * MS
"""What a step may be off: two statuses some milliseconds apart on a busy machine."""


def _needs(fault: BendClock) -> list[Primitive]:
    rate = [Primitive.CLOCK_RATE] if fault.bend.rate_ppm else []
    return [*rate, *([Primitive.CLOCK_WALL] if fault.bend.wall_offset_ns else [])]


async def _statuses(cluster: Cluster, fault: BendClock) -> dict[str, NodeStatus]:
    return {node: await _status(cluster, node) for node in fault.nodes}


async def _bent(cluster: Cluster, fault: BendClock, before: dict[str, NodeStatus]) -> Verification:
    """Measure the step that every wall clock made, and the rate that every clock runs at."""
    bend, after = fault.bend, await _statuses(cluster, fault)
    evidence: dict[str, dict[str, int]] = {}
    if bend.wall_offset_ns:
        steps_ns = {node: _wall_error_ns(after[node]) - _wall_error_ns(before[node]) for node in before}
        for node, step_ns in steps_ns.items():
            if abs(step_ns - bend.wall_offset_ns) > WALL_ERROR_NS:
                raise Ineffective(
                    f"{node}'s wall clock moved by {step_ns} ns, not {bend.wall_offset_ns}"
                )
        evidence["wall_step_ns"] = steps_ns
    if bend.rate_ppm:
        evidence["rate_ppm"] = await _rates_ppm(cluster, after)
        for node, rate_ppm in evidence["rate_ppm"].items():
            if abs(rate_ppm - bend.rate_ppm) > RATE_ERROR_PPM:
                raise Ineffective(f"{node} runs {rate_ppm} ppm off, not {bend.rate_ppm}")
    return installed(**evidence)


async def _right(cluster: Cluster, fault: BendClock, _boots: Any) -> Verification:
    """Measure that clocks run right again; a node that is not running has nothing to measure."""
    running = [node for node in fault.nodes if cluster.state(node) is ProcessState.RUNNING]
    if not (running and fault.bend.rate_ppm):
        return installed(measured=running if fault.bend.rate_ppm else [])
    rates_ppm = await _rates_ppm(cluster, {node: await _status(cluster, node) for node in running})
    for node, rate_ppm in rates_ppm.items():
        if abs(rate_ppm) > RATE_ERROR_PPM:
            raise Unverified(f"{node} still runs {rate_ppm} ppm off")
    return installed(rate_ppm=rates_ppm)


async def _rates_ppm(cluster: Cluster, first: dict[str, NodeStatus]) -> dict[str, int]:
    """Measure how much faster than true time each node's monotonic clock runs."""
    await asyncio.sleep(MEASURED_S)
    return {node: _rate_ppm(seen, await _status(cluster, node)) for node, seen in first.items()}


def _rate_ppm(first: NodeStatus, last: NodeStatus) -> int:
    true_ns = last.true_ns - first.true_ns
    own_ns = last.own.mono_ns - first.own.mono_ns
    if true_ns <= 0 or last.boot != first.boot:
        raise Unverified(f"{last.node} started again while its clock was measured")
    return round((own_ns - true_ns) * 1_000_000 / true_ns)


def _wall_error_ns(status: NodeStatus) -> int:
    """Return how far the wall clock is from the true one; only differences of it mean anything."""
    return status.own.wall_ns - status.true_ns


async def _status(cluster: Cluster, node: str) -> NodeStatus:
    status = await cluster.status(node)
    if status is None:
        raise Unverified(f"{node} does not answer, so its clock cannot be read")
    return status


MEANS: Final = Means(
    needs=_needs,
    make=lambda cluster, fault, node: cluster.bend_clock(node, fault.bend),
    undo=lambda cluster, _fault, node: cluster.bend_clock(node, ClockBend()),
    look=_statuses,
    made=_bent,
    healed=_right,
)
