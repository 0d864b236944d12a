"""Which run is next, step by step."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.campaign.entries import Entry
from harness.campaign.order import Order
from harness.campaign.row import Job
from harness.outcome import Outcome


def order(*names: str, seeds: Any = range(3), **how: Any) -> Order:
    entries = [Entry(name=name, expected=Outcome.PASS, options={}) for name in names]
    return Order(entries, seeds, **how)


def drawn(told: Order, seconds: dict[str, float], runs: int) -> str:
    """Run one after the other; return what ran, in order."""
    ran: list[str] = []
    while len(ran) < runs and (job := told.next()) is not None:
        ran.append(f"{job.entry.name}{job.seed}")
        told.ended(job.entry.name, seconds.get(job.entry.name, 1.0), violation=False)
    return " ".join(ran)


def test_every_name_has_its_first_seed_before_any_has_its_second() -> None:
    assert drawn(order("a", "b", "c"), {"b": 99.0}, 99) == "a0 b0 c0 a1 b1 c1 a2 b2 c2"


def test_a_budget_is_spread_by_time_once_each_has_run() -> None:
    told = order("slow", "quick", "late", seeds=range(1000), by_time=True)
    ran = drawn(told, {"slow": 10.0, "quick": 1.0, "late": 5.0}, 20)
    assert ran.startswith("slow0 quick0 late0 quick1 quick2")
    assert (ran.count("slow"), ran.count("quick"), ran.count("late")) == (2, 15, 3)


def test_what_is_under_way_counts_as_long_as_such_a_run_took() -> None:
    told = order("slow", "quick", seeds=range(100), by_time=True)
    drawn(told, {"slow": 10.0, "quick": 6.0}, 2)
    names = [job.entry.name for _ in range(4) if (job := told.next()) is not None]
    assert names == ["quick", "slow", "quick", "quick"]


def test_a_name_that_is_shown_is_left_alone() -> None:
    told = order("a", "b", until_violation=True)
    job = told.next()
    assert job is not None
    assert job.first
    told.ended("a", 1.0, violation=True)
    assert drawn(told, {}, 99) == "b0 b1 b2"


def test_only_the_runs_before_a_violation_may_be_the_first() -> None:
    told = order("a")
    told.already("a", 0, 1.0, violation=True)
    job = told.next()
    assert isinstance(job, Job)
    assert (job.seed, job.first) == (1, False)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), unique=True), st.booleans())
def test_whatever_ended_before_each_run_is_made_once(done: list[tuple[str, int]], by_time: bool) -> None:  # noqa: FBT001
    told = order("a", "b", "c", seeds=range(6), by_time=by_time)
    for name, seed in done:
        told.already(name, seed, 1.0, violation=False)
    ran = drawn(told, {}, 99).split()
    every = {f"{name}{seed}" for name in "abc" for seed in range(6)}
    assert len(ran) == len(set(ran))
    assert set(ran) == every - {f"{name}{seed}" for name, seed in done}
