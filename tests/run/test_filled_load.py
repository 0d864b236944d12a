"""The faults of a bare run last as long as its load: a quiet end would be time that tests nothing."""

from __future__ import annotations

import msgspec
import pytest

from harness.plan.plan import Plan, ScheduleFrom
from harness.plan.schedules import drawn, drawn_clock, dumped
from harness.run.simulate import simulate
from targets.target import Place


@pytest.mark.parametrize("seed", [2, 7, 12])
def test_the_end_of_the_load_cuts_the_last_drawn_episode_short(seed: int) -> None:
    plan = Plan(on=Place.SIM, seed=seed, rate=20, schedule_from=ScheduleFrom.SEED)
    plan = msgspec.structs.replace(plan, clock=drawn_clock(plan))
    plan = msgspec.structs.replace(plan, schedule=dumped(drawn(plan)))
    recording = simulate(plan)
    assert plan.time_s == 20
    assert recording.record.episodes[-1].trouble == ("cut short by the end of the load",)
