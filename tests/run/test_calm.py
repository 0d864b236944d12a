"""Spans in which availability is owed: a minority of the voters accounts for every fault that stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.run.calm import calm
from nemesis.faults import Campaign, ChangeMembers, Cut, Kill, Pause, SlowApply, Standing
from nemesis.machine import InjectionRecord
from nemesis.machine.record import Injected
from targets.cluster import CLIENTS, Link, Roster

if TYPE_CHECKING:
    from nemesis.faults import Fault

LOAD = (1000, 2000)
FIVE = ("n1", "n2", "n3", "n4", "n5")


def spans(
    *faults: tuple[Fault, int, int | None],
    nodes: tuple[str, ...] = FIVE,
    voters: tuple[str, ...] | None = None,
    standing: Standing = Standing.INSTALLED,
) -> list[tuple[int, int]]:
    told = [
        Injected(
            id=number, episode="e", repetition=1, step="s", fault=fault, roles={}, asked_ns=asked,
            standing=standing, healed_ns=healed,
        )
        for number, (fault, asked, healed) in enumerate(faults)
    ]  # fmt: skip
    record = InjectionRecord(faults=tuple(told))
    return list(calm(record, LOAD, nodes=nodes, voters=nodes if voters is None else voters))


def both_ways(one: str, *others: str) -> Cut:
    return Cut(tuple(Link(*ends) for each in others for ends in ((one, each), (each, one))))


def test_without_a_fault_the_whole_load_is_calm() -> None:
    assert spans() == [LOAD]
    assert spans((Campaign(("n1",)), 100, None)) == [LOAD]
    assert spans((Kill(FIVE), 100, 200), standing=Standing.SKIPPED) == [LOAD]


def test_each_beginning_and_end_of_a_fault_begins_another_span() -> None:
    assert spans((Kill(("n1",)), 100, 300)) == [(1000, 1100), (1100, 1300), (1300, 2000)]
    assert spans((SlowApply(("n1",), 9), 100, None)) == [(1000, 1100), (1100, 2000)]


@pytest.mark.parametrize(
    "faults",
    [
        [Kill(("n1", "n2", "n3"))],
        [Pause(("n1",)), Kill(("n2", "n3"))],
        [both_ways("n1", "n2"), both_ways("n3", "n4"), Kill(("n5",))],
        [ChangeMembers(("n1",), Roster(("n1", "n2", "n3")))],
    ],
)
def test_faults_that_concern_a_majority_leave_nobody_in_peace(faults: list[Fault]) -> None:
    assert spans(*((fault, 0, 900) for fault in faults)) == [(1900, 2000)]


@pytest.mark.parametrize(
    "faults",
    [
        [both_ways("n1", "n2", "n3", "n4", "n5"), Pause(("n2",))],
        [both_ways("n1", "n2"), both_ways("n1", "n3"), both_ways("n4", "n5")],
        [Cut((Link(CLIENTS, "n1"),)), Kill(("n2",))],
    ],
)
def test_a_link_is_accounted_for_by_either_end(faults: list[Fault]) -> None:
    assert spans(*((fault, 0, None) for fault in faults)) == [LOAD]


def test_who_does_not_vote_accounts_for_everything_of_its_own() -> None:
    harmed = ((Kill(("n4", "n5", "n1")), 0, None),)
    assert spans(*harmed) == []
    assert spans(*harmed, voters=("n1", "n2", "n3")) == [LOAD]
