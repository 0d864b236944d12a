"""Freezing nodes, or their hosts with their clocks, read back from the process's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from targets.cluster import Primitive, ProcessState

from .common import Means, Place, Unverified, in_states, states

if TYPE_CHECKING:
    from nemesis.faults import Pause, Verification
    from targets.cluster import Cluster


async def _stopped(cluster: Cluster, fault: Pause, _before: None) -> Verification:
    """Every node must be stopped."""
    found = states(cluster, fault.nodes)
    awake = [node for node, state in found.items() if state is not ProcessState.STOPPED]
    if awake:
        raise Unverified(f"{', '.join(awake)} did not stop: {found[awake[0]].value}")
    return in_states(cluster, fault.nodes)


def _let_go(place: Place, fault: Pause) -> str | None:
    """Return which nodes were not stopped to the end."""
    awake = [node for node, state in states(place, fault.nodes).items() if state is ProcessState.RUNNING]
    return f"{', '.join(awake)} went on before the heal: somebody else let it" if awake else None


async def _going_on(cluster: Cluster, fault: Pause, _boots: Any) -> Verification:
    """No node may be stopped; one that died meanwhile is not frozen either."""
    found = states(cluster, fault.nodes)
    frozen = [node for node, state in found.items() if state is ProcessState.STOPPED]
    if frozen:
        raise Unverified(f"{', '.join(frozen)} still stopped")
    return in_states(cluster, fault.nodes)


MEANS: Final = Means(
    needs=lambda _fault: (Primitive.PAUSE,),
    make=lambda cluster, _fault, node: cluster.pause(node),
    undo=lambda cluster, _fault, node: cluster.resume(node),
    made=_stopped,
    healed=_going_on,
    broken=_let_go,
)

SUSPEND: Final = Means(
    needs=lambda _fault: (Primitive.SUSPEND,),
    make=lambda cluster, _fault, node: cluster.suspend(node),
    undo=lambda cluster, _fault, node: cluster.resume(node),
    made=_stopped,
    healed=_going_on,
    broken=_let_go,
)
