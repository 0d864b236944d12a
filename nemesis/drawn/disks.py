"""Episodes of slow work within a node: late applies, late syncs, and a disk without room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from nemesis.schedule import (
    Action,
    Episode,
    EventName,
    FillAt,
    For,
    HealOf,
    KillAt,
    ProbeAt,
    ProbeKind,
    SlowApplyAt,
    SlowSyncAt,
    Step,
    Wait,
)

from .draw import elections
from .pieces import after, episode, read_back, step, write_first

if TYPE_CHECKING:
    from .draw import Draw

STUCK: Final = 10_000
"""A sync that is made late by so many hundredths of an election timeout comes back by the heal alone."""


def late_apply(draw: Draw) -> Episode:
    """Let some nodes apply late while they are read at."""
    return _late(
        draw, SlowApplyAt((draw.rng.choice(("followers", "all")),), draw.span(5, 40)), "late-apply"
    )


def late_sync(draw: Draw) -> Episode:
    """Let some nodes' disks be late."""
    return _late(
        draw, SlowSyncAt((draw.rng.choice(("followers", "leader")),), draw.span(2, 30)), "late-sync"
    )


def stuck_sync(draw: Draw) -> Episode:
    """Keep a sync from coming back while there is more to write, and perhaps kill the node meanwhile."""
    target = draw.rng.choice(("leader", draw.follower(), "followers"))
    steps = [
        write_first(),
        step(SlowSyncAt((target,), elections(STUCK)), after(EventName.ACKED), name="stuck"),
        step(ProbeAt(ProbeKind.WRITE, ("leader",), 3, draw.span(5, 40)), Wait(draw.span(0, 30))),
    ]
    if "crash" in draw.families and draw.one_in(2):
        killed = Step(do=KillAt((target,)), when=Wait(draw.span(5, 60)), until=For(draw.span(5, 60)))
        steps.append(killed)
    steps += [
        step(ProbeAt(ProbeKind.READ, ("all",), 3, draw.span(10, 40)), Wait(draw.span(20, 150))),
        step(HealOf("stuck"), Wait(draw.span(5, 60))),
        read_back(),
    ]
    return episode(f"stuck-sync-{target}", steps)


def full_disk(draw: Draw) -> Episode:
    """Leave a node's disk no room while it is written to; free it and start the node again."""
    target = draw.rng.choice(("leader", draw.follower()))
    steps = [
        write_first(),
        step(FillAt((target,)), after(EventName.ACKED, wait=draw.span(0, 20)), name="full"),
        step(ProbeAt(ProbeKind.WRITE, ("all",), 2, draw.span(3, 20))),
        step(ProbeAt(ProbeKind.READ, ("all",)), Wait(draw.span(20, 150))),
        step(HealOf("full"), Wait(draw.span(10, 100))),
        step(ProbeAt(ProbeKind.READ, ("all",), 4, draw.span(20, 50)), Wait(draw.span(10, 50))),
    ]
    return episode(f"full-disk-{target}", steps)


def _late(draw: Draw, late: Action, name: str) -> Episode:
    steps = [
        step(late, name="late"),
        msgspec.structs.replace(write_first(), when=after(EventName.INSTALLED, wait=draw.span(5, 30))),
        step(ProbeAt(ProbeKind.READ, ("all",), 3, draw.span(3, 20)), after(EventName.ACKED, by=300)),
        step(HealOf("late"), Wait(draw.span(60, 150))),
        read_back(),
    ]
    return episode(name, steps)
