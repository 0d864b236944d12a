"""How often the broken rule is named, of planted mistakes in virtual time; docs/track-record.md has it.

For every mistake its aimed schedule and the swarm, which knows of none; every violation is
judged as a run would. *wrong* is a rule stated for certain that the mistake does not break. Exits
with 1 if a rule is named in fewer than 95 of 100 violations, or a wrong one for certain.

    tests/soak/rules.py                             ten aimed seeds and a hundred of the swarm each
    tests/soak/rules.py --aimed 3 --swarm 0 --only role-only-read
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from checker.conviction import Certainty
from harness.campaign.swarm import swarm_plan
from harness.outcome import Outcome
from harness.plan import plan_from
from harness.run.convicted import rules_of
from harness.run.simulate import judge_recording, simulate
from targets.leasekv.mistakes import MISTAKES

NAMED_SHARE_MIN = 0.95


@dataclass(frozen=True)
class Said:
    """What was said of one violation; ``told`` are the convictions in words."""

    seed: int
    certain: frozenset[str]
    possible: frozenset[str]
    told: tuple[str, ...]


def said_of(mistake: str, seed: int, *, aimed: bool) -> Said | None:
    """Run one seed; None if it shows no violation."""
    if aimed:
        plan = plan_from(None, {"on": "sim", "rate": 100, "seed": seed, "mistake": (mistake,)})
    else:
        plan = swarm_plan(plan_from(None, {"on": "sim", "seed": seed, "mistake": (mistake,)}))
    judged = judge_recording(simulate(plan))
    if judged.outcome is not Outcome.VIOLATION:
        return None
    possible = {
        rule
        for each in judged.convictions
        if each.certainty is Certainty.CONSISTENT
        for rule in each.rules
    }
    told = tuple(map(str, judged.convictions))
    return Said(seed, frozenset(rules_of(judged.convictions)), frozenset(possible), told)


@dataclass
class Score:
    """Violations of one mistake, by what was said of them."""

    violations: int = 0
    named: int = 0
    among: int = 0
    unknown: int = 0
    wrong: int = 0

    def add(self, said: Said, right: frozenset[str]) -> bool:
        """Count one; return whether it is as it should be."""
        self.violations += 1
        self.wrong += bool(said.certain - right)
        self.named += bool(said.certain) and said.certain <= right
        self.among += not said.certain and bool(said.possible & right)
        self.unknown += not said.certain and not said.possible
        return bool(said.certain) and said.certain <= right

    def row(self, name: str, rule: str, seeds: int) -> str:
        """Return a line of the table."""
        counts = f"{self.named} | {self.among} | {self.unknown} | {self.wrong}"
        return f"| {name} | {rule} | {seeds} | {self.violations} | {counts} |"


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--aimed", type=int, default=10, help="seeds of the aimed schedule, a mistake")
    parser.add_argument("--swarm", type=int, default=100, help="seeds of the swarm, a mistake")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--only", action="append", help="a mistake; may be repeated")
    asked = parser.parse_args()
    every = Score()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for aimed, seeds in ((True, asked.aimed), (False, asked.swarm)):
            if not seeds:
                continue
            print(f"\n{'aimed' if aimed else 'swarm'}, seeds 0 to {seeds - 1}:\n")
            print("| mistake | rule | seeds | violations | named | among several | unknown | wrong |")
            print("|---|---|---|---|---|---|---|---|", flush=True)
            for name, mistake in MISTAKES.items():
                if name not in (asked.only or MISTAKES):
                    continue
                score = Score()
                right = mistake.breaks
                for said in pool.map(partial(said_of, name, aimed=aimed), range(seeds)):
                    if said is None:
                        continue
                    every.add(said, right)
                    if not score.add(said, right):
                        print(f"seed {said.seed}: {'; '.join(said.told)}", file=sys.stderr)
                print(score.row(name, mistake.rule, seeds), flush=True)
    print(f"\n{every.named} of {every.violations} named, {every.wrong} wrong")
    enough = every.named >= NAMED_SHARE_MIN * every.violations
    return 0 if enough and not every.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
