"""A campaign on a Dask cluster: the same as without, also when a worker is killed half-way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from checker import Ties, check, formats
from checker.events import Event, EventType
from harness import program
from harness.campaign import hand
from harness.campaign.campaign import Campaign, Progress, Wanted
from harness.campaign.entries import Entry
from harness.campaign.journal import Journal
from harness.campaign.row import Job, Row
from harness.campaign.scheduler import Scheduler
from harness.dask.address import address_of
from harness.dask.client import Gone, connected
from harness.dask.endings import Endings
from harness.dask.keys import check_apart
from harness.outcome import Outcome
from harness.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from checker.operations import History
    from harness.campaign.workers import Lost

SHORT = {"on": "sim", "rate": 50, "time": 2.0, "faults": "none", "allow": "not-exercised"}
FOUND = {"on": "sim", "rate": 50, "mistake": "no-applied-wait"}
ENTRIES = (
    Entry(name="right", expected=Outcome.PASS, options=SHORT),
    Entry(name="wrong", expected=Outcome.VIOLATION, options=FOUND, seeds=(0, 1)),
    Entry(name="quiet", expected=Outcome.PASS, options={**SHORT, "allow": []}, seeds=(0,)),
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, processes of this host."""
    distributed = pytest.importorskip(
        "distributed", reason="the extra is missing: pip install '.[dask]'"
    )
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as made:
        yield made


def ran(place: Path, seeds: int, address: str | None, *, killing: bool = False) -> Campaign:
    """Run a campaign; with ``killing`` a worker is killed when a quarter of it is done."""
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if killing and not killed and progress.runs > (progress.runs_max or 0) // 4:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    journal = Journal(place)
    wanted = Wanted(seeds=seeds, jobs=2)  # processes: to simulate in here would stop the cluster's clock
    running = Campaign(ENTRIES, wanted, journal=journal, show=kill)
    if address is None:
        running.run()
    else:
        client = connected(address_of(address))
        running.run(Scheduler(client, place))
        assert bool(killed) is killing
    journal.close()
    return running


def told(rows: list[Row]) -> list[tuple[object, ...]]:
    return [
        (row.name, row.seed, row.outcome, row.reason, row.kind, row.rules, row.exercised, row.virtual_s)
        for row in rows
    ]


def same(tmp_path: Path, cluster: Any, seeds: int) -> None:
    alone = ran(tmp_path / "alone", seeds, None)
    shared = ran(tmp_path / "shared", seeds, cluster.scheduler_address, killing=True)
    assert told(shared.rows) == told(alone.rows)
    assert shared.reckoning == alone.reckoning
    runs = [row.run for row in alone.rows]
    assert [row.run and row.run.replace("shared", "alone") for row in shared.rows] == runs
    for run in filter(None, runs):
        for name in ("history.jsonl", "schedule.yaml", "plan.yaml", "junit.xml"):
            one, other = (
                tmp_path / place / run.rsplit("/", 1)[-1] / name for place in ("alone", "shared")
            )
            assert one.read_bytes().replace(b"alone", b"shared") == other.read_bytes(), name


@pytest.mark.processes
@pytest.mark.timeout(300)  # five interpreters are started, and a busy host lends a third of a core
def test_a_campaign_comes_to_the_same_on_a_cluster_that_loses_a_worker(
    tmp_path: Path, cluster: Any
) -> None:
    same(tmp_path, cluster, 6)


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_the_keys_of_a_history_come_to_the_same_on_a_cluster(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checker.apart._FEW", 100)
    whole = several_keys(wrong=("k3", "k5"))
    client = connected(address_of(cluster.scheduler_address))
    how: dict[str, Any] = {"model": "auto", "initial": None, "ties": Ties.CONCURRENT}
    how |= {"nil_read": None, "failed_cas": None, "all_keys": True, "paranoid": False}
    try:
        shared = check_apart(client, whole, time_s=200.0, memory_bytes=1 << 30, how=how)
        first = check_apart(
            client, whole, time_s=200.0, memory_bytes=1 << 30, how={**how, "all_keys": False}
        )
    finally:
        client.close()
    alone = check(whole, all_keys=True)
    assert [(key.key, key.outcome) for key in shared.keys] == [
        (key.key, key.outcome) for key in alone.keys
    ]
    assert [each.sentence for each in shared.violations] == [each.sentence for each in alone.violations]
    assert (len(alone.violations), first.outcome) == (2, alone.outcome)


def several_keys(*, wrong: tuple[str, ...]) -> History:
    """Make a history of eight keys, each written and read a hundred times, of two one is stale."""
    events: list[Event] = []

    def add(key: str, f: str, value: object) -> None:
        for type_, said in ((EventType.INVOKE, value if f == "write" else None), (EventType.OK, value)):
            number = len(events)
            events.append(
                Event(
                    index=number,
                    time_ns=number,
                    process=number // 2,
                    type=type_,
                    f=f,
                    key=key,
                    value=said,
                )
            )

    for turn in range(1, 101):
        for key in (f"k{number}" for number in range(8)):
            add(key, "write", turn)
            add(key, "read", turn - 1 if turn == 50 and key in wrong else turn)
    return formats.from_events(events, name="history.jsonl", header=None)


def test_a_hand_makes_one_run_after_the_other_and_says_when_it_dies(tmp_path: Path) -> None:
    def made(job: Job) -> hand.Made:
        told = hand.by_hand(msgspec.json.encode(job), str(tmp_path))
        return msgspec.msgpack.decode(told, type=hand.Made)

    right = made(Job(ENTRIES[0], 3))
    assert (right.row.seed, right.row.outcome, right.store) == (3, Outcome.PASS, None)
    assert list(tmp_path.iterdir()) == []
    child = hand._MINE.hand
    assert child is not None
    kept = made(Job(ENTRIES[1], 0))
    assert hand._MINE.hand is child
    assert {"history.jsonl", "plan.yaml", "verdict.json", "evidence/n1.jsonl"} <= kept.files.keys()
    assert kept.store is not None
    there = tmp_path / kept.store / str(kept.row.run)
    assert all((there / name).stat().st_size == size for name, size in kept.files.items())
    child.kill()
    child.wait()
    assert made(Job(ENTRIES[0], 3)).row.seed == 3
    with pytest.raises(hand.HandLost, match="its process ended with code"):
        hand.by_hand(b"no job", str(tmp_path))
    assert hand._MINE.hand is None


class Told:
    """A cluster of one thread, whose worker answers each job with the same run, kept in ``store``."""

    def __init__(self, row: Row, store: Path, files: dict[str, bytes]) -> None:
        self.row = row
        self.store = store
        self.files = files
        self.status = "finished"
        self.key = ""

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def submit(self, *_: object, key: str, **__: object) -> Told:
        self.key = key
        for name, data in self.files.items():
            path = self.store / str(self.row.run) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return self

    def add_done_callback(self, call: Callable[[Told], None]) -> None:
        call(self)

    def result(self) -> tuple[str, bytes]:
        sizes = {name: len(data) for name, data in self.files.items()}
        made = hand.Made(row=self.row, store=str(self.store), files=sizes)
        return "worker", msgspec.msgpack.encode(made)

    def run(self, call: Callable[..., object], *arguments: object, workers: list[str]) -> object:
        assert workers == ["worker"]
        return {"worker": call(*arguments)}

    def release(self) -> None:
        pass


class LostOnce(Told):
    """One whose first result is lost with its worker before anybody looked at it."""

    def __init__(self, row: Row, store: Path, *statuses: str) -> None:
        super().__init__(row, store, {"plan.yaml": b"p"})
        self.statuses = list(statuses)

    def add_done_callback(self, call: Callable[[Told], None]) -> None:
        self.status = self.statuses.pop(0)
        call(self)


def test_a_result_that_was_lost_with_its_worker_is_waited_for_again(tmp_path: Path) -> None:
    cluster = LostOnce(kept_run("x"), tmp_path / "there", "lost", "pending", "finished")
    told = fetched(Scheduler(cluster, tmp_path / "place"))
    assert isinstance(told, Row)
    assert (told.outcome, told.run, cluster.statuses) == (Outcome.VIOLATION, "x", [])


def test_a_result_that_is_lost_while_another_is_fetched_is_waited_for_again(tmp_path: Path) -> None:
    one, other = (Told(kept_run("x"), tmp_path / name, {}) for name in ("one", "other"))
    endings = Endings()
    endings.watch(one)
    endings.watch(other)
    told = endings.next()
    assert next(told) == (one, "finished")
    other.status = "lost"
    assert list(told) == []
    other.status = "finished"
    assert list(endings.next()) == [(other, "finished")]


class LetGo(Told):
    """One that makes its first run, and lets go of all others."""

    def submit(self, *_: object, key: str, **__: object) -> Told:
        made = Told(self.row, self.store, self.files)
        made.status = "cancelled" if self.key else "finished"
        made.key = self.key = key
        Told.submit(made, key=key)
        return made


def test_what_ended_before_the_scheduler_went_is_told_first(tmp_path: Path) -> None:
    cluster = LetGo(kept_run("x"), tmp_path / "there", {"plan.yaml": b"p"})
    workers = Scheduler(cluster, tmp_path / "place")
    workers.start(Job(ENTRIES[0], 0))
    workers.start(Job(ENTRIES[0], 1))
    ((job, told),) = workers.ended()
    assert isinstance(told, Row)
    assert (job.seed, told.outcome) == (0, Outcome.VIOLATION)
    with pytest.raises(Gone, match="cancelled"):
        workers.ended()


def kept_run(run: str, *, outcome: Outcome = Outcome.VIOLATION, virtual_s: float = 0.0) -> Row:
    return Row(
        name="right",
        seed=0,
        outcome=outcome,
        expected=Outcome.PASS,
        reason="so it is",
        run=run,
        virtual_s=virtual_s,
    )


def fetched(workers: Scheduler) -> Row | Lost:
    workers.start(Job(ENTRIES[0], 0))
    ((_, told),) = workers.ended()
    return told


@pytest.mark.parametrize(
    ("run", "file"),
    [("../x", "plan.yaml"), ("x", "../plan.yaml"), ("x", "a//b"), ("x", "a\n")],
)
def test_a_worker_writes_nothing_outside_of_its_run(tmp_path: Path, run: str, file: str) -> None:
    place, there = tmp_path / "place", tmp_path / "there" / "a" / "b"
    told = fetched(Scheduler(Told(kept_run(run), there, {file: b"x"}), place))
    assert isinstance(told, Row)
    assert (told.outcome, told.run) == (Outcome.HARNESS_FAILURE, None)
    assert "a file that no run has" in str(told.reason)
    assert not there.exists()
    assert not place.exists()


def test_a_run_that_travelled_says_where_it_lies_now(tmp_path: Path) -> None:
    there, place = tmp_path / "there", tmp_path / "a & b"
    was = f"{there}/20260101T000000-x"
    replay = f"lantern replay {was} --trust"
    files = {
        "verdict.json": json.dumps({"run": was, "replay": replay}).encode(),
        "junit.xml": f"<run>{was} {replay}</run>".encode(),
        "data/n1/wal": was.encode(),
        "plan.yaml": b"p",
    }
    workers = Scheduler(Told(kept_run("20260101T000000-x"), there, files), place)
    for name in ("20260101T000000-x", "20260101T000000-x-2"):
        told = fetched(workers)
        assert isinstance(told, Row)
        assert told.run == name
        assert (place / name / "data" / "n1" / "wal").read_bytes() == was.encode()
        assert not there.exists()
    here = f"{place}/{name}"
    assert json.loads((place / name / "verdict.json").read_text()) == {
        "run": here,
        "replay": f"{program.replaying(here)} --trust",
    }
    assert f"replay '{here}' --trust" in f"{program.replaying(here)} --trust"
    (told_there,) = ET.fromstring((place / name / "junit.xml").read_bytes()).itertext()
    assert told_there == f"{here} {program.replaying(here)} --trust"


def test_a_simulated_run_that_travels_twice_lies_in_one_place(tmp_path: Path) -> None:
    files = {"verdict.json": b"{}", "plan.yaml": b"p"}
    place = tmp_path / "place"
    workers = Scheduler(Told(kept_run("0123456789ab", virtual_s=9.0), tmp_path / "there", files), place)
    for _ in range(2):
        told = fetched(workers)
        assert isinstance(told, Row)
        assert told.run == "0123456789ab"
    assert [each.name for each in place.iterdir()] == ["0123456789ab"]


def test_a_history_of_any_size_is_fetched_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.fetch.PIECE_BYTES", 10)
    history = bytes(range(256)) * 4
    files = {"verdict.json": b"{}", "history.jsonl": history, "empty.log": b""}
    cluster = Told(kept_run("x"), tmp_path / "there", files)
    sizes: list[int] = []
    run = cluster.run

    def counted(call: Callable[..., object], *arguments: object, workers: list[str]) -> object:
        sizes.extend(each for each in arguments[2:] if isinstance(each, int))
        return run(call, *arguments, workers=workers)

    monkeypatch.setattr(cluster, "run", counted)
    told = fetched(Scheduler(cluster, tmp_path / "place"))
    assert isinstance(told, Row)
    assert (tmp_path / "place/x/history.jsonl").read_bytes() == history
    assert (tmp_path / "place/x/empty.log").read_bytes() == b""
    assert (max(sizes), sum(sizes)) == (10, len(history) + 2)


@pytest.mark.parametrize("how", ["gone", "cut short"])
@pytest.mark.parametrize(
    ("outcome", "virtual_s", "proved"),
    [
        (Outcome.UNKNOWN, 0.0, False),
        (Outcome.VIOLATION, 9.0, False),  # it is made again, to the byte
        (Outcome.VIOLATION, 0.0, True),
    ],
)
def test_a_run_whose_worker_goes_as_it_is_fetched_is_lost_unless_it_proved_something(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    how: str,
    outcome: Outcome,
    virtual_s: float,
    proved: bool,
) -> None:
    files = {"history.jsonl": b"12", "verdict.json": b"{}"}
    cluster = Told(kept_run("x", outcome=outcome, virtual_s=virtual_s), tmp_path / "there", files)
    run = cluster.run

    def going(call: Callable[..., object], *arguments: object, workers: list[str]) -> object:
        if call is hand.piece and how == "gone":
            raise OSError("no such worker")
        if call is hand.piece:
            (cluster.store / "x/history.jsonl").write_bytes(b"1")
        return run(call, *arguments, workers=workers)

    monkeypatch.setattr(cluster, "run", going)
    told = fetched(Scheduler(cluster, tmp_path / "place"))
    why = "no such worker" if how == "gone" else "history.jsonl of its run is cut short"
    assert isinstance(told, Row) is proved
    if isinstance(told, Row):
        assert (told.outcome, told.run) == (Outcome.VIOLATION, None)
        assert why in str(told.reason)
    else:
        assert why in told.how
    assert not (tmp_path / "place" / "x").exists()
    assert not cluster.store.exists()


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.VIOLATION])
def test_a_run_that_was_cut_short_with_its_worker_counts_if_it_had_proved_something(
    tmp_path: Path, outcome: Outcome
) -> None:
    row = msgspec.structs.replace(kept_run("x", outcome=outcome), interrupted=True)
    files = {"verdict.json": b"{}", "plan.yaml": b"p"}
    told = fetched(Scheduler(Told(row, tmp_path / "there", files), tmp_path / "place"))
    assert isinstance(told, Row) is (outcome is Outcome.VIOLATION)
    if isinstance(told, Row):
        assert (told.run, told.interrupted) == ("x", False)  # else the campaign would end, too
    assert not (tmp_path / "there").exists()


def test_a_violation_that_finds_no_room_here_stays_one(tmp_path: Path) -> None:
    (tmp_path / "place").write_text("no directory")
    files = {"verdict.json": b"{}", "plan.yaml": b"p"}
    told = fetched(Scheduler(Told(kept_run("x"), tmp_path / "there", files), tmp_path / "place"))
    assert isinstance(told, Row)
    assert (told.outcome, told.run) == (Outcome.VIOLATION, None)
    assert str(told.reason).startswith("so it is (not kept: ")
    slow = Told(kept_run("x", outcome=Outcome.UNKNOWN), tmp_path / "there", files)
    with pytest.raises(StoreError):
        fetched(Scheduler(slow, tmp_path / "place"))
    assert not (tmp_path / "there").exists()


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_five_hundred_runs_come_to_the_same_on_a_cluster_that_loses_a_worker(
    tmp_path: Path, cluster: Any
) -> None:
    same(tmp_path, cluster, 497)


def started(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


@pytest.mark.processes
@pytest.mark.timeout(200)
def test_a_scheduler_that_is_killed_is_told_in_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra is missing: pip install '.[dask]'")
    told = tmp_path / "scheduler.json"
    matrix = {"schema": 1, "runs": [{"name": "right", "plan": SHORT}]}
    (tmp_path / "c.yaml").write_text(json.dumps(matrix))
    processes = [
        started("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
                "--no-dashboard", "--scheduler-file", str(told)),
        started("distributed.cli.dask_worker", "--scheduler-file", str(told), "--host", "127.0.0.1",
                "--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--death-timeout", "5",
                "--local-directory", str(tmp_path / "worker")),
    ]  # fmt: skip
    try:
        until(told.exists)
        address = json.loads(told.read_text())["address"]
        rows = tmp_path / "c" / "rows.jsonl"
        campaign = started(
            "harness.cli.main", "campaign", str(tmp_path / "c.yaml"), "--seeds", "500",
            "--scheduler", address, "--resume", str(tmp_path / "c"),
        )  # fmt: skip
        processes.append(campaign)
        until(lambda: rows.exists() and rows.stat().st_size > 0)
        processes[0].kill()
        out, story = campaign.communicate(timeout=100)
        assert campaign.returncode == Outcome.HARNESS_FAILURE.code
        assert b"Traceback" not in story
        assert b"distributed" not in story
        assert re.search(rb"^ended early: .*scheduler", out, re.MULTILINE), story
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def until(there: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + 60
    while not there():
        assert time.monotonic() < ends_s
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://localhost:8786", "tcp://localhost:8786"),
        ("tcp://[::1]:8786", "tcp://[::1]:8786"),
        ("tls://dask.example:8786", "tls://dask.example:8786"),
    ],
)
def test_a_scheduler_of_this_host_or_one_with_certificates_is_taken(text: str, address: str) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dask.example:8786", "dask.example is not this host"),
        ("tcp://192.0.2.1:8786", "192.0.2.1 is not this host"),
        ("tcp://localhost.example:8786", "is not this host"),
        ("ws://127.0.0.1:8786", "ws:// is not taken"),
        ("127.0.0.1", "is no address"),
        ("tcp://127.0.0.1:8786/x", "is no address"),
        ("tcp://a@127.0.0.1:8786", "a@127.0.0.1 is not this host"),
        ("", "is no address"),
    ],
)
def test_any_other_scheduler_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        address_of(text)


def test_where_nobody_answers_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra is missing: pip install '.[dask]'")
    monkeypatch.setattr("harness.dask.client.CONNECT_S", 0.5)
    with pytest.raises(Gone, match=r"no scheduler answers at tcp://127\.0\.0\.1:9: "):
        connected("tcp://127.0.0.1:9")
