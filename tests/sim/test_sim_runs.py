"""Whole runs in virtual time: the same every time, and the same as on processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checker import evidence_lines
from checker.evidence import Booted
from harness.outcome import Outcome
from harness.plan import plan_from
from harness.run.run import run
from harness.run.simulate import Recording, history_bytes, judge_recording, simulate
from harness.store.rundir import RunDir
from targets.leasekv.mistakes import MISTAKES
from targets.target import Place

ROOT = Path(__file__).parents[2]

DIGEST = """
import hashlib, sys
if sys.argv[1:] == ["backwards"]:
    import checker.judging, nemesis.means, harness.report.summary, targets.local.cluster
from harness.plan import plan_from
from harness.run.simulate import history_bytes, simulate
from checker import evidence_lines
recording = simulate(plan_from(None, {"on": "sim", "seed": 5, "time": 3.0, "rate": 100}))
digest = hashlib.sha256(history_bytes(recording))
for lines in recording.evidence.values():
    digest.update(evidence_lines.encode(lines))
print(recording.name, digest.hexdigest())
"""


def recorded(**options: Any) -> Recording:
    return simulate(plan_from(None, {"on": "sim", "rate": 100, "seed": 1, **options}))


def digest(*arguments: str, hash_seed: str, python: str = sys.executable) -> str:
    command = [python, "-c", DIGEST, *arguments]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=50, check=True)
    return ended.stdout


def test_equal_plans_give_equal_bytes_whatever_the_hash_seed_and_the_order_of_imports() -> None:
    first = digest(hash_seed="0")
    assert digest("backwards", hash_seed="77") == first
    recording = recorded(seed=5, time=3.0)
    assert first.split()[0] == recording.name


def test_another_seed_is_another_run() -> None:
    one, other = (history_bytes(recorded(seed=seed, time=2.0)) for seed in (1, 2))
    assert one != other


def test_the_run_directory_is_that_of_any_run_and_named_after_the_plan(tmp_path: Path) -> None:
    plan = plan_from(None, {"on": "sim", "time": 2.0, "rate": 50, "seed": 3, "faults": "none"})
    directories = [RunDir(Path(run(plan, store_dir=tmp_path / place).directory)) for place in ("a", "b")]
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


@pytest.mark.parametrize("mistake", [name for name, one in MISTAKES.items() if Place.SIM in one.places])
def test_an_aimed_schedule_finds_its_mistake_at_the_first_seed_as_on_processes(mistake: str) -> None:
    # tests/catalog holds the same of processes: the same plan but for where it runs.
    judged = judge_recording(recorded(mistake=mistake))
    assert (judged.outcome, judged.kind) == (Outcome.VIOLATION, "history"), judged.causes
    assert not judged.causes.get(Outcome.HARNESS_FAILURE)


@pytest.mark.parametrize("mistake", [name for name, told in MISTAKES.items() if told.also_off])
def test_a_kept_rule_masks_in_virtual_time_too(mistake: str) -> None:
    judged = judge_recording(recorded(mistake=mistake, keep_rules=MISTAKES[mistake].also_off))
    assert judged.outcome is not Outcome.VIOLATION
