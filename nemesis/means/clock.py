"""Bending clocks, measured: what counts is what the node's clocks do, not what they were told.

A node reads its own clocks beside the true one whenever it is asked for its status. Two such pairs give
its rate; a pair before the bend and one after give the step of its wall clock. A target that does not
notice the bend (a static binary under a preload) is found out here, and the fault is skipped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from targets.clock import MS
from targets.cluster import ClockBend, NodeStatus, Primitive, ProcessState

from .common import Ineffective, Unverified, gone, installed, skipped, unsupported

if TYPE_CHECKING:
    from nemesis.faults import BendClock, Verification
    from targets.cluster import Cluster

MEASURED_S: Final = 0.15
"""Time between two readings that give a rate: short beside an election, long beside their error."""

RATE_ERROR_PPM: Final = 3_000
"""What a rate may be off: a reading is some microseconds late, a change of rate leaves a small step."""

WALL_ERROR_NS: Final = 60 * MS
"""What a step may be off: two statuses some milliseconds apart on a busy machine."""


async def inject(cluster: Cluster, fault: BendClock) -> Verification:
    """Bend the node's clocks and measure them."""
    bend = fault.bend
    wants = [Primitive.CLOCK_RATE] if bend.rate_ppm else []
    wants += [Primitive.CLOCK_WALL] if bend.wall_offset_ns else []
    reason = unsupported(cluster, wants) or gone(cluster, [fault.node])
    if reason is not None:
        return skipped(reason)
    before = await _status(cluster, fault.node)
    await cluster.bend_clock(fault.node, bend)
    after = await _status(cluster, fault.node)
    evidence: dict[str, int] = {}
    if bend.wall_offset_ns:
        step_ns = _wall_error_ns(after) - _wall_error_ns(before)
        if abs(step_ns - bend.wall_offset_ns) > WALL_ERROR_NS:
            raise Ineffective(
                f"{fault.node}'s wall clock moved by {step_ns} ns, not {bend.wall_offset_ns}"
            )
        evidence["wall_step_ns"] = step_ns
    if bend.rate_ppm:
        evidence["rate_ppm"] = await _rate_ppm(cluster, fault.node, after)
        if abs(evidence["rate_ppm"] - bend.rate_ppm) > RATE_ERROR_PPM:
            raise Ineffective(f"{fault.node} runs {evidence['rate_ppm']} ppm off, not {bend.rate_ppm}")
    return installed(node=fault.node, **evidence)


async def heal(cluster: Cluster, fault: BendClock) -> Verification:
    """Set the node's clocks right; a node that is not running has nothing to measure."""
    await cluster.bend_clock(fault.node, ClockBend())
    if cluster.state(fault.node) is not ProcessState.RUNNING:
        return installed(node=fault.node, measured=False)
    if not fault.bend.rate_ppm:
        return installed(node=fault.node)
    rate_ppm = await _rate_ppm(cluster, fault.node, await _status(cluster, fault.node))
    if abs(rate_ppm) > RATE_ERROR_PPM:
        raise Unverified(f"{fault.node} still runs {rate_ppm} ppm off")
    return installed(node=fault.node, rate_ppm=rate_ppm)


async def _rate_ppm(cluster: Cluster, node: str, first: NodeStatus) -> int:
    """Measure how much faster than true time the node's monotonic clock runs."""
    await asyncio.sleep(MEASURED_S)
    last = await _status(cluster, node)
    true_ns = last.true_ns - first.true_ns
    own_ns = last.own.mono_ns - first.own.mono_ns
    if true_ns <= 0 or last.boot != first.boot:
        raise Unverified(f"{node} started again while its clock was measured")
    return round((own_ns - true_ns) * 1_000_000 / true_ns)


def _wall_error_ns(status: NodeStatus) -> int:
    """Return how far the wall clock is from the true one; only differences of it mean anything."""
    return status.own.wall_ns - status.true_ns


async def _status(cluster: Cluster, node: str) -> NodeStatus:
    status = await cluster.status(node)
    if status is None:
        raise Unverified(f"{node} does not answer, so its clock cannot be read")
    return status
