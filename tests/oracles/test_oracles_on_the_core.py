"""The node's real core in virtual time, every node asked for reads all along, under every oracle.

A wrong rule is convicted by the oracles that can see it; the right rules are acquitted under the same
schedules and in storms of random faults, with stamps as loose as a busy host makes them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checker.evidence import EvidenceLine
from checker.oracles.judge import Declared, judge
from checker.oracles.result import OracleOutcome
from checker.timeline import build
from targets.leasekv.messages import Op
from targets.leasekv.mistakes import MISTAKES, Planted
from targets.leasekv.policies import POLICIES

sys.path.insert(0, str(Path(__file__).parents[1] / "leasekv"))

from leasekv_storm import Storm
from leasekv_virtual import E, H, World
from test_leasekv_mistakes import SCENARIOS

LOOSE_NS = 20_000

CONVICTS = {
    "role-only-read": {"lease-overlap", "promise"},
    "lease-from-last-ack": {"lease-overlap", "promise"},
    "cached-lease-flag": {"promise"},
    "lease-wall-clock": {"lease-overlap", "promise"},
    "fallback-stale": set(),
    "no-drift-margin": {"lease-overlap", "promise"},
    "vote-ignores-promise": {"lease-overlap", "promise"},
    "no-applied-wait": {"raft"},
}
"""What each mistake breaks besides the history, at least.

Only the history shows an answer without a lease. The schedule of the cached flag asks the old leader at
the very instant of the new one's first acknowledgement, when nobody can have checked at the new one.
"""


def convicted(world: Any, drift_ppm: int) -> set[str]:
    """The world knows the instant of a line; the stamps given away are some way around it."""
    rng = Random("loose")
    lines = []
    last_ns: dict[str, int] = {}
    for line in world.evidence:
        before_ns = max(line.true_ns - rng.randint(0, LOOSE_NS), last_ns.get(line.node, 0))
        last_ns[line.node] = line.true_ns
        stamps = (before_ns, line.true_ns)
        lines.append(EvidenceLine(line.node, line.own.mono_ns, line.own.wall_ns, stamps, line.fact))
    declared = Declared(nodes=tuple(world.nodes), drift_ppm=drift_ppm)
    results = {result.name: result for result in judge((), build(lines), declared)}
    assert results["clock-audit"].figures["outside"] == 0
    return {name for name in results if results[name].outcome is OracleOutcome.VIOLATION}


def play(mistake: Planted, seed: int, *, planted: bool) -> World:
    world = World(
        seed,
        nodes=mistake.nodes,
        policy=mistake.policy,
        mistakes=(mistake.id,) if planted else (),
        rules_off=mistake.also_off,
        drift_ppm=mistake.drift_ppm,
        election_jitter_ns=E // 10,
    )
    old = world.elect()
    world.write(old, "x", 1)
    world.run_for(3 * H)

    def ask_everybody() -> None:
        for node in world.nodes:
            world.ask(node, Op.READ)
        world.at(world.now_ns + E // 50, ask_everybody)

    ask_everybody()
    SCENARIOS[mistake.id](world, old)
    world.run_for(3 * H)
    return world


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_rule_is_convicted_by_whom_it_concerns(name: str, seed: int) -> None:
    mistake = MISTAKES[name]
    assert convicted(play(mistake, seed, planted=True), mistake.drift_ppm) >= CONVICTS.get(name, set())


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("seed", range(3))
def test_the_right_rule_is_acquitted_under_the_same_schedule(name: str, seed: int) -> None:
    mistake = MISTAKES[name]
    assert convicted(play(mistake, seed, planted=False), mistake.drift_ppm) == set()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_right_rules_are_acquitted_in_a_storm(policy: str) -> None:
    for seed in range(4):
        assert convicted(Storm(seed, policy=policy).run(), 50_000) == set(), seed
