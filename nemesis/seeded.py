"""The schedule of a bare run: aimed episodes, and between them what is drawn from a seed.

Equal arguments give equal schedules. A drawn episode is never *required*: whether the run exercised
what its policy claims is counted in what happened.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import ClockMode

from .aimed import aimed
from .drawn.draw import Draw
from .drawn.families import BENDING, DRAWN
from .drawn.length import filled
from .schedule import Episode, Schedule, ScheduleError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

FAMILIES: Final = tuple(DRAWN)
"""Every family of faults there is something to draw from."""

ELECTIONS_MAX: Final = 100_000.0

FILLING: Final = 2.0
"""How much is drawn for one election timeout of load. On a quick cluster an episode takes little more
than half of what `shortest` says; what is too much is cut short by the end of the load."""


def main_job(
    seed: int,
    *,
    nodes: int,
    families: Collection[str],
    elections: float,
    clock: ClockMode = ClockMode.NONE,
) -> Schedule:
    """Return the aimed episodes these families allow, so that the danger is really there.

    Drawn ones come between and after them, for so many election timeouts at least, and mostly more. The
    aimed ones come early: a short run has them too. ``clock`` is what the run's nodes were armed for;
    without it there are no clock faults.
    """
    draw = _draw(seed, nodes, families, clock)
    draws = _draws(draw)
    episodes: list[Episode] = []
    for episode in _aimed(draw):
        episodes.append(episode)
        episodes.extend(_some(draws, 1))
    return Schedule(tuple(filled(episodes, draws, FILLING * min(elections, ELECTIONS_MAX))))


def _draw(seed: int, nodes: int, families: Collection[str], clock: ClockMode) -> Draw:
    """Return what to draw from; raise `ScheduleError` for what cannot be drawn."""
    for family in families:
        if family not in DRAWN:
            known = ", ".join(DRAWN)
            raise ScheduleError("faults", f"{family!r} is no family of faults; there are {known}")
    if nodes < 2:
        raise ScheduleError("nodes", "faults are made between nodes, and there is only one")
    allowed = frozenset(families)
    if clock is ClockMode.NONE:
        allowed -= BENDING
    return Draw(random.Random(f"{seed}/schedule"), nodes, allowed, clock)


def _draws(draw: Draw) -> Iterator[Episode]:
    """Go through the families in random order, again and again: each has its turn."""
    while draw.families:
        order = [family for family in DRAWN if family in draw.families]
        draw.rng.shuffle(order)
        for family in order:
            yield draw.rng.choice(DRAWN[family].episodes)(draw)


def _some(draws: Iterator[Episode], many: int) -> Iterator[Episode]:
    for _, episode in zip(range(many), draws, strict=False):
        yield episode


def _aimed(draw: Draw) -> Iterator[Episode]:
    """Return the aimed episodes of the families allowed, once each; two nodes replace no leader."""
    if draw.nodes < 3:
        return
    mistakes: list[str] = []
    if {"pause", "partition"} <= draw.families:
        mistakes.append("cached-lease-flag")
    if "clock" in draw.families:
        mistakes.append("no-drift-margin" if draw.clock is ClockMode.RATE else "lease-wall-clock")
    if "partition" in draw.families:
        mistakes.append("lease-from-last-ack")
    if "leader" in draw.families:
        mistakes.append("vote-ignores-promise")
    for mistake in mistakes:
        for episode in aimed(mistake).episodes:
            yield msgspec.structs.replace(episode, name=f"aimed-{episode.name}", times=1, required=False)
