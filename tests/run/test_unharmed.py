"""A run in which no fault took hold says nothing of what would happen in danger, and says why not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.plan import plan_from
from harness.plan.plan import ScheduleFrom
from harness.run.conclude import unharmed
from nemesis.faults import Pause, Standing
from nemesis.machine import InjectionRecord
from nemesis.machine.record import Injected

STEPS = ({"do": "pause", "target": "leader", "for": "1E"},)


def injected(standing: Standing, reason: str | None = None) -> Injected:
    return Injected(
        id=1, episode="e", repetition=1, step="0", fault=Pause(("n1",)), roles={}, asked_ns=1,
        standing=standing, reason=reason,
    )  # fmt: skip


TOOK = injected(Standing.INSTALLED)
SKIPPED = injected(Standing.SKIPPED, "no root")


@pytest.mark.parametrize(
    ("changes", "faults", "why"),
    [
        ({"faults": "none"}, (), "no fault was asked for"),
        ({"faults": "pause", "time": 2}, (), "no fault was due within 2 s of load"),
        ({"faults": "pause"}, (SKIPPED,), "the only fault took no hold: no root"),
        ({"faults": "pause"}, (SKIPPED, SKIPPED), "each of 2 faults took no hold: no root"),
        ({"faults": "pause"}, (SKIPPED, TOOK), None),
    ],
)
def test_what_took_hold_is_what_counts(
    changes: dict[str, Any], faults: tuple[Injected, ...], why: str | None
) -> None:
    plan = plan_from(None, {"seed": 1, **changes})
    assert unharmed(plan, InjectionRecord(faults=faults)) == why


def test_a_file_whose_steps_made_nothing_is_told_from_none_asked_for() -> None:
    drawn = plan_from(None, {"seed": 1, "faults": "none"})
    plan = msgspec.structs.replace(drawn, schedule=STEPS, schedule_from=ScheduleFrom.FILE)
    assert unharmed(plan, InjectionRecord()) == "no step of the schedule made a fault"
