"""Grudges: named shapes of a broken network, as pure functions from nodes to directed links.

A *grudge* maps each node to the nodes it will not hear; a cut is the set of directed links that a
grudge names. One-way shapes are the dangerous ones for leases: a *mute* leader still hears that it
was replaced, a *deaf* one still keeps its followers' promises alive, so the two fail differently.

Clients are never part of a peer shape: whoever reads at an isolated leader must still reach it. The
link shapes for clients are apart, and only those that make sense for one node.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from targets.cluster import CLIENTS, Link

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Grudge = dict[str, frozenset[str]]


class Shape(StrEnum):
    """The names people use. "leader" and "follower" say whom the shape is centred on."""

    LEADER_MUTE = "leader-mute"
    LEADER_DEAF = "leader-deaf"
    FOLLOWER_MUTE = "follower-mute"
    FOLLOWER_DEAF = "follower-deaf"
    ISOLATE_ONE = "isolate-one"
    HALVES = "halves"
    MINORITY_THIRD = "minority-third"
    MAJORITIES_RING = "majorities-ring"
    BRIDGE = "bridge"


class Side(StrEnum):
    """Whose words a shape loses: those between the nodes, or those between a node and its clients."""

    PEERS = "peers"
    CLIENTS = "clients"


LEADER_SHAPES: Final = frozenset({Shape.LEADER_MUTE, Shape.LEADER_DEAF})
"""Shapes centred on the leader unless a schedule says otherwise."""

ONE_NODE_SHAPES: Final = LEADER_SHAPES | {Shape.FOLLOWER_MUTE, Shape.FOLLOWER_DEAF, Shape.ISOLATE_ONE}
"""Shapes about one node, which are the ones that exist between a node and its clients too."""


def shaped(  # noqa: PLR0911 - one case a shape
    shape: Shape, nodes: Sequence[str], *, centre: str, side: Side = Side.PEERS
) -> tuple[Link, ...]:
    """Return the links that ``shape`` cuts around ``centre``, in the order of the nodes.

    The centre of *halves* and *minority-third* is in the minority, that of a *bridge* is the bridge.
    """
    if centre not in nodes:
        raise ValueError(f"the centre of a grudge is one of the nodes {list(nodes)}, not {centre!r}")
    if side is Side.CLIENTS and shape not in ONE_NODE_SHAPES:
        raise ValueError(f"{shape} has no form between a node and its clients")
    others = [CLIENTS] if side is Side.CLIENTS else [node for node in nodes if node != centre]
    ring = [centre, *(node for node in nodes if node != centre)]
    match shape:
        case Shape.LEADER_MUTE | Shape.FOLLOWER_MUTE:
            return mute(centre, others)
        case Shape.LEADER_DEAF | Shape.FOLLOWER_DEAF:
            return deaf(centre, others)
        case Shape.ISOLATE_ONE:
            return mute(centre, others) + deaf(centre, others)
        case Shape.HALVES:
            return links(complete(split(ring, len(ring) // 2)))
        case Shape.MINORITY_THIRD:
            return links(complete(split(ring, max(1, (len(ring) - 1) // 3))))
        case Shape.MAJORITIES_RING:
            return links(majorities_ring(ring))
        case Shape.BRIDGE:
            return links(bridge(ring[1:], over=centre))


def mute(node: str, others: Iterable[str]) -> tuple[Link, ...]:
    """Return the links by which ``others`` hear ``node``: its words are lost, it still hears."""
    return tuple(Link(node, other) for other in others)


def deaf(node: str, others: Iterable[str]) -> tuple[Link, ...]:
    """Return the links by which ``node`` hears ``others``: it still speaks."""
    return tuple(Link(other, node) for other in others)


def split(nodes: Sequence[str], first: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two components: the first ``first`` nodes, and the rest."""
    return tuple(nodes[:first]), tuple(nodes[first:])


def complete(components: Iterable[Iterable[str]]) -> Grudge:
    """Return the complete grudge: nobody hears a node of another component."""
    groups = [tuple(component) for component in components]
    everyone = {node for group in groups for node in group}
    return {node: frozenset(everyone - set(group)) for group in groups for node in group}


def majorities_ring(nodes: Sequence[str]) -> Grudge:
    """Return a grudge in which every node hears a majority, and no two nodes the same one.

    The node in the middle of each window of a ring hears that window. With three nodes this is a ring
    of one-way links.
    """
    size, majority = len(nodes), len(nodes) // 2 + 1
    grudge: Grudge = {}
    for start in range(size):
        window = [nodes[(start + step) % size] for step in range(majority)]
        grudge[window[majority // 2]] = frozenset(nodes) - set(window)
    return grudge


def bridge(others: Sequence[str], *, over: str) -> Grudge:
    """Return a grudge of two halves which do not hear each other, though all hear ``over``."""
    return {**complete(split(others, len(others) // 2)), over: frozenset()}


def links(grudge: Mapping[str, frozenset[str]]) -> tuple[Link, ...]:
    """Return the directed links that a grudge silences, sorted."""
    return tuple(
        sorted(Link(unheard, node) for node, unheards in grudge.items() for unheard in unheards)
    )
