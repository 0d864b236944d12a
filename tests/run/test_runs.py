"""Whole runs on a make-believe cluster: real sockets, real signals, no processes."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import pytest

from checker import check, evidence_lines, formats
from checker.evidence import Booted, EvidenceLine
from harness.outcome import Outcome
from harness.plan import plan_from
from harness.report.summary import summary
from harness.report.terminal import plain_lines
from harness.run import run as running
from harness.run.judge import Seen, judge
from harness.run.run import run
from harness.run.stop import UNCHECKED
from harness.store import rundir
from harness.store.errors import StoreFull
from harness.store.history import HistoryWriter
from harness.store.rundir import RunDir
from nemesis import parse
from targets.clock import MS, Reading
from targets.cluster import (
    ClockBend,
    Link,
    LinkState,
    NodeStatus,
    Open,
    Primitive,
    ProcessState,
    Role,
    Roster,
    TargetError,
)
from targets.leasekv.messages import Code, Request, Response
from targets.leasekv.wire import encode, request_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.plan import Plan
    from harness.run.result import RunResult

NODES = ("n1", "n2", "n3")
CUT = [{"after": "stable", "do": "cut", "shape": "isolate-one", "target": "leader", "for": 30}]


class Register(asyncio.Protocol):
    """One node's end of one client connection."""

    def __init__(self, cluster: FakeCluster, node: str) -> None:
        self.cluster, self.node = cluster, node
        self.decoder = request_decoder()
        self.transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for request in self.decoder.feed(data):
            assert isinstance(request, Request)
            answer = self.cluster.answer(self.node, request)
            if isinstance(answer, Response):
                self.transport.write(encode(answer))
            elif answer is not None:
                self.transport.write(answer)


class FakeCluster:
    """A `Cluster` that lives in this process; n1 leads. Tests replace what they want otherwise."""

    def __init__(self) -> None:
        self.nodes = NODES
        self.values: dict[Any, Any] = {}
        self.links: dict[Link, LinkState] = {}
        self.begun = 0
        self.code: int | None = None
        self.stopped = 0
        self.on_start: Callable[[], Any] = lambda: None
        self.servers: dict[str, asyncio.Server] = {}
        self.told: Callable[[str, Request], Response | bytes | None] = self.register

    def answer(self, node: str, request: Request) -> Response | bytes | None:
        return self.told(node, request)

    def register(self, node: str, request: Request) -> Response:
        match request.op, request.value:
            case "read", _:
                return Response(request.id, value=self.values.get(request.key))
            case _ if node != "n1":
                return Response(request.id, code=Code.NOT_LEADER, leader="n1")
            case "cas", [old, new] if self.values.get(request.key) == old:
                self.values[request.key] = new
            case "cas", _:
                return Response(request.id, code=Code.MISMATCH)
            case _, value:
                self.values[request.key] = value
        return Response(request.id)

    def supports(self, primitive: Primitive) -> str | None:
        return None if primitive is Primitive.LINKS else "not here"

    async def start(self) -> None:
        self.begun += 1
        await asyncio.sleep(0)
        waited = self.on_start()
        if waited is not None:
            await waited
        loop = asyncio.get_running_loop()
        for node in NODES:
            made = functools.partial(Register, self, node)
            self.servers[node] = await loop.create_server(made, "127.0.0.1", 0)

    async def stop(self) -> None:
        self.stopped += 1
        for server in self.servers.values():
            server.close()

    def address(self, node: str) -> tuple[str, int]:
        host, port = self.servers[node].sockets[0].getsockname()
        return host, port

    async def status(self, node: str) -> NodeStatus | None:
        return NodeStatus(
            node=node,
            role=Role.LEADER if node == "n1" else Role.FOLLOWER,
            term=1,
            leader="n1",
            commit_index=1,
            applied_index=1,
            lease_remaining_ns=None,
            own=Reading(0, 0),
            true_ns=0,
        )

    def state(self, node: str) -> ProcessState:
        assert node in NODES
        return ProcessState.RUNNING

    async def exit_code(self, node: str) -> int | None:
        assert node in NODES
        return self.code

    def set_link(self, link: Link, state: LinkState) -> None:
        self.links[link] = state

    def link_state(self, link: Link) -> LinkState:
        return self.links.get(link, Open())

    async def pause(self, node: str) -> None:
        raise NotImplementedError(node)

    async def resume(self, node: str) -> None:
        raise NotImplementedError(node)

    async def kill(self, node: str) -> None:
        raise NotImplementedError(node)

    async def restart(self, node: str) -> None:
        raise NotImplementedError(node)

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        raise NotImplementedError(node, bend)

    async def campaign(self, node: str) -> None:
        raise NotImplementedError(node)

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        raise NotImplementedError(node, delay_ns)

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        raise NotImplementedError(node, delay_ns)

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        raise NotImplementedError(node, room_bytes)

    async def suspend(self, node: str) -> None:
        raise NotImplementedError(node)

    async def hand_over(self, node: str, target: str) -> None:
        raise NotImplementedError(node, target)

    async def reconfigure(self, node: str, members: Roster) -> None:
        raise NotImplementedError(node, members)

    async def restore_members(self) -> None:
        raise NotImplementedError

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        raise NotImplementedError(node, heard)


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def plan(**changes: Any) -> Plan:
    short = {"settle_ns": 50 * MS, "read_timeout_ns": 100 * MS, "write_timeout_ns": 200 * MS}
    schedule = changes.pop("schedule", None)
    made = plan_from(None, {"seed": 1, "faults": "none", "time": 0.4, **short, **changes})
    if schedule is None:
        return made
    parse(schedule)
    return msgspec.structs.replace(made, schedule=tuple(schedule))


def go(cluster: FakeCluster, plan: Plan, tmp_path: Path, said: list[str] | None = None) -> RunResult:
    story = said if said is not None else []

    def made(_plan: Plan, directory: RunDir) -> FakeCluster:
        for node in NODES:
            booted = EvidenceLine(node, 0, 0, (0, 1), Booted(boot=1, term=1))
            (directory.evidence / f"{node}.jsonl").write_bytes(
                evidence_lines.header(node) + evidence_lines.encode([booted])
            )
        return cluster

    return run(plan, store_dir=tmp_path / "runs", cluster_of=made, say=story.append)


def counted(result: RunResult) -> Mapping[str, Mapping[str, int]]:
    assert result.view.operations is not None
    return result.view.operations


def shown_of(result: RunResult) -> str:
    return "\n".join(plain_lines(summary(result.view)))


def signal_when(story: list[str], word: str, *numbers: signal.Signals) -> Callable[[str], None]:
    """Return a listener that signals this process, as a person would, once a phase is told."""

    def say(line: str) -> None:
        story.append(line)
        if line.endswith(word):
            for number in numbers:
                os.kill(os.getpid(), number)

    return say


def test_a_run_ends_with_files_and_a_verdict(cluster: FakeCluster, tmp_path: Path) -> None:
    result = go(cluster, plan(), tmp_path)
    (directory,) = (tmp_path / "runs").iterdir()
    names = {path.name for path in directory.iterdir()}
    files = {"plan.yaml", "schedule.yaml", "history.jsonl", "verdict.json", "environment.json"}
    assert names == {*files, "junit.xml", "evidence", "logs"}
    assert result.outcome is Outcome.NOT_EXERCISED  # no evidence but that of boots
    assert result.json["violation"] is None
    assert counted(result)["read"]["ok"] > 20
    assert result.json["replay"] == f"lantern replay {directory}"
    assert plan_from(directory / "plan.yaml", {}) == plan()
    assert cluster.stopped == 1
    history = formats.read((directory / "history.jsonl").read_bytes(), name="h")
    assert history.header is not None
    assert history.header.run == directory.name


def test_a_log_that_grows_during_a_run_is_cut_while_the_node_writes_it(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rundir, "LOG_MAX_BYTES", 10_000)
    monkeypatch.setattr(running, "CAP_LOGS_S", 0.01)
    log_bytes = []

    async def told() -> None:
        (directory,) = (tmp_path / "runs").iterdir()
        with (directory / "logs/n1.log").open("ab", buffering=0) as log:
            log.write(b"x" * 100_000)
            for _ in range(1000):
                if os.fstat(log.fileno()).st_size <= 10_000:
                    break
                await asyncio.sleep(0.01)
            log.write(b"the end\n")
            log_bytes.append(os.fstat(log.fileno()).st_size)

    cluster.on_start = told
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.NOT_EXERCISED, "as it would be without"
    (log,) = (tmp_path / "runs").glob("*/logs/n1.log")
    assert log_bytes[0] == len(log.read_bytes()) <= 10_000
    assert log.read_bytes().endswith(b"the end\n")


def test_a_stale_answer_is_a_violation_with_its_proof(cluster: FakeCluster, tmp_path: Path) -> None:
    def stale(node: str, request: Request) -> Response:
        answer = cluster.register(node, request)
        return (
            msgspec.structs.replace(answer, value=None)
            if request.op == "read" and node == "n3"
            else answer
        )

    cluster.told = stale
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.VIOLATION
    assert result.view.proof is not None
    assert result.view.proof.kind == "history"
    assert result.json["violation"]["operations"]


def test_a_target_that_cannot_be_set_up_is_a_harness_failure(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    async def fail() -> None:
        raise TargetError("n2: port 1 is in use\n  more of the log")

    cluster.on_start = fail
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert result.reason == "n2: port 1 is in use"
    assert "  more of the log" in result.view.notes
    assert cluster.stopped == 1
    assert result.json["exercised"] is None  # nothing ran that could be counted
    assert "claims nothing" not in shown_of(result)


class FoundCluster(FakeCluster):
    known_as: ClassVar = {"n1": "birch", "n2": "maple", "n3": "walnut"}


def test_who_is_who_in_a_cluster_that_was_found_is_told_and_kept(tmp_path: Path) -> None:
    story: list[str] = []
    result = go(FoundCluster(), plan(), tmp_path, story)
    known = "n1 is birch, n2 is maple, n3 is walnut"
    assert story[1:3] == ["looking for 3 nodes", known]
    assert known in result.json["notes"]
    assert f"  {known}" in shown_of(result)


@pytest.mark.parametrize(
    "raised",
    [
        TargetError("the compose file has no services"),
        FileNotFoundError(2, "No such file", "docker-compose.yml"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    ],
)
def test_a_cluster_that_cannot_be_made_of_our_files_is_a_sentence(
    tmp_path: Path, raised: Exception
) -> None:
    def cluster_of(*_: object) -> FakeCluster:
        raise raised

    result = run(plan(), store_dir=tmp_path, cluster_of=cluster_of)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert result.reason == f"the cluster cannot be made ready: {raised}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_load_heals_and_checks(
    cluster: FakeCluster, tmp_path: Path, number: signal.Signals
) -> None:
    handlers = signal.getsignal(number)
    story: list[str] = []
    began_s = time.monotonic()
    result = run(
        plan(time=60.0, schedule=CUT),
        store_dir=tmp_path,
        cluster_of=lambda *_: cluster,
        say=signal_when(story, "load", number),
    )
    assert result.outcome is Outcome.INTERRUPTED
    assert result.reason == number.name
    assert time.monotonic() - began_s < 20
    assert result.view.operations or result.json["operations"] == 0
    assert all(state == Open() for state in cluster.links.values())
    assert cluster.stopped == 1
    assert signal.getsignal(number) == handlers
    assert "checking" in story


def test_a_signal_while_faults_are_in_force_heals_them(cluster: FakeCluster, tmp_path: Path) -> None:
    real = cluster.set_link
    signalled: list[Link] = []

    def set_link(link: Link, state: LinkState) -> None:
        real(link, state)
        if not signalled:
            signalled.append(link)
            os.kill(os.getpid(), signal.SIGINT)

    cluster.set_link = set_link  # type: ignore[method-assign]
    result = go(cluster, plan(time=60.0, schedule=CUT), tmp_path)
    assert result.outcome is Outcome.INTERRUPTED
    assert len(cluster.links) == 4
    assert all(state == Open() for state in cluster.links.values())


def test_a_second_signal_heals_and_skips_the_rest(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.told = lambda _node, _request: None
    story: list[str] = []
    real = cluster.set_link
    signalled: list[Link] = []

    def set_link(link: Link, state: LinkState) -> None:
        real(link, state)
        if not signalled:
            signalled.append(link)
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    cluster.set_link = set_link  # type: ignore[method-assign]
    result = go(cluster, plan(time=60.0, schedule=CUT), tmp_path, story)
    assert result.outcome is Outcome.INTERRUPTED
    assert "checking" not in story
    assert result.json["operations"] is None  # nobody looked
    assert result.json["exercised"] is None
    shown = shown_of(result)
    assert "nothing was checked, as asked" in shown
    assert "0 ok" not in shown
    assert "claims nothing" not in shown
    assert all(state == Open() for state in cluster.links.values())
    assert cluster.stopped == 1


def test_a_signal_while_the_cluster_starts_stops_it(cluster: FakeCluster, tmp_path: Path) -> None:
    async def never() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)

    cluster.on_start = never
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.INTERRUPTED
    assert cluster.stopped == 1


def test_a_full_disk_heals_and_judges_what_was_written(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushes = []
    real = HistoryWriter.flush

    def flush(self: HistoryWriter) -> None:
        flushes.append(self)
        if len(flushes) == 30:
            self.broken = StoreFull("history.jsonl: No space left on device")
            raise self.broken
        real(self)

    monkeypatch.setattr(HistoryWriter, "flush", flush)
    result = go(cluster, plan(time=60.0, schedule=CUT), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "No space left" in str(result.reason)
    assert result.json["operations"] > 0
    assert all(state == Open() for state in cluster.links.values())


def test_a_full_disk_does_not_hide_a_violation(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.told = lambda node, request: (
        Response(request.id, value=12345) if request.op == "read" else cluster.register(node, request)
    )
    real = HistoryWriter.close

    def close(self: HistoryWriter) -> None:
        real(self)
        self.broken = StoreFull("history.jsonl: No space left on device")

    monkeypatch.setattr(HistoryWriter, "close", close)
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.VIOLATION
    assert any("No space left" in note for note in result.view.notes)


def test_bytes_that_are_no_answer_fail_the_run(cluster: FakeCluster, tmp_path: Path) -> None:
    asked = iter(range(10_000))
    cluster.told = lambda node, request: (
        b"\x00\x00\x00\x01\xc1" if next(asked) == 20 else cluster.register(node, request)
    )
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "unexpected response" in str(result.reason)


def test_a_call_that_never_returns_ends_with_its_deadline(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.told = lambda _node, _request: None
    began_s = time.monotonic()
    made = plan(election_ns=100 * MS, heartbeat_ns=10 * MS, margin_ns=0)
    result = go(cluster, made, tmp_path)
    assert time.monotonic() - began_s < 15
    assert counted(result)["write"].keys() == {"info"}
    assert counted(result)["read"].keys() == {"fail"}
    assert result.outcome is not Outcome.PASS


def test_a_driver_that_breaks_is_a_failure_and_no_hang(cluster: FakeCluster, tmp_path: Path) -> None:
    async def broken(node: str) -> NodeStatus | None:
        raise RuntimeError(f"a bug at {node}")

    cluster.status = broken  # type: ignore[method-assign]
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "a bug at n1" in str(result.reason)
    assert cluster.stopped == 1


def test_a_cluster_that_cannot_be_stopped_is_said(cluster: FakeCluster, tmp_path: Path) -> None:
    stop = cluster.stop

    async def broken() -> None:
        await stop()
        raise RuntimeError("will not stop")

    cluster.stop = broken  # type: ignore[method-assign]
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "will not stop" in str(result.reason)
    assert counted(result)["read"]["ok"] > 0


def test_a_stop_that_fails_too_comes_after_why_the_start_did(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    async def fail() -> None:
        error = TargetError("n2: port 1 is in use")
        error.add_note("a container is left")
        raise error

    async def broken() -> None:
        raise TargetError("n1 does not die")

    cluster.on_start = fail
    cluster.stop = broken  # type: ignore[method-assign]
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert result.reason == "n2: port 1 is in use"
    assert "a container is left" in result.view.notes
    said = (result.directory / "verdict.json").read_text()
    assert "n1 does not die" in said


@pytest.mark.parametrize("phase", ["nodes", "load", "done", "checking"])
def test_no_signal_is_lost_between_two_phases(cluster: FakeCluster, tmp_path: Path, phase: str) -> None:
    story: list[str] = []
    result = run(
        plan(),
        store_dir=tmp_path / "runs",
        cluster_of=lambda *_: cluster,
        say=signal_when(story, phase, signal.SIGINT),
    )
    assert result.outcome is Outcome.INTERRUPTED
    assert "SIGINT" in str(result.reason)


def test_a_signal_while_the_cluster_stops_is_no_pass(cluster: FakeCluster, tmp_path: Path) -> None:
    real = cluster.stop

    async def stop() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await real()

    cluster.stop = stop  # type: ignore[method-assign]
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.INTERRUPTED
    assert result.reason == "SIGTERM"
    assert result.json["exercised"] is not None  # one that came during the load leaves it checked, too


def test_a_signal_while_checking_gives_the_check_up(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)  # the first only asks the check to end by itself
        raise AssertionError("nobody listened")

    monkeypatch.setattr("harness.run.judge.check", endless)
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.INTERRUPTED
    assert result.reason == "SIGINT while checking"
    # What was read is told, and what nobody looked at is not called nothing.
    assert result.json["operations"] > 20
    assert result.json["exercised"] is None
    assert counted(result)["read"]["ok"] > 20
    shown = shown_of(result)
    assert "claims nothing" not in shown
    assert "not counted" in shown
    assert "not checked" in shown


def stale_at_n3(cluster: FakeCluster) -> Callable[[str, Request], Response]:
    def told(node: str, request: Request) -> Response:
        answer = cluster.register(node, request)
        stale = request.op == "read" and node == "n3"
        return msgspec.structs.replace(answer, value=None) if stale else answer

    return told


def test_a_check_in_a_hurry_ends_with_what_it_has_proved(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.told = stale_at_n3(cluster)
    real = check

    def proves_then_is_hurried(*arguments: Any, **how: Any) -> Any:
        report = real(*arguments, **how)
        os.kill(os.getpid(), signal.SIGINT)
        assert how["budget"].clock() == float("inf")
        return report

    monkeypatch.setattr("harness.run.judge.check", proves_then_is_hurried)
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.VIOLATION
    assert result.view.proof is not None
    assert any("SIGINT while checking" in note for note in result.view.notes)


def test_a_check_that_is_hurried_before_it_proved_anything_is_interrupted(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = check

    def hurried(*arguments: Any, **how: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments, **how)

    monkeypatch.setattr("harness.run.judge.check", hurried)
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.INTERRUPTED
    assert not any("time limit" in note for note in result.view.notes)


@pytest.mark.parametrize("times", [1, 3])
def test_a_signal_while_the_verdict_is_written_loses_nothing(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    cluster.told = stale_at_n3(cluster)
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        if "verdict" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "fsync", fsync)
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.VIOLATION
    (directory,) = (tmp_path / "runs").iterdir()
    assert msgspec.json.decode((directory / "verdict.json").read_bytes())["outcome"] == "violation"
    assert not list(directory.glob(".*"))


def test_a_verdict_that_cannot_be_written_is_part_of_the_outcome(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFull("verdict.json: No space left on device")

    monkeypatch.setattr("harness.store.rundir.RunDir.write_verdict", full)
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "No space left" in str(result.reason)


SHORT = {"seed": 1, "faults": "none", "time": 0.5, "on": "sim", "allow": "not-exercised"}


def test_an_interrupted_simulation_heals_and_keeps_and_checks_what_there_is(tmp_path: Path) -> None:
    story: list[str] = []
    made = plan_from(None, {**SHORT, "time": 30.0, "faults": "pause", "rate": 50})
    say = signal_when(story, " leader)", signal.SIGTERM)
    result = run(made, store_dir=tmp_path / "runs", say=say)
    assert (result.outcome, result.reason) == (Outcome.INTERRUPTED, "SIGTERM")
    assert any("pause heals" in line for line in story)
    assert result.json["keys"]
    history = RunDir(result.directory).read_history()
    assert history.count(b"\n") > 10


def test_a_simulation_interrupted_twice_keeps_its_files_and_checks_nothing(tmp_path: Path) -> None:
    story: list[str] = []

    def twice(line: str) -> None:
        story.append(line)
        if "  load" in line:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)

    result = run(plan_from(None, {**SHORT, "time": 30.0}), store_dir=tmp_path / "runs", say=twice)
    assert result.outcome is Outcome.INTERRUPTED
    assert story[-1] == UNCHECKED
    assert result.json["keys"] == {}
    assert (result.directory / "history.jsonl").exists()


def test_a_violation_that_an_interrupted_simulation_had_seen_stays_one(tmp_path: Path) -> None:
    made = plan_from(None, {"on": "sim", "seed": 1, "mistake": "no-applied-wait", "rate": 50})
    say = signal_when([], "apply heals", signal.SIGINT)
    result = run(made, store_dir=tmp_path / "runs", say=say)
    assert result.outcome is Outcome.VIOLATION
    assert any("interrupted: SIGINT" in note for note in result.view.notes)


def test_a_simulation_whose_check_is_given_up_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: Any, **__: Any) -> None:
        for _number in range(3):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("harness.run.judge.check", endless)
    result = run(plan_from(None, SHORT), store_dir=tmp_path / "runs")
    assert result.outcome is Outcome.INTERRUPTED
    (directory,) = (tmp_path / "runs").iterdir()
    assert (directory / "verdict.json").exists()
    assert (directory / "history.jsonl").exists()


def test_a_disk_that_fills_under_a_simulation_loses_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _data: bytes) -> None:
        raise StoreFull(f"{path}: No space left on device")

    monkeypatch.setattr("harness.run.simulate.write_atomic", full)
    result = run(plan_from(None, SHORT), store_dir=tmp_path / "runs")
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "No space left" in str(result.reason)


def test_who_listens_to_a_simulation_may_touch_the_world(tmp_path: Path) -> None:
    def listen(_line: str) -> None:
        Path(os.devnull).read_bytes()
        time.monotonic()

    result = run(plan_from(None, SHORT), store_dir=tmp_path / "runs", say=listen)
    assert result.outcome is not Outcome.HARNESS_FAILURE


def test_a_node_that_ended_by_itself_is_told_of_with_the_end_of_its_log(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    def gone(node: str) -> ProcessState:
        (log,) = (tmp_path / "runs").glob("*/logs")
        (log / f"{node}.log").write_text("event=end why='the disk failed: No space left on device'\n")
        return ProcessState.GONE

    async def silent(_node: str) -> NodeStatus | None:
        return None

    cluster.state = gone  # type: ignore[method-assign]
    cluster.status = silent  # type: ignore[method-assign,assignment]
    cluster.code = 74
    result = go(cluster, plan(time=30.0), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "ended by itself with code 74" in str(result.reason)
    assert "the disk failed: No space left" in str(result.reason)


def test_a_node_without_evidence_while_others_left_some_is_no_pass(tmp_path: Path) -> None:
    made = plan_from(None, {**SHORT, "seed": 2})
    run(made, store_dir=tmp_path)
    (directory,) = tmp_path.iterdir()
    evidence = {path.stem: path.read_bytes() for path in (directory / "evidence").iterdir()}
    del evidence["n2"]
    history = (directory / "history.jsonl").read_bytes()
    judged = judge(made, history, evidence, Seen(load_ns=(0, 10**9)))
    assert judged.outcome is Outcome.UNKNOWN
    assert "n2 left no evidence" in str(judged.reason)


def test_too_few_open_files_are_said_before_anything_starts(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (40, 100))
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("resource.setrlimit", lambda _, limits: asked.append(limits))
    result = go(cluster, plan(), tmp_path)
    assert result.outcome is Outcome.HARNESS_FAILURE
    assert "ulimit -n" in str(result.reason)
    assert asked == [(100, 100)]
    assert cluster.begun == 0


def test_open_files_that_may_be_had_are_taken(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (40, 100_000))
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("resource.setrlimit", lambda _, limits: asked.append(limits))
    assert go(cluster, plan(), tmp_path).outcome is Outcome.NOT_EXERCISED
    assert asked[0][0] >= 100
