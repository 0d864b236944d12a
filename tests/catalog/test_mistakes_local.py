"""Every planted mistake on real processes: found if its rule is broken, clean if it is intact or masked.

Each aimed plan is run a second time in the simulator, the same plan but for where it runs, and has to
come to the same there: outcome, kind of violation, and which claims of the policy were exercised. So
what the simulator says of a rule can be believed of processes.

A schedule is reactive, but a host may still be too busy for its window; so a plan has three tries, each
with a seed of its own, to find its mistake and to agree. What has to be clean is clean at every one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

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
IN_MINUTES = {
    "role-only-read",
    "lease-from-last-ack",
    "cached-lease-flag",
    "lease-wall-clock",
    "fallback-stale",
    "no-drift-margin",
    "vote-ignores-promise",
    "no-applied-wait",
    "readindex-late-round",
    "term-keeps-lease",
    "newleader-no-wait",
}
"""`make test` tries these; `make soak` all of them."""
HERE = {name: one for name, one in MISTAKES.items() if Place.LOCAL in one.places}
CLEAN = {Outcome.PASS, Outcome.NOT_EXERCISED}


class Rule(Enum):
    """What became of the rule that a schedule is aimed at."""

    BROKEN = "broken"
    INTACT = "intact"


class Case(NamedTuple):
    """A mistake, and what became of its rule: broken, intact, or masked by the rule of that id."""

    mistake: str
    rule: Rule | str

    def __str__(self) -> str:
        rule = self.rule.value if isinstance(self.rule, Rule) else f"masked-by-{self.rule}"
        return f"{self.mistake}-{rule}"

    def plan(self, seed: int) -> Plan:
        asked = {"mistake": self.mistake, "seed": seed, "time": LOAD_S}
        if isinstance(self.rule, str):
            asked["keep_rules"] = self.rule
        plan = plan_from(None, asked)
        return msgspec.structs.replace(plan, mistakes=()) if self.rule is Rule.INTACT else plan


CASES = [
    pytest.param(Case(name, rule), marks=() if name in IN_MINUTES else pytest.mark.soak)
    for name, one in HERE.items()
    for rule in (*Rule, *one.also_off)
]


class Told(NamedTuple):
    """What a run came to."""

    outcome: Outcome
    kind: str | None
    exercised: frozenset[str]


def run(plan: Plan, place: Path) -> tuple[Told, dict[str, Any]]:
    """Run a plan as a user would; return what it came to and all that it printed."""
    place.mkdir(parents=True)
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
    said = json.loads(line)
    outcome = Outcome(said["outcome"])
    assert done.returncode == outcome.code
    kind = said["violation"] and said["violation"]["kind"]
    return Told(
        outcome, kind, frozenset(name for name, count in said["exercised"].items() if count)
    ), said


def is_right(case: Case, told: Told) -> bool:
    """Tell whether a run came to what it has to come to by itself."""
    if case.rule is Rule.BROKEN:
        return (told.outcome, told.kind) == (Outcome.VIOLATION, MISTAKES[case.mistake].shown_by)
    return told.outcome in CLEAN


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_aimed_plan_comes_to_the_same_on_processes_and_in_the_simulator(
    tmp_path: Path, case: Case
) -> None:
    seen = []
    for seed in range(1, TRIES + 1):
        plan = case.plan(seed)
        simulated, _ = run(msgspec.structs.replace(plan, on="sim"), tmp_path / f"sim-{seed}")
        assert is_right(case, simulated), simulated
        told, said = run(plan, tmp_path / f"local-{seed}")
        assert case.rule is Rule.BROKEN or is_right(case, told), said
        seen.append((seed, told, simulated, said["notes"]))
        if is_right(case, told) and told == simulated:
            assert told.kind != "history" or said["violation"]["operations"]
            assert told.kind is None or said["violation"]["sentence"]
            return
    pytest.fail(f"{case} did not come to what it does in the simulator in {TRIES} tries: {seen}")
