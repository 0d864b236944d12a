"""What takes long can be stopped: what there is by then is told, and the exit code says 130."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from cli_lantern import Lantern

from harness.campaign.campaign import Campaign, Wanted
from harness.campaign.entries import Entry
from harness.campaign.journal import ROWS, Journal
from harness.campaign.row import Job, Row, row_of
from harness.campaign.shrink import shrink
from harness.cli.progress import now_and_then
from harness.outcome import Outcome
from harness.plan import plan_from

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT = {"on": "sim", "rate": 50, "time": 2.0, "faults": "none", "allow": "not-exercised"}
RIGHT = Entry(name="right", expected=Outcome.PASS, options=SHORT)
WAIT_S = 40.0


def campaign(place: Path, seeds: int) -> Campaign:
    journal = Journal(place)
    running = Campaign([RIGHT], Wanted(seeds=seeds), journal=journal)
    running.resume()
    running.run()
    journal.close()
    return running


def test_an_interrupted_campaign_keeps_its_rows_and_goes_on_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(job: Job, store: str) -> Row:
        if job.seed == 2:
            raise KeyboardInterrupt
        return row_of(job, store)

    with monkeypatch.context() as patched:
        patched.setattr("harness.campaign.workers.row_of", impatient)
        stopped = campaign(tmp_path, 4)
    assert (stopped.reckoning.outcome, [row.seed for row in stopped.rows]) == (
        Outcome.INTERRUPTED,
        [0, 1],
    )
    again = campaign(tmp_path, 4)
    assert (again.reckoning.outcome, [row.seed for row in again.rows]) == (Outcome.PASS, [0, 1, 2, 3])


def test_a_run_that_took_the_signal_itself_ends_its_campaign_and_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(job: Job, store: str) -> Row:
        row = row_of(job, store)
        return msgspec.structs.replace(row, outcome=Outcome.VIOLATION, interrupted=True)

    with monkeypatch.context() as patched:
        patched.setattr("harness.campaign.workers.row_of", interrupted)
        stopped = campaign(tmp_path, 4)
    assert [row.seed for row in stopped.rows] == [0]
    assert stopped.interrupted
    assert (
        stopped.reckoning.outcome is Outcome.VIOLATION
    )  # what it had proved is not spoken of more softly
    assert [row.interrupted for row in campaign(tmp_path, 1).rows] == [False]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_campaign_over_processes_ends_with_what_it_has(tmp_path: Path, number: signal.Signals) -> None:
    lantern = Lantern(tmp_path)
    arguments = ("campaign", "--catalog", "--swarm", "--only", "log-read", "--seeds", "5000")
    code, told, story = ended_by(
        lantern, number, *arguments, "--jobs", "2", "--resume", "here", when=lambda: rows(tmp_path) > 2
    )
    assert (code, told["summary"]["outcome"]) == (130, "interrupted")
    assert len(told["runs"]) > 2
    assert b"Traceback" not in story


def test_a_campaign_of_one_job_ends_in_the_middle_of_a_run(tmp_path: Path) -> None:
    lantern = Lantern(tmp_path)
    arguments = ("campaign", "--catalog", "--swarm", "--only", "log-read", "--seeds", "5000")
    seen: list[int] = []

    def some() -> bool:
        seen.append(rows(tmp_path))
        return seen[-1] > 0

    code, told, story = ended_by(
        lantern, signal.SIGTERM, *arguments, "--jobs", "1", "--resume", "here", when=some
    )
    assert (code, told["summary"]["outcome"]) == (130, "interrupted")
    assert len(told["runs"]) - seen[-1] in {0, 1}  # what ended as the signal came, and none that began
    assert b"Traceback" not in story


def test_what_takes_long_is_told_of_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    said: list[str] = []
    tell = now_and_then(said.append)
    for tick in range(25):
        now_s = 100.0 + tick
        tell(str(tick))
    assert said == ["5", "10", "15", "20"]


def test_a_campaign_that_is_killed_takes_its_workers_with_it(tmp_path: Path) -> None:
    lantern = Lantern(tmp_path)
    arguments = ("campaign", "--catalog", "--swarm", "--only", "log-read", "--seeds", "5000")
    with subprocess.Popen(
        lantern.command(*arguments, "--jobs", "2", "--resume", "here", "--json"),
        cwd=tmp_path,
        env=lantern.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        wait_until(lambda: rows(tmp_path) > 0)
        family = in_session(child.pid) - {child.pid}
        assert len(family) >= 2
        child.kill()
    wait_until(lambda: not family & in_session(child.pid))


FILE = """
schema: 1
plan: {on: sim, rate: 100, time: 4, faults: none, allow: not-exercised}
runs: [{matrix: {policy: [lease-renew, readindex, log-read]}}]
"""


def test_a_campaign_that_is_killed_goes_on_and_loses_and_doubles_no_run(tmp_path: Path) -> None:
    lantern = Lantern(tmp_path)
    (tmp_path / "campaign.yaml").write_text(FILE)
    begin = ("campaign", "campaign.yaml", "--seeds", "6", "--jobs", "2", "--resume", "here")
    with subprocess.Popen(
        lantern.command(*begin), cwd=tmp_path, env=lantern.environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    ) as child:  # fmt: skip
        wait_until(lambda: rows(tmp_path) > 3)
        child.kill()
    path = tmp_path / "here" / ROWS
    path.write_bytes(path.read_bytes() + b'{"name": "lease-ren')  # as if it was writing
    ended = lantern("campaign", "--resume", "here", "--jobs", "2", "--json")
    told = json.loads(ended.stdout)
    assert ended.returncode == 0, ended.stderr
    every = {(name, seed) for name in ("lease-renew", "readindex", "log-read") for seed in range(6)}
    assert [(row["name"], row["seed"]) for row in told["runs"]] == sorted(every, key=in_order)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert len(lines) == len(every)
    assert {(line["name"], line["seed"]) for line in lines} == every
    other = lantern("campaign", "--catalog", "--only", "log-read", "--resume", "here")
    assert other.returncode == 2
    assert b"log-read was another run when this campaign began" in other.stderr


def in_order(run: tuple[str, int]) -> tuple[int, int]:
    return ("lease-renew", "readindex", "log-read").index(run[0]), run[1]


def wait_until(true: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < until_s
        time.sleep(0.05)


def in_session(session: int) -> set[int]:
    """Return the processes of a session that live, those that only wait to be reaped apart."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.add(int(entry.name))
    return found


def rows(place: Path) -> int:
    path = place / "here" / ROWS
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_an_interrupted_sweep_tells_the_cells_it_has(tmp_path: Path) -> None:
    lantern = Lantern(tmp_path)
    code, told, _ = ended_by(lantern, signal.SIGINT, "sweep", "drift", after=b" ms ")
    assert (code, told["outcome"]) == (130, "interrupted")
    assert 0 < len(told["cells"]) < 48


def ended_by(
    lantern: Lantern, number: signal.Signals, *arguments: str, when: Any = None, after: bytes = b""
) -> tuple[int, dict[str, Any], bytes]:
    """Start a verb, signal its whole group as a terminal does (or it alone), return how it ended."""
    with subprocess.Popen(
        lantern.command(*arguments, "--json"),
        cwd=lantern.place,
        env=lantern.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            assert child.stderr is not None
            while after and after not in child.stderr.readline():
                pass
            until_s = time.monotonic() + WAIT_S
            while when is not None and not when() and time.monotonic() < until_s:
                time.sleep(0.05)
            if number is signal.SIGINT:
                os.killpg(child.pid, number)
            else:
                child.send_signal(number)
            stdout, stderr = child.communicate(timeout=WAIT_S)
        finally:
            child.kill()
    return child.returncode, json.loads(stdout), stderr


def test_an_interrupted_shrink_keeps_the_smallest_run_so_far() -> None:
    plan = plan_from(None, {"on": "sim", "mistake": "no-applied-wait", "rate": 50, "seed": 1})

    def impatient(_line: str) -> None:
        raise KeyboardInterrupt

    found = shrink(plan, say=impatient)
    assert found.stopped == "interrupted"
    assert found.judged.outcome is Outcome.VIOLATION
    assert found.recording.plan.time_s < plan.time_s
    assert found.operations > 0


def test_an_interrupted_replay_tells_the_tries_it_has(tmp_path: Path) -> None:
    lantern = Lantern(tmp_path)
    quiet = ("--on", "sim", "--time", "1", "--rate", "50", "--faults", "none", "--seed", "1")
    assert lantern("run", *quiet, "--allow", "not-exercised", "--out", "quiet").returncode == 0
    ended = lantern("replay", "quiet", "--times", "5", "--json", patch=IMPATIENT)
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["outcome"], len(told["tries"])) == (130, "interrupted", 2)


IMPATIENT = """
import harness.cli.replay as verb
real, calls = verb.replayed, []
def replayed(*arguments):
    calls.append(1)
    if len(calls) == 3:
        raise KeyboardInterrupt
    return real(*arguments)
verb.replayed = replayed
"""
