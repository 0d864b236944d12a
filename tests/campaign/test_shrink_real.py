"""Real runs made small: what is left is what it takes, whatever luck says, and it takes few runs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.campaign.shrink import NotReproduced, Undecided
from harness.campaign.shrink_real import ShrunkReal, Stopped, Try, shrink_real
from harness.plan import is_plan, plan_from
from harness.plan.schedules import of_plan
from harness.store.errors import StoreFull
from nemesis.schedule import BendAt, CutAt, PauseAt, ProbeAt

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.plan.plan import Plan

SCHEDULE: list[dict[str, Any]] = [
    {"episode": "noise", "times": 3, "steps": [{"do": "kill", "target": "follower-1"}]},
    {
        "episode": "it",
        "times": 4,
        "steps": [
            {"do": "write", "target": "leader"},
            {"do": "cut", "shape": "isolate-one", "target": "leader", "name": "cut"},
            {"do": "clock", "target": "leader", "wall": "1E"},
            {"do": "pause", "target": "follower-2"},
            {"do": "read", "target": "leader", "after": "new-leader"},
            {"do": "heal", "of": "cut"},
        ],
    },
    {"episode": "more", "steps": [{"do": "pause", "target": "leader"}]},
]


def plan() -> Plan:
    asked = {"seed": 1, "schedule": SCHEDULE, "time": 20.0, "policy": "lease-renew"}
    return plan_from(None, asked)


class World:
    """Where runs are made: what a plan shows is decided by what is left in it, and by luck."""

    def __init__(
        self, shows: Callable[[Plan], bool], *, share: float = 1.0, runs_max: int = 400
    ) -> None:
        self.kept: set[Path] = set()
        self.runs = 0
        self._shows = shows
        self._share = share
        self._runs_max = runs_max
        self._rng = random.Random(f"world/{share}")

    def attempt(self, asked: Plan) -> Try:
        if self.runs >= self._runs_max:
            raise Stopped("the budget was over")
        assert is_plan(asked)
        self.runs += 1
        name = Path(f"run-{self.runs}")
        self.kept.add(name)
        shown = self._shows(asked) and self._rng.random() < self._share
        return Try(
            kind="history" if shown else None,
            proof_s=2.5 if shown else None,
            directory=name,
            reason="stale" if shown else None,
        )

    def drop(self, tried: Try) -> None:
        self.kept.remove(tried.directory)

    def shrunk(self) -> ShrunkReal:
        return shrink_real(plan(), self.attempt, self.drop)


def takes_a_cut_and_a_read(asked: Plan) -> bool:
    steps = [step.do for episode in of_plan(asked).episodes for step in episode.steps]
    return any(isinstance(do, CutAt) for do in steps) and any(
        isinstance(do, ProbeAt) and do.f.value == "read" for do in steps
    )


@pytest.mark.parametrize("share", [1.0, 0.85, 0.5])
def test_what_it_takes_is_left_and_little_else(share: float) -> None:
    world = World(takes_a_cut_and_a_read, share=share)
    found = world.shrunk()
    assert takes_a_cut_and_a_read(found.plan)
    assert [episode.name for episode in of_plan(found.plan).episodes] == ["it"]
    assert of_plan(found.plan).episodes[0].times == 1
    assert found.steps == 2 if share == 1.0 else 2 <= found.steps <= 4
    assert found.plan.time_s == 3.5
    assert (found.plan.keys, found.plan.rate) == (1, 50)
    assert world.kept == {found.shown.directory}
    assert found.stopped is None
    assert found.tries == world.runs < 400


def test_what_a_later_step_makes_room_for_is_left_out_in_the_next_round() -> None:
    """As long as a clock is bent, the other episode is needed; steps are looked at after episodes."""

    def shows(asked: Plan) -> bool:
        episodes = of_plan(asked).episodes
        bent = any(isinstance(step.do, BendAt) for episode in episodes for step in episode.steps)
        whole = any(episode.name == "more" for episode in episodes)
        return takes_a_cut_and_a_read(asked) and (whole or not bent)

    found = World(shows).shrunk()
    assert [episode.name for episode in of_plan(found.plan).episodes] == ["it"]
    assert found.steps == 2


def test_right_plans_take_three_runs_each_and_wrong_ones_two() -> None:
    world = World(takes_a_cut_and_a_read)
    assert world.shrunk().tries < 70


def test_what_hardly_ever_shows_is_not_taken() -> None:
    chance = random.Random("hardly")

    def mostly_whole(asked: Plan) -> bool:
        whole = len(of_plan(asked).episodes) == 3
        return whole or chance.random() < 0.1

    found = World(mostly_whole).shrunk()
    assert len(of_plan(found.plan).episodes) == 3


def test_what_never_shows_is_not_reproduced_and_leaves_nothing() -> None:
    world = World(lambda _plan: False)
    with pytest.raises(NotReproduced, match=r"on local the plan showed it in 0 of 10"):
        world.shrunk()
    assert (world.runs, world.kept) == (10, set())


def test_a_violation_of_another_kind_is_another_failure() -> None:
    world = World(
        lambda asked: any(isinstance(s.do, PauseAt) for e in of_plan(asked).episodes for s in e.steps)
    )
    kinds = iter(["history"] * 3)

    def attempt(asked: Plan) -> Try:
        tried = world.attempt(asked)
        kind = next(kinds, "lease-overlap") if tried.kind else None
        return Try(kind=kind, proof_s=tried.proof_s, directory=tried.directory, reason=tried.reason)

    found = shrink_real(plan(), attempt, world.drop)
    assert found.shown.kind == "history"
    assert len(of_plan(found.plan).episodes) == 3


@pytest.mark.parametrize(
    "ends", [Stopped("the budget was over"), StoreFull("4 MB free"), KeyboardInterrupt()]
)
def test_an_end_half_way_keeps_the_smallest_plan_until_then(ends: BaseException) -> None:
    world = World(takes_a_cut_and_a_read)

    def attempt(asked: Plan) -> Try:
        if world.runs == 12:
            raise ends
        return world.attempt(asked)

    found = shrink_real(plan(), attempt, world.drop)
    assert found.stopped == (str(ends) or "interrupted")
    assert takes_a_cut_and_a_read(found.plan)
    assert world.kept == {found.shown.directory}


def test_a_budget_that_is_over_before_anything_is_known_reproduces_nothing() -> None:
    world = World(lambda _plan: True, runs_max=2)
    with pytest.raises(Undecided, match="the budget was over when it had been shown in 2 of 2"):
        world.shrunk()
    assert world.kept == set()
