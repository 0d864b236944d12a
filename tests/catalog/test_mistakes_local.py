"""Every planted mistake on real processes: found with the rule broken, clean with the rule intact.

A schedule is reactive, but a host may still be too busy for its window; so a mistake has three tries,
each with a seed of its own. Clean is clean at the first try.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from harness.outcome import Outcome
from harness.plan import plan_from
from harness.plan.dump import dump
from targets.leasekv.mistakes import MISTAKES
from targets.target import Place

if TYPE_CHECKING:
    from pathlib import Path

    from harness.plan.plan import Plan

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]

TRIES = 3
RUN_S_MAX = 120
LOAD_S = 10.0
HERE = {name: one for name, one in MISTAKES.items() if Place.LOCAL in one.places}
MASKED = [(mistake.id, rule) for mistake in HERE.values() for rule in mistake.also_off]


def run(plan: Plan, place: Path) -> tuple[int, dict[str, Any]]:
    """Run a plan as a user would; return the exit code and what it printed."""
    place.mkdir()
    file = place / "plan.yaml"
    file.write_bytes(dump(plan))
    command = [sys.executable, "-P", "-m", "harness.cli.main", "run", str(file)]
    done = subprocess.run(
        [*command, "--json", "--out", str(place / "run")],
        capture_output=True,
        timeout=RUN_S_MAX,
        check=False,
        cwd=place,
    )
    assert done.stdout, done.stderr.decode()
    (line,) = done.stdout.decode("ascii").splitlines()
    return done.returncode, json.loads(line)


@pytest.mark.parametrize("mistake", HERE)
def test_a_mistake_is_proved_by_the_history(tmp_path: Path, mistake: str) -> None:
    seen = []
    for seed in range(1, TRIES + 1):
        code, said = run(
            plan_from(None, {"mistake": mistake, "seed": seed, "time": LOAD_S}), tmp_path / str(seed)
        )
        seen.append((code, said.get("violation"), said.get("notes")))
        if code == Outcome.VIOLATION.code and said["violation"]["kind"] == "history":
            assert said["violation"]["operations"]
            assert said["violation"]["sentence"]
            return
    pytest.fail(f"{mistake} was not found in {TRIES} tries: {seen}")


@pytest.mark.parametrize("mistake", HERE)
def test_its_schedule_is_clean_with_the_rule_intact(tmp_path: Path, mistake: str) -> None:
    asked = {"mistake": mistake, "seed": 1, "time": LOAD_S, "allow": "not-exercised"}
    plan = plan_from(None, asked)
    code, said = run(msgspec.structs.replace(plan, mistakes=()), tmp_path / "intact")
    assert code == 0, said


@pytest.mark.parametrize(("mistake", "rule"), MASKED)
def test_a_rule_that_masks_a_mistake_keeps_it_clean(tmp_path: Path, mistake: str, rule: str) -> None:
    asked = {"mistake": mistake, "seed": 1, "time": LOAD_S, "allow": "not-exercised"}
    code, said = run(plan_from(None, {**asked, "keep_rules": rule}), tmp_path / "masked")
    assert code == 0, said
