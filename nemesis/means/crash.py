"""Killing nodes and starting them again with the data they had; a higher boot count is the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.cluster import Primitive, ProcessState

from .common import Unverified, gone, installed, skipped, states, unsupported

if TYPE_CHECKING:
    from nemesis.faults import Kill, Verification
    from targets.cluster import Cluster


async def inject(cluster: Cluster, fault: Kill) -> Verification:
    """Kill the nodes; every one must then be gone."""
    reason = unsupported(cluster, [Primitive.KILL]) or gone(cluster, fault.nodes)
    if reason is not None:
        return skipped(reason)
    for node in fault.nodes:
        await cluster.kill(node)
    found = states(cluster, fault.nodes)
    left = [node for node, state in found.items() if state is not ProcessState.GONE]
    if left:
        raise Unverified(f"{', '.join(left)} outlived the kill")
    return installed(states={node: state.value for node, state in found.items()})


async def heal(cluster: Cluster, fault: Kill) -> Verification:
    """Start what is gone; a node that runs is left alone."""
    boots: dict[str, int] = {}
    for node in fault.nodes:
        if cluster.state(node) is ProcessState.GONE:
            await cluster.restart(node)
        status = await cluster.status(node)
        if status is None and cluster.state(node) is ProcessState.GONE:
            raise Unverified(f"{node} did not come back")
        if status is not None:
            boots[node] = status.boot
    return installed(boots=boots)
