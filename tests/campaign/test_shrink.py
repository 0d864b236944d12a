"""Shrunk plans: small, and the same history every time."""

from __future__ import annotations

import random
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from checker.events import EventType
from harness.campaign import shrink as shrinking
from harness.campaign.aim import by_role
from harness.campaign.explicit import explicit, listed_in, operations_of
from harness.campaign.replay import replayed
from harness.campaign.shrink import NotReproduced, Shrunk, shrink
from harness.campaign.swarm import swarm_plan
from harness.campaign.telling import told as told_of
from harness.outcome import Outcome
from harness.plan import PlanError, plan_from
from harness.plan.dump import dump
from harness.plan.plan import Plan
from harness.plan.schedules import of_plan
from harness.run.simulate import history_bytes, judge_recording, simulate
from harness.words import many
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


@pytest.mark.parametrize(("mistake", "seed"), [("no-applied-wait", 1), ("no-drift-margin", 0)])
def test_what_is_minimal_shrinks_to_itself(mistake: str, seed: int, tmp_path: Path) -> None:
    """Once these came to six operations and then three, to five faults and then four."""
    found = shrink(plan_from(None, {"on": "sim", "mistake": mistake, "seed": seed, "rate": 100}))
    assert found.stopped is None
    file = tmp_path / "plan.yaml"
    file.write_bytes(dump(found.recording.plan))
    again = shrink(plan_from(file, {}))
    assert again.recording.plan == found.recording.plan
    assert again.tries > again.faults + again.operations


def test_no_single_fault_or_operation_of_a_minimal_run_can_be_left_out(found: Shrunk) -> None:
    listed = listed_in(found.recording.plan)
    assert listed is not None
    steps, operations, time_ns = listed
    less = [(steps[:at] + steps[at + 1 :], operations) for at in range(len(steps))]
    less += [(steps, operations[:at] + operations[at + 1 :]) for at in range(len(operations))]
    assert len(less) >= 3
    for left_steps, left_operations in less:
        plan = explicit(found.recording.plan, left_steps, left_operations, time_ns=time_ns)
        assert judge_recording(simulate(plan)).outcome is not Outcome.VIOLATION


def test_a_bound_on_the_runs_is_told_where_it_was_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrinking, "TRIES_MAX", 20)
    cut_off = shrunk("fallback-stale")
    assert (cut_off.tries, cut_off.stopped) == (20, "the budget was over")
    assert cut_off.judged.outcome is Outcome.VIOLATION
    assert next(told_of(cut_off, "small")).startswith("the budget was over after 20 runs: ")


def test_every_run_of_a_shrinking_is_told_of(found: Shrunk, told: list[str]) -> None:
    assert len(told) == found.tries
    assert told[0].endswith(" nodes")
    left = f"{many(found.faults, 'fault')}, {many(found.operations, 'operation')}"
    assert told[-1].endswith(f" runs: {left}")


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


def larger(nodes: int) -> Plan:
    """Return a plan of many nodes whose leader is cut off, while one follower stands still.

    The first episode is about the last follower and shows nothing.
    """
    last = f"follower-{nodes - 1}"
    new, old = {"target": "new-leader", "every": "0.1E"}, {"target": "leader", "every": "0.1E"}
    needed = [
        {"do": "cut", "shape": "isolate-one", "target": "leader"},
        {"do": "pause", "target": "follower-1", "for": "0.1E"},
        {"after": "new-leader", "do": "write", "times": 9, **new},
        {"after": "new-leader-acked", "do": "read", "times": 4, **old},
    ]
    schedule = [
        {"episode": "needless", "steps": [{"do": "pause", "target": last, "for": "0.2E"}]},
        {"episode": "needed", "steps": needed},
    ]
    asked = {"nodes": nodes, "clients": nodes + 3, "rate": 50, "time": 8.0, "keys": 1, "seed": 1}
    return plan_from(None, {"on": "sim", "mistake": "role-only-read", "schedule": schedule, **asked})


@pytest.mark.parametrize("nodes", [5, 7])
def test_a_run_of_many_nodes_shrinks_whatever_its_steps_call_them(nodes: int, tmp_path: Path) -> None:
    found = shrink(larger(nodes))
    assert (found.judged.outcome, found.recording.plan.nodes) == (Outcome.VIOLATION, 3)
    assert found.faults <= 3
    assert found.operations <= 4
    file = tmp_path / "plan.yaml"
    file.write_bytes(dump(found.recording.plan))
    assert plan_from(file, {}) == found.recording.plan


@pytest.mark.parametrize("seed", range(5))
def test_only_what_a_plan_file_may_say_is_run(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is tried of whichever plan, and whichever of it shows the failure."""
    rng = random.Random(f"only/{seed}")
    seeds = (swarm_plan(plan_from(None, {"on": "sim", "seed": 100 * seed + n})) for n in range(100))
    plan = next(plan for plan in seeds if plan.nodes > 3)
    file = tmp_path / "plan.yaml"
    answers = iter([True])

    def simulated(asked: Plan) -> Any:
        file.write_bytes(dump(asked))
        assert plan_from(file, {}) == asked
        seen = SimpleNamespace(load_ns=(0, int(asked.time_s * 1e9)))
        return SimpleNamespace(plan=asked, seen=seen, events=[], record=SimpleNamespace(faults=[]))

    def judged(_: Any) -> Any:
        shows = next(answers, rng.random() < 0.3)
        outcome = Outcome.VIOLATION if shows else Outcome.PASS
        return SimpleNamespace(outcome=outcome, kind="history", reason=None, report=None)

    monkeypatch.setattr(shrinking, "simulate", simulated)
    monkeypatch.setattr(shrinking, "judge_recording", judged)
    assert shrink(plan).tries > 10


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_over_all_mistakes_the_median_is_three_faults_and_twelve_operations_at_most() -> None:
    every = [shrunk(mistake) for mistake in MISTAKES]
    assert median(found.faults for found in every) <= 3
    assert median(found.operations for found in every) <= 12
    for found in every:
        again = simulate(found.recording.plan)
        assert history_bytes(again) == history_bytes(found.recording)
