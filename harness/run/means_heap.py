"""Faults made in virtual time: what `nemesis.means` does to processes, as plain calls.

Nothing has to be waited for and nothing can half happen here, so there is nothing to verify but what
the fault itself asks: a node that is gone cannot be frozen or killed, nor one that does not run be asked
to campaign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.faults import (
    BendClock,
    Campaign,
    Cut,
    Fault,
    FillDisk,
    Flight,
    Kill,
    Pause,
    Slow,
    SlowApply,
    SlowSync,
    Verification,
)
from nemesis.means.common import installed, skipped
from nemesis.means.links import whole
from targets.cluster import ClockBend, Delayed, Dropped, Held, LinkState, ProcessState
from targets.sim.cluster import NO_FULL_DISK, NO_PACKETS

from .orders import concerned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.cluster import Link
    from targets.sim.cluster import SimCluster


def inject(cluster: SimCluster, fault: Fault) -> Verification:
    """Make a fault happen."""
    reason = _impossible(cluster, fault)
    if reason is not None:
        return skipped(reason)
    match fault:
        case Cut(links, flight):
            return _set(cluster, dict.fromkeys(links, Held() if flight is Flight.HOLD else Dropped()))
        case Slow(links, delay_ns):
            return _set(cluster, dict.fromkeys(links, Delayed(delay_ns)))
        case _:
            pass
    nodes = concerned(fault)
    for node in nodes:
        _inject(cluster, fault, node)
    return installed(states={node: cluster.state(node).value for node in nodes})


def _impossible(cluster: SimCluster, fault: Fault) -> str | None:
    """Return why this cannot be done here and now, None if it can."""
    match fault:
        case Cut(flight=Flight.SILENCE):
            return NO_PACKETS
        case FillDisk():
            return NO_FULL_DISK
        case Cut() | Slow():
            return None
        case _:
            pass
    states = {node: cluster.state(node) for node in concerned(fault)}
    gone = [node for node, state in states.items() if state is ProcessState.GONE]
    if gone:
        return f"{', '.join(gone)} not running"
    if isinstance(fault, Campaign) and states[fault.node] is ProcessState.STOPPED:
        return f"{fault.node} is stopped"
    return None


def heal(cluster: SimCluster, fault: Fault, *, peers: LinkState) -> Verification:
    """Undo a fault; ``peers`` is the state of a link between nodes when nothing is done to it."""
    if isinstance(fault, Cut | Slow):
        return _set(cluster, {link: whole(link, peers) for link in fault.links})
    nodes = concerned(fault)
    for node in nodes:
        _heal(cluster, fault, node)
    return installed(states={node: cluster.state(node).value for node in nodes})


def _inject(cluster: SimCluster, fault: Fault, node: str) -> None:
    match fault:
        case Pause():
            cluster.pause(node)
        case Kill():
            cluster.kill(node)
        case BendClock(bend=bend):
            cluster.bend_clock(node, bend)
        case Campaign():
            cluster.campaign(node)
        case SlowApply(delay_ns=delay_ns):
            cluster.set_apply_delay(node, delay_ns)
        case SlowSync(delay_ns=delay_ns):
            cluster.set_sync_delay(node, delay_ns)


def _heal(cluster: SimCluster, fault: Fault, node: str) -> None:
    match fault:
        case Pause():
            cluster.resume(node)
        case Kill():
            cluster.restart(node)
        case BendClock():
            cluster.bend_clock(node, ClockBend())
        case SlowApply():
            cluster.set_apply_delay(node, 0)
        case SlowSync():
            cluster.set_sync_delay(node, 0)
        case _:
            pass


def _set(cluster: SimCluster, states: Mapping[Link, LinkState]) -> Verification:
    if not states:
        return skipped("the shape has no links here")
    for link, state in states.items():
        cluster.set_link(link, state)
    names = dict.fromkeys(type(state).__name__.lower() for state in states.values())
    return installed(links=[f"{link.source}->{link.target}" for link in states], state=", ".join(names))
