"""Each aimed schedule, on cores in virtual time: its mistake is caught, right rules are not blamed."""

from __future__ import annotations

import pytest
from nemesis_virtual import E, Run, world, world_of

from nemesis import AIMED, FAMILIES, aimed, main_job
from nemesis.faults import Campaign
from targets.cluster import ClockMode
from targets.leasekv.policies import POLICIES

SEEDS = (1, 2, 3)
DRAWN = tuple(family for family in FAMILIES if family != "late")
"""Late answers send clients away, and here clients have no links; the simulator's swarm draws them."""


def played(mistake: str, seed: int, *, planted: bool) -> Run:
    run = Run(world_of(mistake, seed, planted=planted), aimed(mistake), seed)
    run.play()
    return run


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", AIMED)
def test_an_aimed_schedule_makes_its_mistake_read_stale(mistake: str, seed: int) -> None:
    run = played(mistake, seed, planted=True)
    assert run.stale()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", AIMED)
def test_the_same_schedule_is_harmless_under_the_right_rules(mistake: str, seed: int) -> None:
    run = played(mistake, seed, planted=False)
    assert not run.stale()
    record = run.machine.record
    assert record.episodes
    assert all(each.complete for each in record.episodes), record.episodes
    assert not any(note.missed for note in run.notes)
    lasting = [each for each in record.faults if not isinstance(each.fault, Campaign)]
    assert all(each.healed_ns is not None for each in lasting)


@pytest.mark.parametrize("clock", [ClockMode.RATE, ClockMode.WALL])
@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("seed", SEEDS)
def test_no_right_policy_reads_stale_in_a_drawn_run(seed: int, policy: str, clock: ClockMode) -> None:
    schedule = main_job(seed, nodes=3, families=DRAWN, elections=30, clock=clock)
    run = Run(world(seed, policy=policy), schedule, seed)
    run.play(60 * E)
    assert not run.stale()
    record = run.machine.record
    assert any(each.complete for each in record.episodes)
    assert sum(each.f == "read" and each.ok for each in run.operations) > 20
    lasting = [each for each in record.faults if not isinstance(each.fault, Campaign)]
    assert all(each.healed_ns is not None for each in lasting)
