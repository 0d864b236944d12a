"""`lantern campaign`, `shrink`, `replay` and `sweep`, as a user runs them."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from cli_lantern import Lantern

from harness.plan import plan_from
from harness.plan.dump import dump

if TYPE_CHECKING:
    from pathlib import Path

MISTAKE = ("--on", "sim", "--mistake", "no-applied-wait", "--rate", "50", "--seed", "1")


@pytest.fixture
def lantern(tmp_path: Path) -> Lantern:
    return Lantern(tmp_path)


def test_a_failing_run_is_replayed_shrunk_and_replayed_again(lantern: Lantern) -> None:
    ended = lantern("run", *MISTAKE, "--out", "bad")
    assert ended.returncode == 1, ended.stderr
    again = lantern("replay", "bad", "--times", "2", "--json")
    told = json.loads(again.stdout)
    assert (again.returncode, [each["identical"] for each in told["tries"]]) == (1, [True, True])
    assert {**told["reproduced"], "interval": None} == {
        "wanted": "violation/history",
        "times": 2,
        "of": 2,
        "rate": 1.0,
        "interval": None,
    }
    assert told["reproduced"]["interval"] is None
    said = lantern("replay", "bad", "--times", "2").stdout.decode()
    sure = "reproduced 2 of 2, 2 of 2 identical (a simulated run is deterministic): violation/history"
    assert said.splitlines()[-1] == sure
    by_node = lantern("replay", "bad", "--by", "node")
    assert b"\nreproduced " in by_node.stdout
    assert by_node.returncode in (0, 1, 4), by_node.stderr
    ended = lantern("shrink", "bad", "--out", "small", "--json")
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["kind"]) == (0, "history")
    assert found["faults"] <= 3
    assert found["operations"] <= 12
    again = lantern("replay", "small")
    assert (again.returncode, again.stdout.startswith(b"identical history: violation")) == (1, True)


FULL = """
import harness.cli.shrink as verb
from harness.store.errors import StoreFull
def full(*_, **__):
    raise StoreFull("runs: No space left on device")
verb.keep = full
"""
NO_ROOM = """
import harness.cli.shrink as verb
from harness.store import rundir
rundir.FREE_MIN_BYTES = 1 << 60
def started(*_, **__):
    raise SystemError("it was started all the same")
verb.shrink = verb.shrink_real = started
"""


def test_what_was_shrunk_is_not_lost_to_a_full_disk(lantern: Lantern) -> None:
    assert lantern("run", *MISTAKE, "--out", "bad").returncode == 1
    for on in ("sim", "local"):
        early = lantern("shrink", "bad", "--on", on, patch=NO_ROOM)
        assert (early.returncode, early.stderr.count(b"\n")) == (6, 1), early.stderr
        assert b"MB free" in early.stderr
        taken = lantern("shrink", "bad", "--on", on, "--out", "bad", patch=NO_ROOM)
        assert (taken.returncode, b"is there already" in taken.stderr) == (2, True), taken.stderr
    late = lantern("shrink", "bad", "--json", patch=FULL)
    told = json.loads(late.stdout)
    assert (late.returncode, told["outcome"]) == (6, "harness-failure"), late.stderr
    assert "No space left" in told["error"]
    (lantern.place / "small.yaml").write_text(told["plan"])
    assert lantern("run", "small.yaml", "--out", "small").returncode == 1


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_run_on_processes_is_shrunk_where_it_ran(lantern: Lantern) -> None:
    planted = ("--mistake", "role-only-read", "--time", "8", "--seed", "1", "--out", "bad")
    assert lantern("run", *planted).returncode == 1
    command = lantern.command("shrink", "bad", "--on", "local", "--out", "small", "--json")
    done = subprocess.run(command, cwd=lantern.place, capture_output=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["kind"], told["episodes"], told["stopped"]) == ("history", 1, None)
    assert told["rate"]["times"] >= 3
    assert [path.name for path in (lantern.place / "runs").iterdir()] == []
    assert (lantern.place / "small" / "history.jsonl").exists()


def test_a_budget_is_for_runs_that_take_their_time(lantern: Lantern) -> None:
    assert lantern("shrink", ".", "--budget", "10m").returncode == 2


def test_a_history_that_does_not_come_back_is_told(lantern: Lantern) -> None:
    ended = lantern("run", *MISTAKE, "--time", "3", "--out", "run")
    assert ended.returncode in (1, 4)
    history = lantern.place / "run" / "history.jsonl"
    history.write_bytes(history.read_bytes() + b"\n")
    again = lantern("replay", "run", "--json")
    told = json.loads(again.stdout)["tries"][0]
    assert told["identical"] is False
    assert again.returncode in (1, 6)
    assert (again.returncode == 6) == told["reason"].startswith("the saved history does not come again")


def test_what_cannot_be_shrunk_ends_in_seven(lantern: Lantern) -> None:
    quiet = ("--on", "sim", "--time", "2", "--rate", "50", "--faults", "none", "--seed", "1")
    assert lantern("run", *quiet, "--out", "quiet").returncode == 4
    ended = lantern("shrink", "quiet", "--json")
    assert (ended.returncode, json.loads(ended.stdout)["outcome"]) == (7, "expectation-missed")
    ended = lantern("shrink", "quiet")
    said = b"nothing to shrink: the run ended as not-exercised; in virtual time the plan ends as not-"
    assert (ended.returncode, ended.stdout.startswith(said)) == (7, True)
    assert b"--on local" not in ended.stdout
    (lantern.place / "quiet" / "verdict.json").unlink()
    assert b"; --on local tries it on processes" in lantern("shrink", "quiet").stdout


def test_what_is_not_simulated_is_not_shrunk(lantern: Lantern) -> None:
    run = lantern.place / "run"
    run.mkdir()
    (run / "plan.yaml").write_bytes(dump(plan_from(None, {"target": "etcd", "seed": 1})))
    ended = lantern("shrink", "run")
    assert ended.returncode == 2
    assert b"etcd does not run on sim; it runs on docker" in ended.stderr


def test_a_campaign_prints_its_rows_and_its_summary(lantern: Lantern) -> None:
    ended = lantern(
        "campaign",
        "--catalog",
        "--only",
        "no-applied-wait,readindex",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--json",
    )
    told = json.loads(ended.stdout)
    assert ended.returncode == 0, ended.stderr
    assert [(row["name"], row["seed"], row["first_seed"]) for row in told["runs"]] == [
        ("no-applied-wait", 0, 0),
        ("readindex", 0, None),
    ]
    assert told["summary"]["simulated_per_cpu_second"] > 1


def test_what_failed_in_a_campaign_lies_there_with_its_report(lantern: Lantern) -> None:
    (lantern.place / "c.yaml").write_text("""\
schema: 1
plan: {on: sim, mistake: no-applied-wait, rate: 50}
runs:
  - {name: foreseen, seeds: [1]}
  - {name: failed, expect: pass, seeds: [1, 2]}
""")
    ended = lantern("campaign", "c.yaml", "--jobs", "1", "--json", patch=ONE_REPORT)
    assert ended.returncode == 1, ended.stderr
    rows = {(row["name"], row["seed"]): row["run"] for row in json.loads(ended.stdout)["runs"]}
    told = {run: (lantern.place / row / "report.html").exists() for run, row in rows.items()}
    assert told == {("foreseen", 1): False, ("failed", 1): True, ("failed", 2): False}


ONE_REPORT = "import harness.cli.campaign as verb\nverb.REPORTS_MAX = 1\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("campaign",),
        ("campaign", "--catalog", "--only", "nothing"),
        ("campaign", "--catalog", "--budget", "soon"),
        ("campaign", "--catalog", "--swarm", "--on", "local"),
        ("campaign", "--catalog", "--known", "lease"),
        ("campaign", "--catalog", "--known", "L21"),
        ("campaign", "--catalog", "--scheduler", "tcp://192.0.2.1:8786"),
        ("campaign", "--resume", "nowhere"),
        ("replay", "nowhere"),
        ("shrink", "nowhere"),
        ("campaign", "--catalog", "--first-seed", f"{1 << 62}"),
        ("campaign", "--catalog", "--first-seed", f"{(1 << 62) - 2}", "--seeds", "3"),
        ("campaign", "--catalog", "--seeds", "1000001"),
        ("run", "--on", "sim", "--seed", f"{1 << 62}"),
        ("run", "--on", "sim", "--seed", "-1"),
        ("sweep", "drift", "--bound", "2"),
        ("sweep", "drift", "--bound", "nan"),
        ("sweep", "drift", "--policy", "readindex"),
        ("sweep", "lease-length", "--policy", "log-read"),
        ("campaign", "--catalog", "--only", "role-only-read,nothing"),
        ("sweep", "drift", "--seed", f"{1 << 62}"),
        ("sweep", "lease-length", "--seed", f"{1 << 62}"),
    ],
)
def test_what_makes_no_sense_starts_nothing(lantern: Lantern, arguments: tuple[str, ...]) -> None:
    ended = lantern(*arguments)
    assert ended.returncode == 2, ended.stderr
    assert not list(lantern.place.iterdir())


@pytest.mark.parametrize("what", ["drift", "lease-length"])
def test_a_sweep_offers_the_policies_that_it_takes(lantern: Lantern, what: str) -> None:
    told = b"".join(lantern("sweep", what, "--help").stdout.split())
    assert b"[lease-renew|" in told
    assert b"readindex" not in told
    assert b"log-read" not in told
