"""Traces of the nemesis machine, as text.

A file holds cases, apart by a line of ``=``. A case is a YAML head (nodes, schedule), a line ``---``,
and a script: what the machine is told, one input a line with its time in seconds (E is one second), and
indented below what it answered until the next input. It is woken whenever it asked for that.

``pytest tests/nemesis --rewrite-nemesis`` writes what the code prints now; commit the difference
only if you understand it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml

from checker.events import EventType
from nemesis import Machine, parse
from nemesis.faults import Cut, Fault, Slow, Standing, Verification
from nemesis.ports import (
    Completed,
    Happened,
    Heal,
    HealNow,
    Inject,
    NemesisEffect,
    NemesisInput,
    Note,
    Probe,
    StatusSeen,
    WakeUp,
)
from targets.clock import SECOND, Reading
from targets.cluster import NodeStatus, Role, Roster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

sys.path.insert(0, str(Path(__file__).parent))  # for the helpers, which start with ``nemesis_``

TESTDATA = Path(__file__).parent / "testdata"
CASES_APART = "\n====\n"
LEASE_NS = 800_000_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-nemesis", action="store_true", help="rewrite the traces of tests/nemesis"
    )


@pytest.fixture
def traced(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that plays every case of a file and compares, or rewrites it."""

    def check(name: str) -> None:
        path = TESTDATA / name
        cases = path.read_text(encoding="utf-8").split(CASES_APART)
        played = CASES_APART.join(play(case) for case in cases) + "\n"
        if request.config.getoption("--rewrite-nemesis", default=False):
            path.write_text(played, encoding="utf-8")
        assert played == path.read_text(encoding="utf-8")

    return check


def play(case: str) -> str:
    """Play one case; return it with what the machine really did."""
    head, script = case.split("\n---\n")
    given = yaml.safe_load(head)
    nodes = given["nodes"]
    schedule = parse(given["schedule"], nodes=nodes)
    machine = Machine(schedule, nodes, election_ns=SECOND, seed=given.get("seed", 1), drift_ppm=50_000)
    lines = [head, "---"]
    for line in script.splitlines():
        if line.startswith("  ") or not line.strip():
            continue
        at, *words = line.split()
        now_ns = round(float(at) * SECOND)
        lines.extend(wakes(machine, now_ns))
        lines.append(line)
        if words[0] == "record":
            lines.extend(recorded(machine))
        for event in inputs(words, nodes):
            lines.extend(told(effect, now_ns) for effect in machine.step(event, now_ns))
    lines.append("  done" if machine.done else "  not done")
    return "\n".join(lines)


def wakes(machine: Machine, until_ns: int) -> Iterator[str]:
    """Wake the machine whenever it asked for it before ``until_ns``."""
    for _ in range(1000):
        due_ns = machine.wake_ns
        if due_ns is None or due_ns >= until_ns or due_ns == 0:
            return
        before = due_ns
        for effect in machine.step(WakeUp(), due_ns):
            yield told(effect, due_ns)
        assert machine.wake_ns != before, "the machine wants to be woken at an instant it has dealt with"
    raise AssertionError("the machine does not come to rest")


def inputs(  # noqa: C901, PLR0912 - one case a line
    words: list[str], nodes: list[str]
) -> Iterator[NemesisInput]:
    """Read one line of the script."""
    match words:
        case ["stable", leader, term]:
            for node in nodes:
                yield StatusSeen(status(node, leader=leader, term=int(term)))
        case ["among", voters, leader, term]:
            members = Roster(tuple(voters.split(",")))
            for node in nodes:
                follows = leader if node in members.voters else "n9"
                seen = status(node, leader=follows, term=int(term))
                yield StatusSeen(msgspec.structs.replace(seen, members=members))
        case ["leads", node, term, *lease]:
            left_ns = round(float(lease[0]) * SECOND) if lease else LEASE_NS
            yield StatusSeen(status(node, leader=node, term=int(term), lease_ns=left_ns))
        case ["follows", node, leader, term, *commit]:
            seen = status(node, leader=leader, term=int(term))
            yield StatusSeen(
                msgspec.structs.replace(seen, commit_index=int(commit[0]) if commit else 10)
            )
        case ["probe", number, f, outcome, node, term, key]:
            yield Completed(f, key, None, EventType(outcome), node, int(term), int(number))
        case ["client", f, outcome, node, term, key]:
            said = None if term == "-" else int(term)
            yield Completed(f, key, None, EventType(outcome), node, said)
        case ["installed", *numbers]:
            for number in numbers:
                yield Happened(int(number), Verification(Standing.INSTALLED, {"seen": True}))
        case ["skipped" | "unknown" as standing, number, *reason]:
            yield Happened(int(number), Verification(Standing(standing), {}, " ".join(reason)))
        case ["refused", number, *reason]:
            said = Verification(Standing.SKIPPED, {}, " ".join(reason), tried=False)
            yield Happened(int(number), said)
        case ["healed", *numbers]:
            for number in numbers:
                yield Happened(int(number), Verification(Standing.INSTALLED), healed=True)
        case ["broken", number, *reason]:
            told = Verification(Standing.INSTALLED, broken=" ".join(reason))
            yield Happened(int(number), told, healed=True)
        case ["unhealed", number, *reason]:
            told = Verification(Standing.UNKNOWN, {}, " ".join(reason))
            yield Happened(int(number), told, healed=True)
        case ["heal-now"]:
            yield HealNow()
        case ["wake"]:
            yield WakeUp()
        case ["record"]:
            pass
        case _:
            raise AssertionError(f"no such line: {' '.join(words)}")


def status(node: str, *, leader: str, term: int, lease_ns: int = LEASE_NS) -> NodeStatus:
    leads = node == leader
    return NodeStatus(
        node=node,
        role=Role.LEADER if leads else Role.FOLLOWER,
        term=term,
        leader=leader,
        commit_index=10,
        applied_index=10,
        lease_remaining_ns=lease_ns if leads and lease_ns else None,
        own=Reading(0, 0),
        true_ns=0,
    )


def told(effect: NemesisEffect, now_ns: int) -> str:
    """Write one effect as a line."""
    at = f"  {now_ns / SECOND:.3f}"
    match effect:
        case Inject(number, fault):
            return f"{at} inject {number}: {named(fault)}"
        case Heal(number, fault):
            return f"{at} heal {number}: {named(fault)}"
        case Probe(number, f, node, key):
            return f"{at} probe {number}: {f} at {node}" + ("" if key is None else f" key={key}")
        case Note(text, missed):
            return f"{at} note{' MISSED' if missed else ''}: {text}"


def named(fault: Fault) -> str:
    """Write a fault in a few words."""
    kind = str(fault.__struct_config__.tag)
    match fault:
        case Cut(links, flight):
            return f"{kind} {flight} " + " ".join(f"{link.source}>{link.target}" for link in links)
        case Slow(links, delay_ns):
            delay = f"{delay_ns / SECOND:g}"
            return f"{kind} {delay} " + " ".join(f"{link.source}>{link.target}" for link in links)
        case _:
            fields: dict[str, Any] = {name: getattr(fault, name) for name in fault.__struct_fields__}
            return f"{kind} " + " ".join(f"{name}={value}" for name, value in fields.items())


def recorded(machine: Machine) -> Iterator[str]:
    """Write the record."""
    for run in machine.record.episodes:
        whole = "complete" if run.complete else "incomplete"
        yield f"  {run.episode} #{run.repetition} {whole} {list(run.trouble)}"
    for fault in machine.record.faults:
        times = [
            None if each is None else each / SECOND for each in (fault.installed_ns, fault.healed_ns)
        ]
        problems = [each for each in (fault.reason, fault.heal_problem) if each is not None]
        lasted = f"{fault.standing} {times[0]}..{times[1]}"
        yield f"  {fault.id} {fault.step}: {named(fault.fault)} {lasted} {problems}"
