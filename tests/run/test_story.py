"""What is told while a run goes on: every phase, fault and change of leader, each once."""

from __future__ import annotations

from typing import Any

import pytest

from checker.events import NEMESIS, Event, EventType
from harness.plan import plan_from
from harness.run.ports import Phase
from harness.run.simulate import simulate
from harness.run.story import Story
from targets.clock import SECOND, Reading
from targets.cluster import NodeStatus, Role

PAUSE = {"id": 3, "step": "inject", "fault": {"kind": "pause", "nodes": ["n1"]}, "roles": {}}
CUT = {"id": 4, "step": "inject", "fault": {"kind": "cut", "shape": "halves"}, "roles": {"n1": "leader"}}


def told(f: str, value: dict[str, Any], *, process: int | str = NEMESIS) -> list[str]:
    said: list[str] = []
    event = Event(index=0, time_ns=2 * SECOND, process=process, type=EventType.INFO, f=f, value=value)
    Story(said.append).line(event)
    return said


def status(node: str, term: int, role: Role) -> NodeStatus:
    return NodeStatus(
        node=node,
        role=role,
        term=term,
        leader=node,
        commit_index=0,
        applied_index=0,
        lease_remaining_ns=None,
        own=Reading(0, 0),
        true_ns=0,
    )


@pytest.mark.parametrize(
    ("f", "value", "wanted"),
    [
        ("pause", PAUSE, "fault 3: pause (n1)"),
        ("cut", CUT, "fault 4: cut halves (n1 leader)"),
        ("cut", {"id": 4, "step": "injected", "standing": "installed"}, None),
        ("cut", {"id": 4, "step": "injected", "standing": "skipped", "reason": "why"}, "skipped: why"),
        ("cut", {"id": 4, "step": "healed", "standing": "installed"}, None),
        ("cut", {"id": 4, "step": "healed", "standing": "unknown", "reason": "why"}, "NOT KNOWN"),
        ("cut", {"id": 4, "step": "heal", "fault": {}}, "fault 4: cut heals"),
        ("note", {"text": "step 2 missed", "missed": True}, "step 2 missed"),
        ("note", {"text": "episode began", "missed": False}, None),
    ],
)
def test_a_fault_has_its_lines(f: str, value: dict[str, Any], wanted: str | None) -> None:
    said = told(f, value)
    assert len(said) == (wanted is not None)
    assert all(line.startswith("  2.00 s  ") and wanted is not None and wanted in line for line in said)


@pytest.mark.parametrize(("standing", "heals"), [("skipped", 0), ("unknown", 1), ("installed", 1)])
def test_what_was_skipped_is_not_said_to_heal(standing: str, heals: int) -> None:
    said: list[str] = []
    story = Story(said.append)
    steps = ({"step": "injected", "standing": standing, "reason": "why"}, {"step": "heal"})
    for told in ({"id": number, **step} for step in steps for number in (3, 4)):
        story.line(
            Event(index=0, time_ns=0, process=NEMESIS, type=EventType.INFO, f="clock", value=told)
        )
    assert sum("clock heals" in line for line in said) == 2 * heals


def links(*names: str) -> dict[str, Any]:
    return {"kind": "cut", "links": [{"source": name[0], "target": name[1]} for name in names]}


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ("cut 1 ab,cb | heal 1 ab | heal 1 cb", ["2: 1"]),
        ("cut 1 ab,cb | heal 1 ab,cb", ["1: 1"]),
        ("cut 1 ab,cb | heal 1 ab | heal 1 ab,cb", ["2: 1"]),
        ("cut 1 ab,cb | cut 2 cb,ca | heal 1 ab | heal 2 cb,ca", ["3: 1", "3: 2"]),
        ("cut 1 ab | cut 2 ab | heal 2 ab", ["2: 1", "2: 2"]),
        ("cut 1 ab,cb | heal 1 ab", []),
    ],
)
def test_a_cut_heals_when_its_last_link_does(steps: str, wanted: list[str]) -> None:
    """And not with the first of them, where they heal one by one."""
    said: list[str] = []
    story = Story(said.append)
    for second, step in enumerate(steps.split(" | ")):
        word, number, names = step.split()
        value = {"id": int(number), "fault": links(*names.split(",")), "roles": {}}
        value["step"] = "inject" if word == "cut" else "heal"
        story.line(
            Event(
                index=0,
                time_ns=second * SECOND,
                process=NEMESIS,
                type=EventType.INFO,
                f="cut",
                value=value,
            )
        )
    heals = [line.split() for line in said if "heals" in line]
    assert [f"{float(at):.0f}: {number.rstrip(':')}" for at, _, _, number, *_ in heals] == wanted


def test_what_clients_do_is_not_told() -> None:
    assert told("pause", PAUSE, process=7) == []


def test_a_phase_and_a_leader_are_told_once_and_an_old_leader_never() -> None:
    said: list[str] = []
    story = Story(said.append)
    for _ in range(2):
        story.phase(Phase.LOAD, SECOND)
        story.status(status("n1", 1, Role.LEADER), SECOND)
    story.status(status("n2", 2, Role.FOLLOWER), SECOND)
    story.status(status("n2", 2, Role.LEADER), SECOND)
    story.status(status("n1", 1, Role.LEADER), SECOND)
    assert [line.split("s  ")[1] for line in said] == ["load", "leader n1, term 1", "leader n2, term 2"]


def test_a_run_with_faults_tells_each_and_the_leaders_between() -> None:
    said: list[str] = []
    asked = {"mistake": "role-only-read", "seed": 3, "time": 4.0, "rate": 50, "on": "sim"}
    recording = simulate(plan_from(None, asked), say=said.append)
    begun = [line for line in said if ": cut isolate-one (" in line]
    assert len(begun) == len(recording.record.faults) >= 1
    assert sum("leader n" in line and ", term" in line for line in said) >= 2
