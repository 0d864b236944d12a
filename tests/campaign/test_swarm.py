"""The swarm: valid plans of many kinds; right policies stay clean, mistakes are found."""

from __future__ import annotations

from random import Random

import pytest

from harness.campaign.entries import Drawn, Entry
from harness.campaign.swarm import HERE
from harness.outcome import Outcome
from harness.plan import Plan, plan_from
from harness.plan.dump import dump
from harness.plan.schedules import of_plan
from harness.run.simulate import judge_recording, simulate
from nemesis.drawn.draw import Draw
from nemesis.drawn.storms import stormy
from targets.cluster import ClockMode
from targets.leasekv.mistakes import MISTAKES
from targets.leasekv.policies import POLICIES

FOUND_WITHIN = 100
CLEAN_SEEDS = 1000


def drawn(seed: int, **tested: str) -> Plan:
    return Entry(name="run", expected=Outcome.PASS, options=tested, drawn=Drawn.SWARM).plan(seed)


def test_a_drawn_plan_is_read_back_as_it_was_drawn(tmp_path: object) -> None:
    file = tmp_path / "plan.yaml"  # type: ignore[operator]
    for seed in range(10):
        plan = drawn(seed, mistake="cached-lease-flag")
        file.write_bytes(dump(plan))
        assert plan_from(file, {}) == plan


def test_seeds_differ_in_everything_that_is_drawn() -> None:
    plans = [drawn(seed, policy="lease-renew") for seed in range(60)]
    assert {plan.nodes for plan in plans} == {3, 5, 7}
    for field in (
        "clients",
        "keys",
        "rate",
        "election_ns",
        "drift_ppm",
        "faults",
        "weather",
        "clock",
        "append_max",
    ):
        assert len({getattr(plan, field) for plan in plans}) > 2, field
    episodes = {episode.name for plan in plans for episode in of_plan(plan).episodes}
    told = {"storm", "cut-at-the-lease", "pause-at-the-lease", "other-majority", "disputed"}
    assert told < episodes


@pytest.mark.parametrize("family", HERE)
def test_every_family_can_be_drawn_from_alone(family: str) -> None:
    for seed in range(30):
        draw = Draw(Random(f"{seed}"), 3, frozenset({family}), ClockMode.RATE)
        assert stormy(draw, 20.0).episodes


@pytest.mark.parametrize("policy", POLICIES)
def test_right_policies_are_clean_in_some_drawn_runs(policy: str) -> None:
    clean(policy, range(5000, 5002))


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("policy", POLICIES)
def test_right_policies_are_clean_in_a_thousand_drawn_runs(policy: str) -> None:
    clean(policy, range(CLEAN_SEEDS))


def clean(policy: str, seeds: range) -> None:
    for seed in seeds:
        judged = judge_recording(simulate(drawn(seed, policy=policy)))
        assert judged.outcome is Outcome.PASS, (seed, judged.causes)


@pytest.mark.parametrize("mistake", ["fallback-stale", "no-applied-wait"])
def test_the_swarm_finds_what_it_knows_nothing_of(mistake: str) -> None:
    assert first_seed(mistake, 20) is not None


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_swarm_finds_every_mistake_within_a_hundred_seeds(mistake: str) -> None:
    assert first_seed(mistake, FOUND_WITHIN) is not None


def first_seed(mistake: str, seeds: int) -> int | None:
    for seed in range(seeds):
        if judge_recording(simulate(drawn(seed, mistake=mistake))).outcome is Outcome.VIOLATION:
            return seed
    return None
