"""Shrunk plans: small, and the same history every time."""

from __future__ import annotations

from statistics import median

import pytest

from harness.campaign.aim import by_role
from harness.campaign.replay import replayed
from harness.campaign.shrink import NotReproduced, Shrunk, shrink
from harness.outcome import Outcome
from harness.plan import PlanError, plan_from
from harness.plan.schedules import of_plan
from harness.run.simulate import history_bytes, simulate
from nemesis.schedule import ProbeAt
from targets.leasekv.mistakes import MISTAKES


def shrunk(mistake: str) -> Shrunk:
    return shrink(plan_from(None, {"on": "sim", "mistake": mistake, "seed": 1, "rate": 100}))


@pytest.fixture(scope="module")
def found() -> Shrunk:
    return shrunk("fallback-stale")


def test_a_failing_run_shrinks_to_a_few_lines_and_comes_back_to_the_byte(found: Shrunk) -> None:
    assert found.faults <= 3
    assert found.operations <= 4
    again = replayed(found.recording.plan, history_bytes(found.recording))
    assert (again.identical, again.outcome) == (True, Outcome.VIOLATION)


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
