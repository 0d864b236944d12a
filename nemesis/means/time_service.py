"""Keeping nodes from hearing their time service: a knob of the node, which acknowledges the setting.

A span that is said to hold the true time grows from then on by the declared bound. Rate and wall clock
are left alone: what is known less well is only how far off they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from targets.cluster import Primitive

from .common import Means, installed, while_there

if TYPE_CHECKING:
    from nemesis.faults import StopTime, Verification
    from targets.cluster import Cluster


async def _set(_cluster: Cluster, fault: StopTime, _before: None) -> Verification:
    return installed(nodes=list(fault.nodes), heard=False)


MEANS: Final = Means(
    needs=lambda _fault: (Primitive.TIME_SERVICE,),
    make=lambda cluster, _fault, node: cluster.set_time_service(node, heard=False),
    undo=while_there(lambda cluster, _fault, node: cluster.set_time_service(node, heard=True)),
    made=_set,
)
