"""Asking a node to campaign at once, through the vote rules of its peers.

The fault is the question. Whether the node may, and whether it wins, is for the rules under test to
say; what came of it in the next moments is kept as evidence.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from targets.cluster import Primitive

from .common import Means, Unverified, installed

if TYPE_CHECKING:
    from nemesis.faults import Campaign, Verification
    from targets.cluster import Cluster

LOOKED_S: Final = 0.1


async def _heard(cluster: Cluster, fault: Campaign, _before: None) -> Verification:
    """Look what the nodes say of themselves soon after."""
    await asyncio.sleep(LOOKED_S)
    terms: dict[str, int] = {}
    roles: dict[str, str] = {}
    for node in fault.nodes:
        status = await cluster.status(node)
        if status is None:
            raise Unverified(f"{node} was asked to campaign and does not answer since")
        terms[node], roles[node] = status.term, status.role.value
    return installed(terms=terms, roles=roles)


MEANS: Final = Means(
    needs=lambda _fault: (Primitive.CAMPAIGN,),
    make=lambda cluster, _fault, node: cluster.campaign(node),
    undo=lambda _cluster, _fault, _node: None,
    awake=True,
    made=_heard,
)
