"""Asking a node to campaign at once, through the vote rules of its peers.

The fault is the question. Whether the node may, and whether it wins, is for the rules under test to
say; what came of it in the next moments is kept as evidence.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from targets.cluster import Primitive, ProcessState

from .common import installed, skipped, unknown, unsupported

if TYPE_CHECKING:
    from nemesis.faults import Campaign, Verification
    from targets.cluster import Cluster

LOOKED_S: Final = 0.1


async def inject(cluster: Cluster, fault: Campaign) -> Verification:
    """Ask, and look what the node says of itself before and soon after."""
    reason = unsupported(cluster, [Primitive.CAMPAIGN])
    if reason is None and cluster.state(fault.node) is not ProcessState.RUNNING:
        reason = f"{fault.node} is {cluster.state(fault.node).value}"
    if reason is not None:
        return skipped(reason)
    await cluster.campaign(fault.node)
    await asyncio.sleep(LOOKED_S)
    status = await cluster.status(fault.node)
    if status is None:
        return unknown(f"{fault.node} was asked to campaign and does not answer since")
    return installed(node=fault.node, term=status.term, role=status.role.value)
