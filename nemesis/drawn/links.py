"""Episodes that break the network without a plan for the leader, or make it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nemesis.faults import Flight
from nemesis.grudges import Shape
from nemesis.schedule import (
    CutAt,
    Episode,
    EventName,
    HealOf,
    NamedLinks,
    ProbeAt,
    ProbeKind,
    ShapedLinks,
    SlowAt,
    Wait,
)

from .pieces import after, episode, healed, read_back, step, write_first

if TYPE_CHECKING:
    from .draw import Draw

BYSTANDING: Final = (Shape.FOLLOWER_MUTE, Shape.FOLLOWER_DEAF, Shape.MAJORITIES_RING, Shape.BRIDGE)


def bystanders(draw: Draw) -> Episode:
    """Break the network around the followers, or in a ring, without a plan for the leader."""
    shape = draw.rng.choice(BYSTANDING)
    if shape is Shape.BRIDGE:
        centre = draw.victim()
    else:
        centre = "leader" if shape is Shape.MAJORITIES_RING else draw.follower()
    flight = Flight.DROP if draw.one_in(4) else Flight.HOLD
    steps = [
        write_first(),
        step(CutAt(ShapedLinks(shape, centre), flight), after(EventName.ACKED), name="cut"),
        step(ProbeAt(ProbeKind.READ, ("all",), 2, draw.span(10, 50)), Wait(draw.span(50, 200))),
        healed(draw, "cut"),
        read_back(),
    ]
    return episode(f"network-{shape.value}", steps)


def slow_links(draw: Draw) -> Episode:
    """Delay one direction between the leader and the others for a while."""
    ends = [("leader",), ("followers",)]
    draw.rng.shuffle(ends)
    slow = SlowAt(NamedLinks(ends[0], ends[1]), draw.span(2, 40))
    steps = [
        write_first(),
        step(slow, after(EventName.ACKED), name="slow"),
        step(ProbeAt(ProbeKind.READ, ("all",), 3, draw.span(10, 40)), Wait(draw.span(20, 150))),
        step(HealOf("slow", draw.span(5, 40)), Wait(draw.span(20, 100))),
        read_back(),
    ]
    return episode("slow-links", steps)
