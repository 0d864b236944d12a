"""The schedules of a plan: drawn from its seed, aimed at its mistakes, or read from its file."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from nemesis import Schedule, aimed, dump, main_job, parse
from nemesis.drawn.families import BENDING
from nemesis.schedule import BendAt, ScheduleError, SlowAt
from targets.cluster import ClockMode

if TYPE_CHECKING:
    from .plan import Plan


def of_plan(plan: Plan) -> Schedule:
    """Read the schedule that is written out in a plan; raise `ScheduleError`."""
    return parse(list(plan.schedule), nodes=plan.node_names, drift_ppm=plan.drift_ppm)


def aimed_at(plan: Plan) -> Schedule:
    """Return the episodes aimed at each mistake of the plan, one after the other."""
    return Schedule(tuple(episode for name in plan.mistakes for episode in aimed(name).episodes))


def drawn(plan: Plan) -> Schedule:
    """Draw the schedule of a bare run: aimed episodes, and random ones between them."""
    if not plan.faults:
        return Schedule()
    return main_job(
        plan.seed,
        nodes=plan.nodes,
        families=plan.faults,
        elections=plan.time_s * 1e9 / plan.election_ns,
        clock=drawn_clock(plan),
    )


def drawn_clock(plan: Plan) -> ClockMode:
    """Return the clock that a drawn schedule bends: one of the two a run, as the seed has it."""
    if BENDING.isdisjoint(plan.faults) or plan.clock is not ClockMode.NONE:
        return plan.clock
    return random.Random(f"{plan.seed}/clock").choice((ClockMode.WALL, ClockMode.RATE))


def clock_mode(schedule: Schedule) -> ClockMode:
    """Return the one clock that a schedule bends; raise `ScheduleError` if it bends both."""
    bends = [
        step.do for episode in schedule.episodes for step in episode.steps if isinstance(step.do, BendAt)
    ]
    modes = {ClockMode.RATE for bend in bends if bend.rate is not None}
    modes |= {ClockMode.WALL for bend in bends if bend.wall is not None}
    if len(modes) > 1:
        raise ScheduleError(
            "schedule", "bends clock rates and sets wall clocks; a run can do one of the two"
        )
    return modes.pop() if modes else ClockMode.NONE


def delays(plan: Plan) -> bool:
    """Tell whether the plan's schedule delays links, which not every kind of link can do."""
    episodes = of_plan(plan).episodes
    return any(isinstance(step.do, SlowAt) for episode in episodes for step in episode.steps)


def dumped(schedule: Schedule) -> tuple[Any, ...]:
    """Return the schedule as a plan holds it."""
    return tuple(dump(schedule))
