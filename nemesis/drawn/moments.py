"""Episodes around the moments of a lease: soon after it was renewed, or as a write is answered.

A lease is decided in the moments after it was renewed and before it ends. These know when something
happens, and draw what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from nemesis.faults import Flight
from nemesis.grudges import Shape
from nemesis.schedule import (
    CampaignAt,
    CutAt,
    Episode,
    EventName,
    For,
    HealOf,
    KillAt,
    NamedLinks,
    PauseAt,
    ProbeAt,
    ProbeKind,
    ShapedLinks,
    SlowSyncAt,
    Step,
    Wait,
    When,
)

from .pieces import after, deposed, episode, healed, read_back, write_first

if TYPE_CHECKING:
    from .draw import Draw

BOTH_WAYS: Final = (Shape.ISOLATE_ONE, Shape.LEADER_MUTE, Shape.LEADER_DEAF)


def at_the_lease(draw: Draw) -> When:
    """Return a moment around a lease: soon after a renewal, or a while after some probe."""
    if draw.one_in(3):
        return Wait(draw.span(0, 120))
    return after(EventName.LEASE_GRANTED, by=150, wait=draw.span(0, 110))


def cut_at_the_lease(draw: Draw) -> Episode:
    """Cut the leader off at a moment of its lease, perhaps with a campaign, and read at it."""
    shape = draw.rng.choice(BOTH_WAYS)
    flight = Flight.DROP if draw.one_in(3) else Flight.HOLD
    cut = Step(do=CutAt(ShapedLinks(shape, "leader"), flight), when=at_the_lease(draw), name="cut")
    steps = [write_first(), cut]
    if "leader" in draw.families and draw.one_in(2):
        steps.append(Step(do=CampaignAt((draw.follower(),)), when=Wait(draw.span(0, 90))))
    steps += [*deposed(draw), healed(draw, "cut"), read_back()]
    return episode("cut-at-the-lease", steps)


def pause_at_the_lease(draw: Draw) -> Episode:
    """Freeze the leader at a moment of its lease, often with its peers' words held as well."""
    steps = [
        write_first(),
        reads(draw, ("leader",), after(EventName.ACKED)),
        Step(do=PauseAt(("leader",)), when=at_the_lease(draw), name="freeze"),
    ]
    if not draw.one_in(3):
        hold = CutAt(ShapedLinks(Shape.LEADER_DEAF, "leader"))
        steps.insert(2, Step(do=hold, when=Wait(draw.span(0, 20)), name="cut"))
    steps += [*deposed(draw), Step(do=HealOf("freeze"), when=Wait(draw.span(0, 60)))]
    steps += [reads(draw, ("leader",), Wait()), read_back()]
    return episode("pause-at-the-lease", steps)


def killed_at_the_answer(draw: Draw) -> Episode:
    """Kill nodes the moment a write was answered, with some disks late and perhaps a node behind."""
    victims = draw.rng.choice(
        (("all",), ("leader",), ("leader", draw.follower()), ("followers",), (draw.follower(),))
    )
    steps = []
    if "disk" in draw.families or draw.one_in(2):
        late = draw.rng.choice(("leader", "followers", draw.follower()))
        steps.append(Step(do=SlowSyncAt((late,), draw.span(5, 60))))
    if "partition" in draw.families and draw.one_in(2):
        behind = CutAt(NamedLinks(("leader",), (draw.follower(),)))
        steps.append(Step(do=behind, name="behind"))
    write = msgspec.structs.replace(write_first(), when=Wait(draw.span(5, 30)))
    kill = Step(do=KillAt(victims), when=after(EventName.ACKED, wait=draw.span(0, 4)), name="kill")
    steps += [write, kill]
    if draw.one_in(2):
        steps.append(Step(do=PauseAt((draw.follower(),)), when=Wait(), until=For(draw.span(20, 250))))
    steps.append(Step(do=HealOf("kill"), when=Wait(draw.span(0, 60))))
    steps += [reads(draw, ("all",), Wait(draw.span(100, 250))), read_back()]
    return episode("killed-at-the-answer", steps)


def reads(draw: Draw, target: tuple[str, ...], when: When) -> Step:
    """Return the step that reads at a target a few times."""
    times = draw.rng.randint(1, 4)
    return Step(do=ProbeAt(ProbeKind.READ, target, times, draw.span(1, 40)), when=when)
