"""From what a step does, and who its roles are, to faults. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from nemesis.faults import Cut, Fault, Slow
from nemesis.grudges import shaped
from nemesis.kinds import faults
from nemesis.schedule import CutAt, FaultAction, Links, NamedLinks, NodesAt, ShapedLinks, SlowAt
from nemesis.validate import centre_of
from targets.cluster import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Resolve = Callable[[Sequence[str]], tuple[str, ...]]


class Scale(msgspec.Struct, frozen=True):
    """What schedules measure in: the nodes, the election timeout, the declared drift bound."""

    nodes: tuple[str, ...]
    election_ns: int
    drift_ppm: int


def faults_of(do: FaultAction, scale: Scale, resolve: Resolve) -> tuple[Fault, ...]:
    """Return the faults a step makes: one, or one a node where a fault is about one node only."""
    match do:
        case CutAt(links, flight):
            return (Cut(_links(links, scale, resolve), flight, _shape(links)),)
        case SlowAt(links, delay):
            return (Slow(_links(links, scale, resolve), delay.ns(scale.election_ns)),)
        case NodesAt():
            return faults(do, resolve, election_ns=scale.election_ns, drift_ppm=scale.drift_ppm)


def _links(links: Links, scale: Scale, resolve: Resolve) -> tuple[Link, ...]:
    """Return the directed links meant."""
    match links:
        case ShapedLinks(shape, _, side):
            (centre,) = resolve((centre_of(links),))
            return shaped(shape, scale.nodes, centre=centre, side=side)
        case NamedLinks(sources, sinks):
            ends = resolve(sources), resolve(sinks)
            return tuple(Link(source, sink) for source in ends[0] for sink in ends[1] if source != sink)


def _shape(links: Links) -> str:
    """Return a name for people."""
    match links:
        case ShapedLinks(shape):
            return shape.value
        case NamedLinks(sources, sinks):
            return f"{'+'.join(sources)} -> {'+'.join(sinks)}"
