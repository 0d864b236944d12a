"""Making nodes apply, or sync their disks, late: knobs of the node, which acknowledges each setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from targets.cluster import Primitive

from .common import Means, installed, while_there

if TYPE_CHECKING:
    from nemesis.faults import SlowApply, SlowSync, Verification
    from targets.cluster import Cluster


async def _set(_cluster: Cluster, fault: SlowApply | SlowSync, _before: None) -> Verification:
    return installed(nodes=list(fault.nodes), delay_ns=fault.delay_ns)


APPLY: Final = Means(
    needs=lambda _fault: (Primitive.APPLY_DELAY,),
    make=lambda cluster, fault, node: cluster.set_apply_delay(node, fault.delay_ns),
    undo=while_there(lambda cluster, _fault, node: cluster.set_apply_delay(node, 0)),
    made=_set,
)

SYNC: Final = Means(
    needs=lambda _fault: (Primitive.SYNC_DELAY,),
    make=lambda cluster, fault, node: cluster.set_sync_delay(node, fault.delay_ns),
    undo=while_there(lambda cluster, _fault, node: cluster.set_sync_delay(node, 0)),
    made=_set,
)
