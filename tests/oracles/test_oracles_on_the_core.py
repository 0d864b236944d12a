"""The node's real core in virtual time, every node asked for reads all along, under every oracle.

A wrong rule is convicted by the oracles that can see it; the right rules are acquitted under the same
schedules and in storms of random faults, with stamps as loose as a busy host makes them.
"""

from __future__ import annotations

from random import Random

import pytest
from leasekv_storm import Storm
from sim_lab import E, H, Lab
from test_leasekv_mistakes import SCENARIOS

from checker.evidence import ClockAnomaly, EvidenceLine
from checker.oracles.judge import Declared, judge
from checker.oracles.result import OracleOutcome
from checker.timeline import build
from targets.leasekv.messages import Op
from targets.leasekv.mistakes import MISTAKES, Planted
from targets.leasekv.policies import POLICIES

LOOSE_NS = 20_000

CONVICTS = {
    "role-only-read": {"lease-overlap", "promise"},
    "lease-from-last-ack": {"lease-overlap", "promise"},
    "cached-lease-flag": {"lease-overlap", "promise"},
    "lease-wall-clock": {"lease-overlap", "promise"},
    "fallback-stale": set(),
    "no-drift-margin": {"lease-overlap", "promise"},
    "vote-ignores-promise": {"lease-overlap", "promise"},
    "no-applied-wait": {"raft"},
}
"""What each mistake breaks besides the history, at least. Only that shows an answer without a lease."""


def convicted(lab: Lab, drift_ppm: int) -> set[str]:
    """The simulator knows the instant of a line; the stamps given away are some way around it."""
    rng = Random("loose")
    lines = []
    last_ns: dict[str, int] = {}
    for line in lab.lines:
        _, after_ns = line.true_ns
        before_ns = max(after_ns - rng.randint(0, LOOSE_NS), last_ns.get(line.node, 0))
        last_ns[line.node] = after_ns
        lines.append(
            EvidenceLine(line.node, line.own_ns, line.wall_ns, (before_ns, after_ns), line.what)
        )
    owes = POLICIES[lab.config.policy].mode.owes
    declared = Declared(nodes=lab.nodes, drift_ppm=drift_ppm, owes=owes)
    results = {result.name: result for result in judge((), build(lines), declared)}
    slept = any(anomaly.kind == "boottime-gap" for anomaly in lab.facts(ClockAnomaly))
    assert slept or results["clock-audit"].figures["outside"] == 0
    return {name for name in results if results[name].outcome is OracleOutcome.VIOLATION}


def play(mistake: Planted, seed: int, *, planted: bool) -> Lab:
    lab = Lab(
        seed,
        nodes=mistake.nodes,
        policy=mistake.policy,
        mistakes=(mistake.id,) if planted else (),
        rules_off=mistake.also_off,
        drift_ppm=mistake.drift_ppm,
        election_jitter_ns=E // 10,
    )
    old = lab.elect()
    lab.write(old, "x", 1)
    lab.run_for(3 * H)

    def ask_everybody() -> None:
        for node in lab.nodes:
            lab.ask(node, Op.READ)
        lab.after(E // 50, ask_everybody)

    ask_everybody()
    lab.run_for(H)
    SCENARIOS[mistake.id](lab, old)
    lab.run_for(3 * H)
    return lab


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_rule_is_convicted_by_whom_it_concerns(name: str, seed: int) -> None:
    mistake = MISTAKES[name]
    assert convicted(play(mistake, seed, planted=True), mistake.drift_ppm) >= CONVICTS.get(name, set())


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("seed", range(3))
def test_the_right_rule_is_acquitted_under_the_same_schedule(name: str, seed: int) -> None:
    mistake = MISTAKES[name]
    assert convicted(play(mistake, seed, planted=False), mistake.drift_ppm) == set()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_right_rules_are_acquitted_in_a_storm(policy: str) -> None:
    for seed in range(4):
        assert convicted(Storm(seed, policy=policy).run(), 50_000) == set(), seed
