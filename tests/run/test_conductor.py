"""The conductor in virtual time: phases, isolation, interruptions, and what a history must be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from checker import check, formats
from checker.events import NEMESIS, EventType
from checker.verdict import Outcome as CheckOutcome
from harness.run.keys import UNKNOWN_MAX
from harness.run.ports import Broken, Interrupt, NodeGone, NodeStopped, Phase
from nemesis import parse
from nemesis.faults import Bug, Standing, Verification
from nemesis.ports import Completed, Happened, Heal, Inject, Probe
from nemesis.ports import WakeUp as NemesisWakeUp
from targets.clock import MS, SECOND
from targets.leasekv.messages import Code, Response

if TYPE_CHECKING:
    from checker import History
    from checker.events import Event
    from targets.leasekv.messages import Request

Run = Any  # the class VirtualRun of conftest.py

CUT = parse([{"after": "stable", "do": "cut", "shape": "isolate-one", "target": "leader", "for": 0.5}])
KILL = parse([{"after": "stable", "do": "kill", "target": "leader", "for": 0.5}])
PAUSE = parse([{"after": "stable", "do": "pause", "target": "leader", "for": 0.5}])
ALL_PHASES = ["wait-ready", "load", "heal", "settle", "drain", "final", "done"]


def operations(events: list[Event]) -> list[Event]:
    return [event for event in events if event.process != NEMESIS]


def recorded(events: list[Event]) -> History:
    """Read what was recorded, as the checker would from its file: malformed lines are refused."""
    return formats.read(msgspec.json.Encoder().encode_lines(events), name="history")


def test_a_quiet_run_goes_through_its_phases_and_is_linearizable(virtual_run: Run) -> None:
    run = virtual_run()
    conductor = run.go()
    assert run.phases == sorted(run.phases, key=ALL_PHASES.index)
    assert {"wait-ready", "load", "settle", "final", "done"} <= set(run.phases)
    assert conductor.failures == []
    history = recorded(run.events)
    report = check(history)
    assert report.outcome is CheckOutcome.PASS
    assert report.operations > 300


def test_every_key_is_read_at_every_node_in_the_end(virtual_run: Run) -> None:
    run = virtual_run(key_operations_max=20)
    run.go()
    final = [
        event for event in operations(run.events) if event.type is EventType.OK and event.f == "read"
    ]
    last = {(event.key, event.node) for event in final[-3 * len(run.generator.keys) :]}
    assert len(run.generator.keys) > 10
    assert last == {(key, node) for key in run.generator.keys for node in ("n1", "n2", "n3")}


def test_stamps_strictly_increase_and_indices_count(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    run.go()
    assert [event.index for event in run.events] == list(range(len(run.events)))
    stamps = [event.time_ns for event in run.events]
    assert all(early < late for early, late in pairwise(stamps))


SAME_RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from conftest import VirtualRun
from nemesis import parse
import hashlib, msgspec
cut = {"after": "stable", "do": "cut", "shape": "isolate-one", "target": "leader", "for": 0.5}
run = VirtualRun(parse([cut]), seed=7)
run.go()
print(hashlib.sha256(msgspec.json.encode(run.events)).hexdigest())
"""


def test_equal_seeds_give_equal_bytes_whatever_the_hash_seed() -> None:
    here = str(Path(__file__).parent)
    digests = set()
    for seed in ("0", "1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", SAME_RUN, here]
        digests.add(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    assert len(digests) == 1


PROBES = parse(
    [
        {"do": "read", "target": "leader", "times": 2},
        {"wait": 0.2, "do": "read", "target": "all"},
    ]
)


def test_a_probe_goes_out_on_a_connection_that_an_earlier_one_left_open(virtual_run: Run) -> None:
    run = virtual_run(PROBES)
    run.go()
    seats = range(len(run.generator.seats))
    probes = [each for each in operations(run.events) if each.process not in seats]
    assert len([each for each in probes if each.type is EventType.INVOKE]) == 5
    assert len({each.process for each in probes}) == 4
    assert len({(each.process, each.node) for each in probes}) == 4


def test_another_seed_gives_another_run(virtual_run: Run) -> None:
    runs = [virtual_run(seed=seed) for seed in (1, 2)]
    for run in runs:
        run.go()
    assert runs[0].events != runs[1].events


def test_a_cluster_that_never_answers_ends_on_time_with_its_writes_open(virtual_run: Run) -> None:
    run = virtual_run()
    run.answer = lambda _node, _request: None
    conductor = run.go(until_ns=20 * SECOND)
    ends = Counter((event.f, event.type) for event in operations(run.events))
    assert ends["read", EventType.OK] == ends["write", EventType.OK] == 0
    assert ends["write", EventType.INFO] > 0
    assert ends["read", EventType.INFO] == 0
    assert conductor.recorder.open == 0
    assert conductor.unread > 0
    assert conductor.silent == {"n1", "n2", "n3"}


@pytest.mark.parametrize(("refusing", "unseen"), [(("n1", "n2", "n3"), 2), (("n1", "n3"), 0)])
def test_a_key_that_every_node_refuses_to_tell_in_the_end_is_unseen(
    virtual_run: Run, refusing: tuple[str, ...], unseen: int
) -> None:
    run = virtual_run()

    def answer(node: str, request: Request) -> Response | None:
        if run.conductor.phase is Phase.FINAL and node in refusing:
            return Response(request.id, code=Code.NOT_LEADER)
        told: Response | None = run.register.answer(node, request)
        return told

    run.answer = answer
    conductor = run.go()
    assert conductor.unread > 0
    assert not conductor.silent
    assert len(conductor.unseen) == unseen


def test_a_process_is_never_heard_of_after_an_unknown_end(virtual_run: Run) -> None:
    run = virtual_run()
    run.answer = lambda _node, _request: None
    run.go()
    retired: set[int | str] = set()
    for event in operations(run.events):
        assert event.process not in retired
        if event.type is EventType.INFO:
            retired.add(event.process)
    assert len(retired) > 5


def test_a_key_with_too_many_unknown_writes_is_left(virtual_run: Run) -> None:
    run = virtual_run(rate_per_s=0)
    run.timing = msgspec.structs.replace(run.timing, load_ns=20 * SECOND)
    run.answer = lambda _node, _request: None
    run.go(until_ns=60 * SECOND)
    unknown = Counter(event.key for event in operations(run.events) if event.type is EventType.INFO)
    assert len(run.generator.keys) > 4
    in_flight_max = 7  # what was already on its way when the key was left
    assert max(unknown.values()) <= UNKNOWN_MAX + in_flight_max


def test_what_is_refused_before_it_was_sent_has_failed(virtual_run: Run) -> None:
    run = virtual_run()
    run.refused = {"n1", "n2", "n3"}
    run.go()
    ends = Counter(event.type for event in operations(run.events))
    assert ends[EventType.FAIL] > 0
    assert ends[EventType.INFO] == ends[EventType.OK] == 0


def test_an_interruption_heals_and_skips_the_rest(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    run.at(100 * MS, Interrupt("SIGINT"))
    conductor = run.go()
    assert conductor.interrupted == "SIGINT"
    assert "heal" in run.phases
    assert not {"settle", "final"} & set(run.phases)
    assert isinstance(run.orders[0], Inject)
    assert {order.id for order in run.orders if isinstance(order, Heal)} == {run.orders[0].id}
    assert conductor.standing == {}
    assert run.now_ns < 2 * SECOND


def test_an_interruption_before_the_load_ends_at_once(virtual_run: Run) -> None:
    run = virtual_run()
    run.statuses = False
    run.at(10 * MS, Interrupt("SIGTERM"))
    run.go()
    assert run.phases == ["wait-ready", "done"]
    assert operations(run.events) == []


def test_a_cluster_that_is_never_ready_is_a_failure_not_a_verdict(virtual_run: Run) -> None:
    run = virtual_run()
    run.register.leader = None
    conductor = run.go()
    assert ["never became ready" in failure for failure in conductor.failures] == [True]
    assert operations(run.events) == []


def test_a_heal_that_is_never_reported_ends_the_wait_and_is_a_failure(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    run.reports = False
    conductor = run.go()
    assert conductor.failures == ["not everything could be healed: cut"]
    assert run.phases[-1] == "done"
    assert conductor.standing != {}


def test_a_node_that_ends_by_itself_fails_the_run(virtual_run: Run) -> None:
    run = virtual_run()
    run.at(SECOND, NodeGone("n2"))
    conductor = run.go()
    assert conductor.failures == ["n2 ended by itself; its log says why"]
    assert run.phases[-1] == "done"
    assert "final" not in run.phases


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (74, "n2 ended by itself with code 74; its log says why"),
        (0, "n2 ended by itself with code 0; its log says why"),
        (-9, "n2 was killed by somebody else with SIGKILL (no fault of this run did it)"),
        (-60, "n2 was killed by somebody else with signal 60 (no fault of this run did it)"),
    ],
)
def test_how_a_node_ended_is_said_with_what_to_do(virtual_run: Run, code: int, told: str) -> None:
    run = virtual_run()
    for at_ns in (SECOND, SECOND + 20 * MS):
        run.at(at_ns, NodeGone("n2", code))
    (failure,) = run.go().failures
    assert failure.startswith(told)
    assert ("run it again" in failure) is (code < 0)


def test_a_node_that_somebody_else_stopped_is_named_once(virtual_run: Run) -> None:
    run = virtual_run()
    for at_ns in (SECOND, SECOND + 20 * MS, SECOND + 40 * MS):
        run.at(at_ns, NodeStopped("n3"))
    (failure,) = run.go().failures
    assert failure.startswith("n3 was stopped by somebody else (no fault of this run did it): keep")
    assert "final" not in run.phases


def test_a_node_that_the_nemesis_stopped_is_not(virtual_run: Run) -> None:
    run = virtual_run(PAUSE)
    run.at(500 * MS, NodeStopped("n1"))
    conductor = run.go()
    assert isinstance(run.orders[0], Inject)
    assert conductor.failures == []


def test_a_node_that_the_nemesis_killed_does_not(virtual_run: Run) -> None:
    run = virtual_run(KILL)
    run.at(500 * MS, NodeGone("n1"))
    conductor = run.go()
    assert isinstance(run.orders[0], Inject)
    assert conductor.failures == []


def test_a_disk_that_is_full_ends_the_run_cleanly(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    run.at(800 * MS, Broken("no room left"))
    conductor = run.go()
    assert conductor.failures == ["no room left"]
    assert conductor.standing == {}
    assert conductor.recorder.open == 0


def test_a_bug_in_the_means_fails_the_run_and_keeps_its_traceback(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    bug = Bug("KeyError: 'n4'", "Traceback ...")
    run.at(800 * MS, Happened(77, Verification(Standing.UNKNOWN, reason=bug.what, bug=bug)))
    conductor = run.go()
    assert conductor.failures == ["the means of fault broke: KeyError: 'n4'"]
    assert conductor.tracebacks == ["Traceback ..."]
    assert run.phases[-2:] == ["final", "done"]


def test_an_answer_nobody_can_have_meant_fails_the_run_and_not_the_history(virtual_run: Run) -> None:
    run = virtual_run()
    asked = iter(range(1000))

    def answer(node: str, request: Request) -> Response | None:
        if next(asked) == 50:
            return Response(id=999_999)
        told: Response | None = run.register.answer(node, request)
        return told

    run.answer = answer
    conductor = run.go()
    assert len(conductor.failures) == 1
    assert "unexpected response" in conductor.failures[0]
    assert check(recorded(run.events)).outcome is CheckOutcome.PASS


def test_what_goes_wrong_at_every_call_is_told_once_and_counted(virtual_run: Run) -> None:
    run = virtual_run()
    asked = iter(range(1000))

    def answer(node: str, request: Request) -> Response | None:
        number = next(asked)
        if number in range(50, 80):
            return Response(id=999_999 - number)
        told: Response | None = run.register.answer(node, request)
        return told

    run.answer = answer
    failures = run.go().failures
    assert len(failures) == len({failure.split(": ")[0].split(" to ")[1] for failure in failures}) > 1
    counts = [re.search(r" \(and (\d+) more of the kind\)$", failure) for failure in failures]
    assert len(failures) + sum(int(found[1]) for found in counts if found) == 30


class Breaking:
    """A plug-in that works until it does not."""

    def __init__(self, inner: Any, method: str, *, after: int) -> None:
        self._inner, self._method, self._left = inner, method, after

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self._left -= 1
            if self._left < 0:
                raise RuntimeError("a bug in a plug-in")
        return getattr(self._inner, name)


@pytest.mark.parametrize("method", ["invoke", "step"])
def test_a_client_that_raises_leaves_its_seat_and_nothing_else(virtual_run: Run, method: str) -> None:
    run = virtual_run()
    made = run.session
    broken = iter([True])
    run.session = lambda: Breaking(made(), method, after=10) if next(broken, False) else made()
    conductor = run.go()
    assert len(conductor.failures) == 1
    assert "a bug in a plug-in" in conductor.failures[0]
    assert ["__getattr__" in told for told in conductor.tracebacks] == [True]
    assert run.phases[-2:] == ["final", "done"]
    assert check(recorded(run.events)).outcome is CheckOutcome.PASS


def test_a_workload_that_raises_ends_without_hanging(virtual_run: Run) -> None:
    run = virtual_run()
    run.generator = Breaking(run.generator, "next", after=100)
    conductor = run.go()
    assert all("a bug in a plug-in" in failure for failure in conductor.failures)
    assert conductor.failures
    assert all("__getattr__" in told for told in conductor.tracebacks)
    assert len(conductor.tracebacks) == len(conductor.failures)
    recorded(run.events)


def test_a_nemesis_that_raises_has_its_faults_healed(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    inner = run.machine

    seen: list[Inject] = []

    class Counting:
        done = False
        wake_ns = None

        def step(self, event: Any, now_ns: int) -> Any:
            effects = inner.step(event, now_ns)
            seen.extend(effect for effect in effects if isinstance(effect, Inject))
            if seen and not any(isinstance(effect, Inject) for effect in effects):
                raise RuntimeError("a bug in a plug-in")
            return effects

    run.machine = Counting()
    conductor = run.go()
    assert any("the nemesis broke" in failure for failure in conductor.failures)
    assert [type(order) for order in run.orders] == [Inject, Heal]
    assert conductor.standing == {}


def test_the_nemesis_writes_what_it_did_into_the_history(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    run.go()
    lines = [event for event in run.events if event.process == NEMESIS and event.f == "cut"]
    assert [line.value["step"] for line in lines] == ["inject", "injected", "heal", "healed"]
    assert lines[0].value["roles"]["n1"] == "leader"


def test_a_heal_that_failed_is_told_and_its_fault_stays_on_the_books(virtual_run: Run) -> None:
    run = virtual_run(CUT)
    run.reports = False

    def report() -> None:
        for order in run.orders:
            healed = isinstance(order, Heal)
            standing = Standing.UNKNOWN if healed else Standing.INSTALLED
            run.feed(Happened(order.id, Verification(standing, reason="no answer"), healed=healed))
        run.orders.clear()
        run.at(run.now_ns + 10 * MS, report)

    run.at(30 * MS, report)
    conductor = run.go()
    assert conductor.failures == ["not everything could be healed: cut"]
    assert list(conductor.standing.values())
    assert conductor.recovery.healed_ns is None


class Prober:
    """A nemesis that writes at n1, and once more as soon as it hears how that ended."""

    done = True

    def __init__(self) -> None:
        self.wake_ns: int | None = 0
        self.ended: list[EventType] = []

    def step(self, told: Any, _now_ns: int) -> list[Any]:
        match told:
            case NemesisWakeUp() if self.wake_ns is not None:
                self.wake_ns = None
                return [Probe(1, "write", "n1", 0)]
            case Completed(probe=1 | 2):
                self.ended.append(told.type)
                return [Probe(2, "write", "n1", 0)] if told.probe == 1 else []
        return []


def test_a_probe_in_reply_to_an_unknown_end_has_a_process_of_its_own(virtual_run: Run) -> None:
    run = virtual_run()
    run.machine = prober = Prober()
    run.answer = lambda node, request: (
        None if request.op == "write" else run.register.answer(node, request)
    )
    conductor = run.go()
    assert conductor.failures == []
    assert prober.ended == [EventType.INFO, EventType.INFO]


def test_whoever_was_seen_leading_is_remembered_by_term(virtual_run: Run) -> None:
    conductor = virtual_run().go()
    assert conductor.leaders == {1: "n1"}
