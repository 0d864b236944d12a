"""Cutting and delaying directed links, read back from the state of each link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from nemesis.faults import Cut, Flight, Slow
from targets.cluster import CLIENTS, Delayed, Dropped, Held, LinkState, Open, Primitive, Silenced

from .common import Place, Unverified, installed, refused, unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nemesis.faults import Verification
    from targets.cluster import Link


class LinkPlace(Place, Protocol):
    """A cluster with links, wherever its nodes run."""

    def set_link(self, link: Link, state: LinkState) -> None:
        """Put a directed link into a state, at once."""

    def link_state(self, link: Link) -> LinkState:
        """Read back the state of a link."""


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


def inject(place: LinkPlace, fault: Cut | Slow) -> Verification:
    """Put the links into their state. Nothing is awaited: a cut must be in time."""
    reason = unsupported(place, needs(fault))
    if reason is not None:
        return refused(reason)
    if not fault.links:
        return refused("the shape has no links here")
    return _set(place, dict.fromkeys(fault.links, wanted(fault)))


def heal(place: LinkPlace, fault: Cut | Slow, *, peers: LinkState) -> Verification:
    """Put the links back as they are when nothing is done to them."""
    return _set(place, {link: whole(link, peers) for link in fault.links})


def opened(place: LinkPlace, fault: Cut | Slow, *, peers: LinkState) -> str | None:
    """Return which links are whole before anybody healed them; None if none is."""
    ours = wanted(fault)
    found = [link for link in fault.links if place.link_state(link) == whole(link, peers) != ours]
    names = ", ".join(f"{link.source}->{link.target}" for link in found)
    return f"{names} was open before the heal: somebody else opened it" if found else None


def whole(link: Link, peers: LinkState) -> LinkState:
    """Return the state of a link under no fault: ``peers`` between nodes, open to clients."""
    return Open() if CLIENTS in (link.source, link.target) else peers


def _set(place: LinkPlace, states: Mapping[Link, LinkState]) -> Verification:
    for link, state in states.items():
        place.set_link(link, state)
    for link, state in states.items():
        found = place.link_state(link)
        if found != state:
            raise Unverified(f"link {link.source}->{link.target} is {found}, not {state}")
    names = dict.fromkeys(type(state).__name__.lower() for state in states.values())
    return installed(links=[f"{link.source}->{link.target}" for link in states], state=", ".join(names))
