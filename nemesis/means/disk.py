"""Filling nodes' disks: a write is refused with ENOSPC, in the middle of a record, and the node ends.

A container of ours has a file system of its own, which is made as small as what is on it. A process has
none: there the node counts the room itself, in its storage layer, and acknowledges the setting. A node
that has nothing to write lives on until it has. Room comes back with every start: to heal is to free it
where the node still lives, and to start what has ended.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from nemesis.faults import Kill
from targets.cluster import Primitive, ProcessState

from . import crash
from .common import gone, installed, skipped, states, unsupported

if TYPE_CHECKING:
    from nemesis.faults import FillDisk, Verification
    from targets.cluster import Cluster

ROOM_BYTES: Final = 10
"""What is left: a record is begun and not finished, which is what a restart has to cut off."""

LOOKED_S: Final = 1.0
LOOK_S: Final = 0.01


async def inject(cluster: Cluster, fault: FillDisk) -> Verification:
    """Leave the nodes no room, and look for a while whether they end of it."""
    reason = unsupported(cluster, [Primitive.DISK_ROOM]) or gone(cluster, fault.nodes)
    if reason is not None:
        return skipped(reason)
    for node in fault.nodes:
        await cluster.set_disk_room(node, ROOM_BYTES)
    for _ in range(round(LOOKED_S / LOOK_S)):
        found = states(cluster, fault.nodes)
        if set(found.values()) == {ProcessState.GONE}:
            break
        await asyncio.sleep(LOOK_S)
    found = states(cluster, fault.nodes)
    return installed(room_bytes=ROOM_BYTES, states={node: state.value for node, state in found.items()})


async def heal(cluster: Cluster, fault: FillDisk) -> Verification:
    """Free the room where a node still lives; start what has ended."""
    for node in fault.nodes:
        if cluster.state(node) is not ProcessState.GONE:
            await cluster.set_disk_room(node, None)
    return await crash.heal(cluster, Kill(fault.nodes))
