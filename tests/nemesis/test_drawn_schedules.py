"""Schedules from a seed: reproducible, readable, shaped."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis import FAMILIES, ScheduleError, dump, main_job, parse
from nemesis.faults import Flight
from nemesis.schedule import BendAt, CutAt, EventName, HealOf, ProbeAt, Rate, RateUnit, Schedule
from targets.cluster import ClockMode

seeds = st.integers(min_value=0, max_value=1 << 40)
families = st.sets(st.sampled_from(FAMILIES), min_size=1).map(sorted)
modes = st.sampled_from(ClockMode)


@settings(max_examples=25, deadline=None)
@given(seeds, families, modes, st.integers(min_value=2, max_value=7))
def test_every_drawn_schedule_can_be_run_and_read_back(
    seed: int, drawn: list[str], mode: ClockMode, nodes: int
) -> None:
    names = [f"n{number}" for number in range(1, nodes + 1)]
    schedule = main_job(seed, nodes=nodes, families=drawn, elections=30, clock=mode)
    assert parse(dump(schedule), nodes=names) == schedule
    assert not any(episode.required for episode in schedule.episodes)


@settings(max_examples=25, deadline=None)
@given(seeds, modes)
def test_clocks_stay_inside_the_declared_bound_and_within_the_mode(seed: int, mode: ClockMode) -> None:
    schedule = main_job(seed, nodes=3, families=FAMILIES, elections=60, clock=mode)
    bends = [step.do for each in schedule.episodes for step in each.steps if isinstance(step.do, BendAt)]
    match mode:
        case ClockMode.NONE:
            assert not bends
        case ClockMode.RATE:
            assert bends
            for bend in bends:
                assert isinstance(bend.rate, Rate)
                assert bend.rate.unit is RateUnit.BOUNDS
                assert abs(bend.rate.amount) <= 1
        case ClockMode.WALL:
            assert bends
            assert all(bend.rate is None for bend in bends)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_a_deposed_leader_is_read_after_the_new_ones_write_and_before_the_heal(seed: int) -> None:
    schedule = main_job(seed, nodes=3, families=FAMILIES, elections=60, clock=ClockMode.WALL)
    for episode in schedule.episodes:
        if episode.name.startswith("aimed-"):
            continue  # drawn from nothing
        events = [getattr(getattr(step.when, "awaited", None), "event", None) for step in episode.steps]
        if EventName.NEW_LEADER not in events:
            continue
        if episode.name == "late-quorum":  # its read comes after the thaw, or would be masked
            continue
        if not any(isinstance(step.do, CutAt) for step in episode.steps):
            assert episode.name == "handed-over", "nobody else gives leadership away"
            continue
        read = events.index(EventName.NEW_LEADER_ACKED)
        probe = episode.steps[read].do
        assert isinstance(probe, ProbeAt)
        assert probe.target == ("leader",)
        cut = next(place for place, step in enumerate(episode.steps) if isinstance(step.do, CutAt))
        assert cut < read
        heals = [step.do for step in episode.steps[read:] if isinstance(step.do, HealOf)]
        assert any(heal.stagger is not None for heal in heals)


def test_cuts_that_depose_keep_what_is_in_flight() -> None:
    schedule = main_job(3, nodes=3, families=("partition",), elections=400)
    flights = [
        step.do.flight for each in schedule.episodes for step in each.steps if isinstance(step.do, CutAt)
    ]
    assert flights.count(Flight.HOLD) > 3 * flights.count(Flight.DROP) > 0


def test_the_main_job_aims_at_every_danger_its_families_allow() -> None:
    def aimed_in(schedule: Schedule) -> set[str]:
        return {each.name for each in schedule.episodes if each.name.startswith("aimed-")}

    three = ("clock", "pause", "partition")
    slow = main_job(1, nodes=3, families=three, elections=20, clock=ClockMode.RATE)
    assert aimed_in(slow) == {
        "aimed-cached-lease-flag",
        "aimed-no-drift-margin",
        "aimed-lease-from-last-ack",
    }
    back = main_job(1, nodes=3, families=three, elections=20, clock=ClockMode.WALL)
    assert "aimed-lease-wall-clock" in aimed_in(back)
    assert aimed_in(main_job(1, nodes=3, families=("crash",), elections=20)) == set()
    assert len(slow.episodes) > len(aimed_in(slow))


def test_equal_seeds_draw_equal_schedules_in_fresh_interpreters() -> None:
    script = (
        "import json, nemesis; from targets.cluster import ClockMode;"
        "print(json.dumps(nemesis.dump(nemesis.main_job(7, nodes=3, families=set(nemesis.FAMILIES),"
        "elections=40, clock=ClockMode.RATE))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": salt},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for salt in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


def test_a_family_that_does_not_exist_and_a_cluster_of_one_are_refused() -> None:
    with pytest.raises(ScheduleError, match="weather"):
        main_job(1, nodes=3, families=("weather",), elections=10)
    with pytest.raises(ScheduleError, match="only one"):
        main_job(1, nodes=1, families=("pause",), elections=10)
    assert main_job(1, nodes=3, families=("clock",), elections=10) == Schedule()
