"""Faults made in virtual time: the rows of `nemesis.means`, called at once.

What is asked first, what is called and how links are put into their state is the same as on processes.
Nothing has to be waited for and nothing can half happen here, so nothing is read back of a node but what
its process does, and what it says where it may refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.faults import Fault, LinksFault, Verification
from nemesis.means import MEANS, links
from nemesis.means.common import Ineffective, Unverified, in_states, skipped, unknown

if TYPE_CHECKING:
    from targets.cluster import LinkState
    from targets.sim.cluster import SimCluster


def inject(cluster: SimCluster, fault: Fault) -> Verification:
    """Make a fault happen."""
    if isinstance(fault, LinksFault):
        return links.inject(cluster, fault)
    means = MEANS[type(fault)]
    impossible = means.impossible(cluster, fault)
    if impossible is not None:
        return impossible
    before = {node: cluster.status(node) for node in fault.nodes} if means.told else {}
    for node in fault.nodes:
        means.make(cluster, fault, node)
    if means.told is None:
        return in_states(cluster, fault.nodes)
    try:
        return means.told(before, {node: cluster.status(node) for node in fault.nodes}, fault)
    except Ineffective as why:
        return skipped(str(why))
    except Unverified as why:
        return unknown(str(why))


def heal(cluster: SimCluster, fault: Fault, *, peers: LinkState) -> Verification:
    """Undo a fault; ``peers`` is the state of a link between nodes when nothing is done to it."""
    if isinstance(fault, LinksFault):
        return links.heal(cluster, fault, peers=peers)
    means = MEANS[type(fault)]
    for node in fault.nodes:
        means.undo(cluster, fault, node)
    return in_states(cluster, fault.nodes)
