"""Two helpers of these tests: trace files, and a run in virtual time.

A trace file holds cases between blank lines: comments that make a claim, commands, ``----`` and what
they must print. ``pytest tests/run --rewrite-run`` writes what the code prints now; commit the
difference only if you understand it.

`VirtualRun` drives a real conductor, with real sessions, generator and nemesis machine, over a heap of
events and a make-believe register whose answers a test can replace.
"""

from __future__ import annotations

import heapq
import itertools
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from checker.events import Served
from harness.run.conductor import Conductor
from harness.run.generator import Generator
from harness.run.ports import AddEvent, Finished, ForProcess, FromSession, PollStatus, Timing, WakeUp
from harness.run.slots import Workload
from nemesis import Machine, Schedule
from nemesis.faults import Standing, Verification
from nemesis.ports import Happened, Heal, Inject, StatusSeen
from targets.clock import MS, SECOND, Reading
from targets.cluster import NodeStatus, Role
from targets.leasekv.messages import Code, Request, Response
from targets.leasekv.speech import LeaseKvSpeech
from targets.request import RequestSession
from targets.session import Answered, Close, Open, Opened, Refused, SessionInput, Transmit

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.events import Event
    from harness.run.ports import ConductorInput, NemesisMachine

TESTDATA = Path(__file__).parent / "testdata"
NODES = ("n1", "n2", "n3")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-run", action="store_true", help="rewrite the traces of tests/run")


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> Callable[[str, Callable[[list[str]], list[str]]], None]:
    """Return a function that runs every case of a file and compares, or rewrites it."""

    def run(name: str, play: Callable[[list[str]], list[str]]) -> None:
        path = TESTDATA / name
        cases = [case.splitlines() for case in path.read_text().strip("\n").split("\n\n")]
        found = []
        for case in cases:
            split = case.index("----") if "----" in case else len(case)
            commands = [line for line in case[:split] if not line.startswith("#")]
            found.append([*case[:split], "----", *play(commands)])
        if request.config.getoption("--rewrite-run"):
            path.write_text("\n\n".join("\n".join(case) for case in found) + "\n")
        assert found == cases

    return run


class Register:
    """The target: linearizable by construction, one value a key. ``leader`` alone takes writes."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.leader: str | None = "n1"
        self.term = 1

    def answer(self, node: str, request: Request) -> Response | None:
        """Return what ``node`` says, None for nothing at all."""
        if node != self.leader and request.op != "read":
            return Response(request.id, code=Code.NOT_LEADER, leader=self.leader)
        told = Served(term=self.term)
        match request.op, request.value:
            case "write", value:
                self.values[request.key] = value
            case "cas", [old, new]:
                if self.values.get(request.key) != old:
                    return Response(request.id, code=Code.MISMATCH)
                self.values[request.key] = new
        return Response(request.id, value=self.values.get(request.key), evidence=told)


class VirtualRun:
    """One run in virtual time. Set its attributes before `go`."""

    def __init__(self, schedule: Schedule | None = None, *, seed: int = 1, **workload: Any) -> None:
        knobs: dict[str, Any] = {"clients": 7, "keys": 2, "rate_per_s": 200, **workload}
        self.register = Register()
        self.answer: Callable[[str, Request], Response | None] = self.register.answer
        self.generator = Generator(Workload(nodes=NODES, **knobs), random.Random(f"{seed}/workload"))
        machine = Machine(schedule or Schedule(), NODES, election_ns=SECOND, seed=seed)
        self.machine: NemesisMachine = machine
        self.timing = Timing(
            load_ns=2 * SECOND,
            ready_max_ns=5 * SECOND,
            heal_max_ns=5 * SECOND,
            settle_min_ns=SECOND // 2,
            settle_max_ns=5 * SECOND,
            drain_max_ns=SECOND,
            final_max_ns=5 * SECOND,
        )
        self.statuses = True
        self.reports = True
        self.refused: set[str] = set()
        self.session: Callable[[], Any] = lambda: RequestSession(
            LeaseKvSpeech(), read_timeout_ns=200 * MS, write_timeout_ns=400 * MS
        )
        self.events: list[Event] = []
        self.orders: list[Inject | Heal] = []
        self.phases: list[str] = []
        self.now_ns = 0
        self.conductor: Conductor
        self._connected: dict[int, tuple[int, str]] = {}
        self._connections = itertools.count()
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._seq = itertools.count()
        self._rng = random.Random(seed)

    def at(self, time_ns: int, event: ConductorInput | Callable[[], None]) -> None:
        """Have something happen later."""
        act = event if callable(event) else (lambda: self.feed(event))
        heapq.heappush(self._heap, (time_ns, next(self._seq), act))

    def go(self, *, until_ns: int = 60 * SECOND) -> Conductor:
        """Run to the end; fail if there is none."""
        self.conductor = Conductor(
            NODES,
            generator=self.generator,
            machine=self.machine,
            session=self.session,
            timing=self.timing,
        )
        self.feed(WakeUp())
        while self.phases[-1] != "done":
            wake_ns = self.conductor.wake_ns
            assert wake_ns is not None
            due_ns = self._heap[0][0] if self._heap else wake_ns + 1
            if due_ns <= wake_ns:
                self.now_ns, _, act = heapq.heappop(self._heap)
                act()
            else:
                self.now_ns = max(self.now_ns, wake_ns)
                self.feed(WakeUp())
            assert self.now_ns < until_ns, "the run does not end"
        return self.conductor

    def feed(self, event: ConductorInput) -> None:  # noqa: C901 - one case an effect
        """Step the conductor and carry its effects out."""
        for effect in self.conductor.step(event, self.now_ns):
            match effect:
                case AddEvent(line):
                    self.events.append(line)
                case ForProcess(process, Open(node)):
                    self._connected[process] = (next(self._connections), node)
                    told: SessionInput = Refused("refused") if node in self.refused else Opened()
                    self._later(process, told)
                case ForProcess(process, Transmit(message)):
                    self._transmit(process, message)
                case ForProcess(process, Close()):
                    self._connected.pop(process, None)
                case PollStatus() if self.statuses:
                    for node in NODES:
                        self.at(self.now_ns + MS, StatusSeen(self._status(node)))
                case Inject(number) | Heal(number):
                    self.orders.append(effect)
                    if self.reports:
                        report = Happened(
                            number, Verification(Standing.INSTALLED), healed=isinstance(effect, Heal)
                        )
                        self.at(self.now_ns + MS, report)
                case Finished():
                    pass
        if not self.phases or self.phases[-1] != self.conductor.phase.value:
            self.phases.append(self.conductor.phase.value)

    def _later(self, process: int, told: SessionInput) -> None:
        connection = self._connected[process]

        def deliver() -> None:
            if self._connected.get(process) == connection:
                self.feed(FromSession(process, told))

        self.at(self.now_ns + self._rng.randrange(1, 3 * MS), deliver)

    def _transmit(self, process: int, request: Request) -> None:
        if process not in self._connected:
            return
        _, node = self._connected[process]
        answer = self.answer(node, request)
        if answer is not None:
            self._later(process, Answered(answer))

    def _status(self, node: str) -> NodeStatus:
        leader = self.register.leader
        return NodeStatus(
            node=node,
            role=Role.LEADER if node == leader else Role.FOLLOWER,
            term=self.register.term,
            leader=leader,
            commit_index=1,
            applied_index=1,
            lease_remaining_ns=SECOND // 2 if node == leader else None,
            own=Reading(self.now_ns, self.now_ns),
            true_ns=self.now_ns,
        )


@pytest.fixture
def virtual_run() -> type[VirtualRun]:
    """Return the class, for tests that cannot import this file."""
    return VirtualRun
