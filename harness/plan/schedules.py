"""The schedules of a plan: drawn from its seed, aimed at its mistakes, or read from its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nemesis import Schedule, aimed, dump, parse
from nemesis.schedule import BendAt, ScheduleError
from targets.cluster import ClockMode

if TYPE_CHECKING:
    from .plan import Plan


def of_plan(plan: Plan) -> Schedule:
    """Read the schedule that is written out in a plan; raise `ScheduleError`."""
    return parse(list(plan.schedule), nodes=plan.node_names)


def aimed_at(plan: Plan) -> Schedule:
    """Return the episodes aimed at each mistake of the plan, one after the other."""
    return Schedule(tuple(episode for name in plan.mistakes for episode in aimed(name).episodes))


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


def dumped(schedule: Schedule) -> tuple[Any, ...]:
    """Return the schedule as a plan holds it."""
    return tuple(dump(schedule))
