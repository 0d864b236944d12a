"""Killing nodes and starting them again with the data they had.

That a node is gone is the operating system's word, and so is it that one that runs after that is another
process. Where a target counts its nodes' boots, a count that has grown is the proof that the node also
found its data; where it tells none, that a new process answers is all there is. A node that runs and
says nothing is not back; one that was stopped meanwhile, by another fault, is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from targets.cluster import Primitive, ProcessState

from .common import Means, Unverified, in_states, installed, states

if TYPE_CHECKING:
    from collections.abc import Mapping

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


async def back(cluster: Cluster, fault: NodesFault, before: Mapping[str, int]) -> Verification:
    """Every node must be there again, with more boots than it had ``before``, where it counts them."""
    boots: dict[str, int] = {}
    for node in fault.nodes:
        status = await cluster.status(node)
        if status is None:
            match cluster.state(node):
                case ProcessState.GONE:
                    raise Unverified(f"{node} did not come back")
                case ProcessState.RUNNING:
                    raise Unverified(f"{node} runs and does not answer")
        elif status.boot is not None:
            boots[node] = status.boot
    for node, boot in boots.items():
        if boot <= before.get(node, 0):
            raise Unverified(
                f"{node} counts boot {boot}, and counted {before[node]} before it was killed: "
                "it did not come back with its data"
            )
    return installed(boots=boots)


MEANS: Final = Means(
    needs=lambda _fault: (Primitive.KILL,),
    make=lambda cluster, _fault, node: cluster.kill(node),
    undo=revive,
    made=_gone,
    healed=back,
)
