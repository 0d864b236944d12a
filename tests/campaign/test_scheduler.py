"""A campaign on a Dask cluster: the same as without, also when a worker is killed half-way."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from checker import Ties, check, formats
from checker.events import Event, EventType
from harness.campaign import hand
from harness.campaign.address import address_of
from harness.campaign.campaign import Campaign, Progress, Wanted
from harness.campaign.entries import Entry
from harness.campaign.journal import Journal
from harness.campaign.keys import check_apart
from harness.campaign.row import Job, Row
from harness.campaign.scheduler import Scheduler, connected
from harness.campaign.workers import Gone
from harness.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from checker.operations import History

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


def test_a_hand_makes_one_run_after_the_other_and_says_when_it_dies() -> None:
    job = msgspec.json.encode(Job(ENTRIES[0], 3))
    made = msgspec.msgpack.decode(hand.by_hand(job), type=hand.Made)
    assert (made.row.seed, made.row.outcome, made.files) == (3, Outcome.PASS, {})
    child = hand._MINE.hand
    assert child is not None
    wrong = msgspec.json.encode(Job(ENTRIES[1], 0))
    kept = msgspec.msgpack.decode(hand.by_hand(wrong), type=hand.Made)
    assert hand._MINE.hand is child
    assert {"history.jsonl", "plan.yaml", "verdict.json", "evidence/n1.jsonl"} <= kept.files.keys()
    child.kill()
    child.wait()
    again = msgspec.msgpack.decode(hand.by_hand(job), type=hand.Made)
    assert again.row.seed == 3
    with pytest.raises(hand.HandLost, match="its process ended with code"):
        hand.by_hand(b"no job")
    assert hand._MINE.hand is None


class Told:
    """A cluster of one thread, whose worker answers each job with the same."""

    def __init__(self, made: hand.Made) -> None:
        self.made = made
        self.status = "finished"
        self.key = ""

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def submit(self, *_: object, key: str, **__: object) -> Told:
        self.key = key
        return self

    def add_done_callback(self, call: Callable[[Told], None]) -> None:
        call(self)

    def result(self) -> bytes:
        return msgspec.msgpack.encode(self.made)

    def release(self) -> None:
        pass


@pytest.mark.parametrize(
    ("run", "file"),
    [("../x", "plan.yaml"), ("x", "../plan.yaml"), ("x", "/tmp/x"), ("x", "a//b"), ("x", "a\n")],
)
def test_a_worker_writes_nothing_outside_of_its_run(tmp_path: Path, run: str, file: str) -> None:
    row = Row(name="right", seed=0, outcome=Outcome.VIOLATION, expected=Outcome.PASS, run=run)
    place = tmp_path / "place"
    workers = Scheduler(Told(hand.Made(row=row, store="/s", files={file: b"x"})), place)
    workers.start(Job(ENTRIES[0], 0))
    ((_, told),) = workers.ended()
    assert isinstance(told, Row)
    assert (told.outcome, told.run) == (Outcome.HARNESS_FAILURE, None)
    assert "a file that no run has" in str(told.reason)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_travelled_says_where_it_lies_now(tmp_path: Path) -> None:
    row = Row(
        name="right", seed=0, outcome=Outcome.VIOLATION, expected=Outcome.PASS, run="20260101T000000-x"
    )
    files = {"verdict.json": b'{"run": "/s/20260101T000000-x"}', "data/n1/wal": b"/s", "plan.yaml": b"p"}
    place = tmp_path / "a & b"
    workers = Scheduler(Told(hand.Made(row=row, store="/s", files=files)), place)
    for name in ("20260101T000000-x", "20260101T000000-x-2"):
        workers.start(Job(ENTRIES[0], 0))
        ((_, told),) = workers.ended()
        assert isinstance(told, Row)
        assert told.run == name
        assert (place / name / "data" / "n1" / "wal").read_bytes() == b"/s"
    assert json.loads((place / name / "verdict.json").read_text())["run"] == f"{place}/{name}"


def test_a_simulated_run_that_travels_twice_lies_in_one_place(tmp_path: Path) -> None:
    row = Row(
        name="right",
        seed=0,
        outcome=Outcome.VIOLATION,
        expected=Outcome.PASS,
        run="0123456789ab",
        virtual_s=9.0,
    )
    files = {"verdict.json": b"{}", "plan.yaml": b"p"}
    workers = Scheduler(Told(hand.Made(row=row, store="/s", files=files)), tmp_path)
    for _ in range(2):
        workers.start(Job(ENTRIES[0], 0))
        ((_, told),) = workers.ended()
        assert isinstance(told, Row)
        assert told.run == "0123456789ab"
    assert [each.name for each in tmp_path.iterdir()] == ["0123456789ab"]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_five_hundred_runs_come_to_the_same_on_a_cluster_that_loses_a_worker(
    tmp_path: Path, cluster: Any
) -> None:
    same(tmp_path, cluster, 497)


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
    monkeypatch.setattr("harness.campaign.scheduler.CONNECT_S", 0.5)
    with pytest.raises(Gone, match=r"no scheduler answers at tcp://127\.0\.0\.1:9: "):
        connected("tcp://127.0.0.1:9")
