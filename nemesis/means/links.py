"""Cutting and delaying directed links, read back from the state of each link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.faults import Cut, Flight, Slow
from targets.cluster import CLIENTS, Delayed, Dropped, Held, LinkState, Open, Primitive, Silenced

from .common import Unverified, installed, skipped, unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nemesis.faults import Verification
    from targets.cluster import Cluster, Link


def needs(fault: Cut | Slow) -> list[Primitive]:
    """Return what a cluster must be able to do for this fault."""
    links = fault.links
    special: list[Primitive] = []
    if isinstance(fault, Slow):
        special = [Primitive.DELAY]
    elif fault.flight is Flight.SILENCE:
        special = [Primitive.SILENCE]
    clients = [CLIENTS in (link.source, link.target) for link in links]
    peers_too = [] if all(clients) else [Primitive.LINKS]
    return [*peers_too, *([Primitive.CLIENT_LINKS] if any(clients) else []), *special]


def wanted(fault: Cut | Slow) -> LinkState:
    """Return the state a fault wants its links in."""
    match fault:
        case Cut(flight=Flight.HOLD):
            return Held()
        case Cut(flight=Flight.SILENCE):
            return Silenced()
        case Cut():
            return Dropped()
        case Slow(delay_ns=delay_ns):
            return Delayed(delay_ns)


async def inject(cluster: Cluster, fault: Cut | Slow) -> Verification:
    """Put the links into their state. Nothing is awaited before that: a cut must be in time."""
    reason = unsupported(cluster, needs(fault))
    if reason is not None:
        return skipped(reason)
    if not fault.links:
        return skipped("the shape has no links here")
    return _set(cluster, dict.fromkeys(fault.links, wanted(fault)))


async def heal(cluster: Cluster, fault: Cut | Slow, *, peers: LinkState) -> Verification:
    """Put the links back as they are when nothing is done to them."""
    return _set(cluster, {link: whole(link, peers) for link in fault.links})


def whole(link: Link, peers: LinkState) -> LinkState:
    """Return the state of a link under no fault: ``peers`` between nodes, open to clients."""
    return Open() if CLIENTS in (link.source, link.target) else peers


def _set(cluster: Cluster, states: Mapping[Link, LinkState]) -> Verification:
    for link, state in states.items():
        cluster.set_link(link, state)
    for link, state in states.items():
        found = cluster.link_state(link)
        if found != state:
            raise Unverified(f"link {link.source}->{link.target} is {found}, not {state}")
    names = dict.fromkeys(type(state).__name__.lower() for state in states.values())
    return installed(links=[f"{link.source}->{link.target}" for link in states], state=", ".join(names))
