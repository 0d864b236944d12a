"""Making nodes apply, or sync their disks, late: knobs of the node, which acknowledges each setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.faults import SlowApply, SlowSync
from targets.cluster import Primitive, ProcessState

from .common import gone, installed, skipped, unsupported

if TYPE_CHECKING:
    from nemesis.faults import Verification
    from targets.cluster import Cluster


async def inject(cluster: Cluster, fault: SlowApply | SlowSync) -> Verification:
    """Set the knob on every node."""
    primitive = Primitive.APPLY_DELAY if isinstance(fault, SlowApply) else Primitive.SYNC_DELAY
    reason = unsupported(cluster, [primitive]) or gone(cluster, fault.nodes)
    if reason is not None:
        return skipped(reason)
    for node in fault.nodes:
        await _set(cluster, fault, node, fault.delay_ns)
    return installed(nodes=list(fault.nodes), delay_ns=fault.delay_ns)


async def heal(cluster: Cluster, fault: SlowApply | SlowSync) -> Verification:
    """Turn the knob back; a node that is gone comes back without the delay."""
    for node in fault.nodes:
        if cluster.state(node) is not ProcessState.GONE:
            await _set(cluster, fault, node, 0)
    return installed(nodes=list(fault.nodes), delay_ns=0)


async def _set(cluster: Cluster, fault: SlowApply | SlowSync, node: str, delay_ns: int) -> None:
    match fault:
        case SlowApply():
            await cluster.set_apply_delay(node, delay_ns)
        case SlowSync():
            await cluster.set_sync_delay(node, delay_ns)
