"""A saved schedule at roles, at nodes, and back."""

from __future__ import annotations

import pytest

from harness.campaign.aim import by_node, by_role
from harness.plan import plan_from
from nemesis.aimed import aimed
from targets.leasekv.mistakes import MISTAKES

ROLES = {"n1": "follower-1", "n2": "leader", "n3": "follower-2"}

SCHEDULE: list[dict[str, object]] = [
    {
        "episode": "e",
        "steps": [
            {"do": "cut", "shape": "leader-mute"},
            {"do": "cut", "shape": "isolate-one", "target": "follower-2"},
            {"do": "pause", "target": ["leader", "follower-1"]},
            {"do": "kill", "target": "followers"},
            {"do": "read", "target": "new-leader", "after": "new-leader"},
            {"do": "write", "target": "all"},
        ],
    },
    {"episode": "other", "steps": [{"do": "pause", "target": "leader"}]},
]


def plan(schedule: list[dict[str, object]] = SCHEDULE):  # type: ignore[no-untyped-def] # noqa: ANN201
    return plan_from(None, {"on": "sim", "seed": 1, "schedule": schedule})


def targets(schedule: tuple[dict[str, object], ...]) -> list[object]:
    steps = [step for episode in schedule for step in episode["steps"]]  # type: ignore[attr-defined]
    return [step.get("target") for step in steps]


def test_roles_become_the_nodes_that_had_them_when_the_episode_first_began() -> None:
    pinned = by_node(plan(), {"e": ROLES})
    assert targets(pinned.schedule) == [
        "n2",
        "n3",
        ["n2", "n1"],
        ["n1", "n3"],
        "new-leader",
        "all",
        "leader",
    ]


def test_nodes_become_the_roles_they_had() -> None:
    pinned = by_node(plan(), {"e": ROLES})
    again = by_role(pinned, {"e": ROLES})
    assert targets(again.schedule) == [
        "leader",
        "follower-2",
        ["leader", "follower-1"],
        ["follower-1", "follower-2"],
        "new-leader",
        "all",
        "leader",
    ]


def test_what_names_no_node_is_the_same_plan_by_role() -> None:
    asked = plan()
    assert by_role(asked, {"e": ROLES, "other": ROLES}).schedule[1] == asked.schedule[1]
    for name in MISTAKES:
        meant = plan_from(None, {"on": "sim", "seed": 1, "mistake": name})
        bound = {episode.name: dict(ROLES) for episode in aimed(name).episodes}
        assert targets(by_role(meant, bound).schedule) == targets(meant.schedule), name


@pytest.mark.parametrize("aim", [by_role, by_node])
def test_an_episode_of_which_nothing_is_known_stays_as_it_is(aim) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    asked = plan()
    assert targets(aim(asked, {}).schedule) == targets(by_role(asked, {"e": {}, "other": {}}).schedule)
