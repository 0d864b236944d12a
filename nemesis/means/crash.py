"""Killing nodes and starting them again with the data they had; a higher boot count is the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from targets.cluster import Primitive, ProcessState

from .common import Means, Unverified, in_states, installed, states

if TYPE_CHECKING:
    from nemesis.faults import NodesFault, Verification
    from targets.cluster import Cluster


async def _gone(cluster: Cluster, fault: NodesFault, _before: None) -> Verification:
    """Every node must be gone."""
    left = [
        node for node, state in states(cluster, fault.nodes).items() if state is not ProcessState.GONE
    ]
    if left:
        raise Unverified(f"{', '.join(left)} outlived the kill")
    return in_states(cluster, fault.nodes)


def revive(cluster: Any, _fault: Any, node: str) -> Any:
    """Start a node that is gone; one that runs is left alone."""
    return cluster.restart(node) if cluster.state(node) is ProcessState.GONE else None


async def back(cluster: Cluster, fault: NodesFault) -> Verification:
    """Every node must be there again."""
    boots: dict[str, int] = {}
    for node in fault.nodes:
        status = await cluster.status(node)
        if status is None and cluster.state(node) is ProcessState.GONE:
            raise Unverified(f"{node} did not come back")
        if status is not None:
            boots[node] = status.boot
    return installed(boots=boots)


MEANS: Final = Means(
    needs=lambda _fault: (Primitive.KILL,),
    make=lambda cluster, _fault, node: cluster.kill(node),
    undo=revive,
    made=_gone,
    healed=back,
)
