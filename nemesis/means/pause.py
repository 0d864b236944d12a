"""Freezing nodes: SIGSTOP and SIGCONT, read back from the process's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.cluster import Primitive, ProcessState

from .common import Unverified, gone, installed, skipped, states, unsupported

if TYPE_CHECKING:
    from nemesis.faults import Pause, Verification
    from targets.cluster import Cluster


async def inject(cluster: Cluster, fault: Pause) -> Verification:
    """Freeze the nodes; every one must then be stopped."""
    reason = unsupported(cluster, [Primitive.PAUSE]) or gone(cluster, fault.nodes)
    if reason is not None:
        return skipped(reason)
    for node in fault.nodes:
        await cluster.pause(node)
    found = states(cluster, fault.nodes)
    awake = [node for node, state in found.items() if state is not ProcessState.STOPPED]
    if awake:
        raise Unverified(f"{', '.join(awake)} did not stop: {found[awake[0]].value}")
    return installed(states={node: state.value for node, state in found.items()})


async def heal(cluster: Cluster, fault: Pause) -> Verification:
    """Let the nodes go on; one that died meanwhile is not frozen either."""
    for node in fault.nodes:
        await cluster.resume(node)
    found = states(cluster, fault.nodes)
    frozen = [node for node, state in found.items() if state is ProcessState.STOPPED]
    if frozen:
        raise Unverified(f"{', '.join(frozen)} still stopped")
    return installed(states={node: state.value for node, state in found.items()})
