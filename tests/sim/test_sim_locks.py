"""Locks in virtual time: a wrong rule of fencing is found, the right ones are not blamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from harness.campaign.swarm import HERE
from harness.outcome import Outcome
from harness.plan import plan_from
from harness.run.convicted import rules_of
from harness.run.simulate import history_bytes, judge_recording, simulate
from targets.leasekv.mistakes import MISTAKES
from targets.leasekv.policies import POLICIES

if TYPE_CHECKING:
    from harness.plan.plan import Plan
    from harness.run.judge import Judgement

OF_FENCING = [name for name, one in MISTAKES.items() if one.brings.get("workload") == "lock"]
SEEDS = (1, 2, 3)


def aimed_at(mistake: str, seed: int) -> Plan:
    return plan_from(None, {"on": "sim", "mistake": mistake, "seed": seed, "time": 12.0})


def of_fencing(judged: Judgement) -> list[str]:
    (told,) = (told for told in judged.oracles if told.name == "fencing")
    return [finding.sentence for finding in told.findings]


def test_each_of_the_four_rules_has_a_mistake() -> None:
    assert sorted(MISTAKES[name].rule for name in OF_FENCING) == ["K1", "K2", "K3", "K4"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", OF_FENCING)
def test_a_wrong_rule_of_fencing_is_found_and_named(mistake: str, seed: int) -> None:
    judged = judge_recording(simulate(aimed_at(mistake, seed)))
    assert judged.outcome is Outcome.VIOLATION
    assert of_fencing(judged)
    assert rules_of(judged.convictions) == (MISTAKES[mistake].rule,)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", OF_FENCING)
def test_the_same_schedule_is_harmless_under_the_right_rules(mistake: str, seed: int) -> None:
    recording = simulate(msgspec.structs.replace(aimed_at(mistake, seed), mistakes=()))
    judged = judge_recording(recording)
    assert judged.outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}, judged.causes
    assert not of_fencing(judged)
    assert not recording.seen.missed
    assert all(judged.exercised[claim] for claim in ("grants", "expiries", "refused-tokens"))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_lease_reads_and_fenced_writes_go_together_under_faults(policy: str) -> None:
    asked = {"on": "sim", "policy": policy, "workload": "lock", "seed": 4, "time": 20.0}
    judged = judge_recording(simulate(plan_from(None, {**asked, "faults": ",".join(HERE)})))
    assert judged.outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}, judged.causes
    assert judged.exercised["grants"]


def test_equal_plans_with_locks_give_equal_bytes() -> None:
    plan = aimed_at("fence-not-durable", 1)
    assert history_bytes(simulate(plan)) == history_bytes(simulate(plan))
