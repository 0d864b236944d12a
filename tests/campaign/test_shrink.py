"""Shrunk plans: small, and the same history every time."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import pytest

from checker.events import EventType
from harness.campaign.aim import by_role
from harness.campaign.explicit import explicit, operations_of
from harness.campaign.replay import replayed
from harness.campaign.shrink import NotReproduced, Shrunk, shrink
from harness.outcome import Outcome
from harness.plan import PlanError, plan_from
from harness.plan.dump import dump
from harness.plan.plan import Plan
from harness.plan.schedules import of_plan
from harness.run.simulate import history_bytes, simulate
from nemesis.schedule import ProbeAt
from targets.clock import SECOND
from targets.leasekv.mistakes import MISTAKES

if TYPE_CHECKING:
    from pathlib import Path


def shrunk(mistake: str) -> Shrunk:
    return shrink(plan_from(None, {"on": "sim", "mistake": mistake, "seed": 1, "rate": 100}))


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def found(told: list[str]) -> Shrunk:
    wanted = {"on": "sim", "mistake": "fallback-stale", "seed": 1, "rate": 100}
    needless = {"workload": "lock", "compact_entries": 50}
    return shrink(plan_from(None, wanted | needless), show=told.append)


def test_a_failing_run_shrinks_to_a_few_lines_and_comes_back_to_the_byte(found: Shrunk) -> None:
    assert found.faults <= 3
    assert found.operations <= 4
    again = replayed(found.recording.plan, history_bytes(found.recording))
    assert (again.identical, again.outcome) == (True, Outcome.VIOLATION)


def test_every_run_of_a_shrinking_is_told_of(found: Shrunk, told: list[str]) -> None:
    assert len(told) == found.tries
    assert told[0].endswith(" nodes")
    assert told[-1].endswith(f" runs: {found.faults} faults, {found.operations} operations")


def test_what_a_failure_does_not_need_of_its_plan_is_left_out(found: Shrunk) -> None:
    plan, usual = found.recording.plan, Plan()
    assert (plan.workload, plan.compact_entries) == (usual.workload, usual.compact_entries)


def test_operations_of_locks_are_written_down_and_happen_again(tmp_path: Path) -> None:
    wanted = {"on": "sim", "workload": "lock", "time": 3.0, "rate": 100, "faults": "none", "seed": 1}
    plan = plan_from(None, wanted | {"allow": ("not-exercised",)})
    drawn = simulate(plan)
    listed = explicit(plan, (), operations_of(drawn), time_ns=3 * SECOND)
    file = tmp_path / "plan.yaml"
    file.write_bytes(dump(listed))
    assert plan_from(file, {}) == listed
    for recording in (drawn, simulate(listed)):
        done = {event.f for event in recording.events if event.type is EventType.OK}
        assert {"acquire", "write", "release", "read"} <= done
    fenced = [each for each in listed.operations or () if each.fenced]
    assert fenced
    assert {each.f for each in fenced} == {"write"}


def test_a_listed_plan_replays_by_role(found: Shrunk) -> None:
    (episode,) = found.recording.record.episodes
    plan = by_role(found.recording.plan, {episode.episode: episode.roles})
    probes = [step.do for step in of_plan(plan).episodes[0].steps if isinstance(step.do, ProbeAt)]
    assert {name for probe in probes for name in probe.target} <= {"leader", "follower-1", "follower-2"}
    assert replayed(plan, None).outcome is Outcome.VIOLATION


def test_a_listed_plan_without_a_record_has_no_roles_to_replay_by(found: Shrunk) -> None:
    with pytest.raises(PlanError, match="who had which role"):
        by_role(found.recording.plan, {})


def test_what_does_not_fail_is_not_shrunk() -> None:
    plan = plan_from(None, {"on": "sim", "seed": 1, "time": 2.0, "rate": 50, "faults": "none"})
    with pytest.raises(NotReproduced, match="not-exercised"):
        shrink(plan)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_over_all_mistakes_the_median_is_three_faults_and_twelve_operations_at_most() -> None:
    every = [shrunk(mistake) for mistake in MISTAKES]
    assert median(found.faults for found in every) <= 3
    assert median(found.operations for found in every) <= 12
    for found in every:
        again = simulate(found.recording.plan)
        assert history_bytes(again) == history_bytes(found.recording)
