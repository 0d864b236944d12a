"""Filling nodes' disks: a write is refused with ENOSPC, in the middle of a record, and the node ends.

A container of ours has a file system of its own, which is made as small as what is on it. A process has
none: there the node counts the room itself, in its storage layer, and acknowledges the setting. A node
that has nothing to write lives on until it has. Room comes back with every start: to heal is to free it
where the node still lives, and to start what has ended.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from targets.cluster import Primitive, ProcessState

from . import crash
from .common import Means, installed, states

if TYPE_CHECKING:
    from nemesis.faults import FillDisk, Verification
    from targets.cluster import Cluster

ROOM_BYTES: Final = 10
"""What is left: a record is begun and not finished, which is what a restart has to cut off."""

LOOKED_S: Final = 1.0
LOOK_S: Final = 0.01


async def _ended(cluster: Cluster, fault: FillDisk, _before: None) -> Verification:
    """Look for a while whether the nodes end of it; the setting itself was acknowledged."""
    for _ in range(round(LOOKED_S / LOOK_S)):
        if set(states(cluster, fault.nodes).values()) == {ProcessState.GONE}:
            break
        await asyncio.sleep(LOOK_S)
    found = states(cluster, fault.nodes)
    return installed(room_bytes=ROOM_BYTES, states={node: state.value for node, state in found.items()})


def _free(cluster: Any, fault: Any, node: str) -> Any:
    """Free the room where a node still lives; start what has ended."""
    if cluster.state(node) is ProcessState.GONE:
        return crash.revive(cluster, fault, node)
    return cluster.set_disk_room(node, None)


async def _lives(cluster: Cluster, fault: FillDisk, _boots: Any) -> Verification:
    """Every node must be there; one whose disk was never written to has not ended."""
    return await crash.back(cluster, fault, {})


MEANS: Final = Means(
    needs=lambda _fault: (Primitive.DISK_ROOM,),
    make=lambda cluster, _fault, node: cluster.set_disk_room(node, ROOM_BYTES),
    undo=_free,
    made=_ended,
    healed=_lives,
)
