"""Whole runs in virtual time, as on processes.

`test_determinism` holds them equal to each other, `tests/catalog` to runs on processes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from checker import evidence_lines
from checker.evidence import Booted, ClockAnomaly
from harness.outcome import Outcome
from harness.plan import plan_from
from harness.run.run import run
from harness.run.simulate import Recording, judge_recording, simulate
from harness.run.where import make_simulated
from harness.store.rundir import RunDir
from nemesis.faults import Standing
from targets.cluster import ProcessState
from targets.leasekv.core import Core
from targets.leasekv.mistakes import MISTAKES
from targets.leasekv.ports import Asked, Input, Ready
from targets.sim.guard import Escaped
from targets.sim.heap import Heap
from targets.sim.weather import Weather

if TYPE_CHECKING:
    from pathlib import Path

    from targets.clock import Reading
    from targets.sim.cluster import SimCluster


def recorded(**options: Any) -> Recording:
    return simulate(plan_from(None, {"on": "sim", "rate": 100, "seed": 1, **options}))


def test_the_run_directory_is_that_of_any_run_and_named_after_the_plan(tmp_path: Path) -> None:
    plan = plan_from(None, {"on": "sim", "time": 2.0, "rate": 50, "seed": 3, "faults": "none"})
    directories = [RunDir(run(plan, store_dir=tmp_path / place).directory) for place in ("a", "b")]
    assert len({directory.name for directory in directories}) == 1
    for name in ("plan.yaml", "schedule.yaml", "history.jsonl", "evidence/n1.jsonl"):
        one, other = ((directory.path / name).read_bytes() for directory in directories)
        assert one == other
    assert directories[0].read_verdict()["outcome"] == "not-exercised"
    assert plan_from(directories[0].plan, {}) == plan


def test_evidence_is_well_formed_through_kills_and_bent_clocks() -> None:
    recording = recorded(faults="crash,clock,disk,apply,delay", time=8.0, seed=4)
    boots = 0
    for node, lines in recording.evidence.items():
        data = evidence_lines.header(node) + evidence_lines.encode(lines)
        assert evidence_lines.read(data, node) == tuple(lines)
        boots += sum(isinstance(line.what, Booted) for line in lines)
    assert boots > len(recording.evidence)
    assert judge_recording(recording).outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}


def test_the_main_job_passes_and_exercises_what_it_claims() -> None:
    recording = simulate(plan_from(None, {"on": "sim", "seed": 1, "rate": 200}))
    judged = judge_recording(recording)
    assert judged.outcome is Outcome.PASS, judged.causes
    assert all(judged.exercised.values())


@pytest.mark.parametrize("mistake", [name for name, told in MISTAKES.items() if told.also_off])
def test_a_kept_rule_masks_in_virtual_time_too(mistake: str) -> None:
    judged = judge_recording(recorded(mistake=mistake, keep_rules=MISTAKES[mistake].also_off))
    assert judged.outcome is not Outcome.VIOLATION


def test_a_suspended_leader_notices_by_its_boot_time_and_serves_nothing_from_its_lease() -> None:
    plan = plan_from(None, {"on": "sim", "rate": 200, "seed": 3, "faults": "pause,clock"})
    suspended = msgspec.structs.replace(plan, weather=Weather(suspend_ppm=1_000_000))
    recording = simulate(suspended)
    facts = [line.what for lines in recording.evidence.values() for line in lines]
    gaps = [fact for fact in facts if isinstance(fact, ClockAnomaly) and fact.kind == "boottime-gap"]
    assert len(gaps) > 3
    assert judge_recording(recording).outcome is Outcome.PASS
    # What shows the other half: nothing but that anomaly keeps a suspended leader from serving.
    blind = msgspec.structs.replace(suspended, mistakes=("cached-lease-flag",))
    assert any(
        judge_recording(simulate(msgspec.structs.replace(blind, seed=seed))).outcome is Outcome.VIOLATION
        for seed in range(3)
    )


def simulated() -> tuple[Heap, SimCluster]:
    heap = Heap()
    plan = plan_from(None, {"on": "sim", "seed": 1})
    cluster = make_simulated(plan, heap)
    cluster.start()
    heap.run_until(3 * 10**9)
    return heap, cluster


def test_a_node_whose_log_is_damaged_does_not_start_and_says_where() -> None:
    _, cluster = simulated()
    cluster.kill("n2")
    disk = cluster.look("n2").disk
    disk.at_rest[len(disk.at_rest) // 2] ^= 1
    cluster.restart("n2")
    assert cluster.state("n2") is ProcessState.GONE
    assert "damaged at offset" in cluster.last_words()["n2"]


def test_a_core_that_raises_ends_its_node_and_the_run_tells_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(core: Core, event: Input, reading: Reading) -> Ready:
        if isinstance(event, Asked) and reading.mono_ns > 0:
            raise AssertionError("what is committed stays")
        return step(core, event, reading)

    step = Core.step
    monkeypatch.setattr(Core, "step", broken)
    recording = recorded(time=2.0, faults="none")
    judged = judge_recording(recording)
    assert judged.outcome is Outcome.HARNESS_FAILURE
    assert "ended by itself" in str(judged.reason)
    assert "what is committed stays" in str(judged.reason)


def test_a_judge_that_breaks_leaves_its_traceback_in_the_run_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("harness.run.testimony.Testimony.convict", broken)
    result = run(plan_from(None, {"on": "sim", "time": 1.0, "seed": 1}), store_dir=tmp_path)
    assert (result.outcome, result.reason) == (Outcome.HARNESS_FAILURE, "the rules broke: KeyError('x')")
    assert result.json["notes"][-1] == "where something broke that should not stands in logs/harness.log"
    assert "in broken\n" in (result.directory / "logs/harness.log").read_text()


def test_a_workload_that_breaks_leaves_its_traceback_in_the_run_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("harness.run.generator.Generator.next", broken)
    result = run(plan_from(None, {"on": "sim", "time": 1.0, "seed": 1}), store_dir=tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "in broken\n" in (result.directory / "logs/harness.log").read_text()


def test_what_reaches_for_the_real_world_inside_a_core_is_no_end_of_a_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Core, "step", lambda *_: time.monotonic())
    with pytest.raises(Escaped):
        recorded(time=1.0)


def test_a_run_of_listed_operations_is_not_blamed_for_what_nobody_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    write = "{at_ns: 0, seat: 0, f: write, key: a, node: n1, value: 1}"
    file.write_text(f"{{on: sim, time: 0.2, schedule: [], operations: [{write}]}}", "utf-8")
    assert simulate(plan_from(file, {})).seen.notes == []


def test_every_fault_there_is_can_be_asked_for_and_what_is_refused_is_never_healed() -> None:
    recording = recorded(faults=("full",), time=3.0)
    filled = [each for each in recording.record.faults if each.fault.kind == "fill"]
    assert filled
    assert {(each.standing, each.healed_ns) for each in filled} == {(Standing.SKIPPED, None)}
    assert not [event for event in recording.events if event.f == "fill" and "heal" in str(event.value)]
