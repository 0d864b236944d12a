"""Episodes that freeze nodes or kill them, with what they had in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.schedule import (
    Episode,
    EventName,
    For,
    HealOf,
    KillAt,
    PauseAt,
    ProbeAt,
    ProbeKind,
    Step,
    Wait,
)

from .pieces import after, episode, read_back, step, write_first

if TYPE_CHECKING:
    from .draw import Draw


def short_pauses(draw: Draw) -> Episode:
    """Freeze the leader for moments that begin with a renewal of its lease."""
    steps = [write_first()]
    for _ in range(draw.rng.randint(2, 4)):
        moment = after(EventName.LEASE_GRANTED, by=100, wait=draw.span(0, 12))
        steps.append(Step(do=PauseAt(("leader",)), when=moment, until=For(draw.span(2, 30))))
        steps.append(step(ProbeAt(ProbeKind.READ, ("leader",)), Wait(draw.span(31, 50))))
    return episode("short-pauses", steps)


def frozen(draw: Draw) -> Episode:
    """Freeze a follower, most of the cluster or all of it for a while."""
    target = draw.rng.choice((draw.follower(), "followers", "all", "leader"))
    steps = [
        write_first(),
        Step(do=PauseAt((target,)), when=after(EventName.ACKED), until=For(draw.span(20, 160))),
        step(ProbeAt(ProbeKind.READ, ("all",), 3, draw.span(5, 30)), Wait(draw.span(20, 160))),
        read_back(),
    ]
    return episode(f"frozen-{target}", steps)


def crash(draw: Draw) -> Episode:
    """Kill the leader, a follower, or everybody at once; start them again with their data."""
    target = draw.rng.choice(("leader", "leader", draw.follower(), "all"))
    steps = [
        write_first(),
        Step(do=KillAt((target,)), when=after(EventName.ACKED, wait=draw.span(0, 20)), name="kill"),
        step(ProbeAt(ProbeKind.READ, ("all",)), Wait(draw.span(20, 150))),
        step(HealOf("kill"), Wait(draw.span(0, 50))),
        step(ProbeAt(ProbeKind.READ, ("all",), 4, draw.span(20, 50)), Wait(draw.span(10, 50))),
    ]
    return episode(f"crash-{target}", steps)
