"""`lantern run` on real processes: what it prints, what it leaves, and every way to stop it."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli_lantern import Lantern

QUIET = ("run", "--faults", "none", "--allow", "not-exercised", "--seed", "1")
processes = pytest.mark.processes


def one_object(stdout: bytes) -> dict[str, Any]:
    (line,) = stdout.decode("ascii").splitlines()
    return dict(json.loads(line))


def nodes(place: Path) -> list[int]:
    """Return the pids of nodes whose runtime directory lies in ``place``."""
    return [
        pid
        for pid, command in _commands()
        if "targets.leasekv.node" in command and str(place) in command
    ]


def _commands() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue


@processes
def test_a_quiet_run_prints_one_object_and_leaves_a_run_that_can_be_judged_again(
    lantern: Lantern, tmp_path: Path
) -> None:
    name = tmp_path.name  # a run is known by its directory's name, and others may run beside this one
    done = lantern(*QUIET, "--time", "2", "--out", name, "--json")
    said = one_object(done.stdout)
    assert (done.returncode, said["outcome"]) == (0, "pass"), done.stderr.decode()
    for key in ("operations", "keys", "seconds", "notes", "faults", "exercised", "oracles", "planted"):
        assert key in said
    assert said["violation"] is None
    assert said["seed"] == 1
    assert said["exercised"]["lease-reads"] > 0
    run = tmp_path / name
    for file in ("plan.yaml", "schedule.yaml", "history.jsonl", "verdict.json", "evidence/n1.jsonl"):
        assert (run / file).stat().st_size > 0
    shown = [(run / f"metrics/{node}.prom").read_text() for node in ("n1", "n2", "n3")]
    assert sum("\nleasekv_is_leader 1.0\n" in text for text in shown) == 1
    assert all('leasekv_build_info{policy="lease-renew"' in text for text in shown)
    assert said["replay"] == f"lantern replay {name}"
    assert nodes(tmp_path) == []

    again = one_object(lantern("check", name, "--json").stdout)
    assert again["outcome"] == "pass"
    assert again["operations"] == said["operations"]
    assert again["oracles"]["lease-overlap"]["outcome"] == "ok"
    assert b"nothing to heal" in lantern("heal", "--run", name).stdout


@processes
def test_the_summary_goes_to_stdout_and_the_story_to_stderr(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern(*QUIET, "--time", "1")
    assert done.returncode == 0
    assert done.stdout.startswith(b"verdict\n")
    assert b"PASS" in done.stdout
    assert b"starting 3 nodes" in done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    assert str(run.relative_to(tmp_path)) in done.stdout.decode()


@processes
def test_a_damaged_evidence_file_is_malformed_and_named(lantern: Lantern, tmp_path: Path) -> None:
    assert lantern(*QUIET, "--time", "1", "--out", "damaged").returncode == 0
    evidence = tmp_path / "damaged/evidence/n2.jsonl"
    lines = evidence.read_bytes().split(b"\n")
    evidence.write_bytes(b"\n".join([*lines[:5], b"{rubbish", *lines[5:]]))
    done = lantern("check", "damaged", "--json")
    assert done.returncode == 5
    assert any("n2.jsonl:6" in note for note in one_object(done.stdout)["notes"])


PLANS = {
    "an unknown key": "sed: 4\n",
    "an unknown policy": "policy: leese\n",
    "a negative time": "time: -1\n",
    "an alias": "a: &x 1\nname: *x\n",
    "not YAML": "{[\n",
    "an unknown fault": "faults: [earthquake]\n",
}


@pytest.mark.parametrize("what", PLANS)
def test_a_bad_plan_is_refused_with_its_line_before_anything_starts(
    lantern: Lantern, tmp_path: Path, what: str
) -> None:
    (tmp_path / "plan.yaml").write_text(PLANS[what])
    done = lantern("run", "plan.yaml", "--json")
    assert done.returncode == 2
    assert one_object(done.stdout)["outcome"] == "usage"
    assert b"plan.yaml:" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--policy", "leese"),
        ("--mistake", "no-such-mistake"),
        ("--mistake", "role-only-read", "--policy", "readindex"),
        ("--mistake", "role-only-read", "--nodes", "5"),
        ("--nodes", "0"),
        ("--time", "0"),
        ("--seed", "-1"),
        ("--faults", "earthquake"),
        ("--on", "the moon"),
        ("--allow", "violation"),
        ("--schedule", "/nowhere"),
        ("no-such-plan.yaml",),
        ("--out", "/proc"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(
    lantern: Lantern, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = lantern("run", *arguments)
    assert done.returncode == 2, done.stderr.decode()
    assert b"Error: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_is_a_harness_failure(lantern: Lantern) -> None:
    done = lantern(*QUIET, "--out", "/proc/self/run", "--json")
    assert done.returncode == 6
    assert one_object(done.stdout)["outcome"] == "harness-failure"


@processes
def test_a_full_disk_ends_the_run_and_is_never_a_violation(lantern: Lantern, tmp_path: Path) -> None:
    quiet = " ".join(QUIET)
    done = lantern.shell(f"ulimit -f 4200; $LANTERN {quiet} --rate 0 --time 45 --out full --json")
    said = one_object(done.stdout)
    assert (done.returncode, said["outcome"]) == (6, "harness-failure"), said
    assert said["operations"] > 0
    assert nodes(tmp_path) == []


def interrupted(lantern: Lantern, *signals: signal.Signals) -> tuple[int, dict[str, Any]]:
    """Start a long run under faults, signal it once they may be in force, return how it ended."""
    name = lantern.place.name
    command = lantern.command("run", "--time", "40", "--seed", "2", "--out", name, "--json")
    with subprocess.Popen(
        command,
        cwd=lantern.place,
        env=lantern.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if b"  load" in line:
                break
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(3.0)
            for number in signals:
                child.send_signal(number)
            stdout, _ = child.communicate(timeout=40)
        finally:
            child.kill()
    return child.returncode, one_object(stdout) if stdout else {}


@processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_heals_saves_and_checks(lantern: Lantern, number: signal.Signals) -> None:
    code, said = interrupted(lantern, number)
    assert (code, said["outcome"]) == (130, "interrupted"), said
    assert said["operations"] > 0
    assert said["keys"]
    assert nodes(lantern.place) == []
    assert (lantern.place / lantern.place.name / "verdict.json").exists()
    assert b"nothing to heal" in lantern("heal", "--run", lantern.place.name).stdout


@processes
def test_a_second_signal_heals_only(lantern: Lantern) -> None:
    code, said = interrupted(lantern, signal.SIGINT, signal.SIGTERM)  # twice the same may merge into one
    assert (code, said["outcome"]) == (130, "interrupted"), said
    assert said["keys"] == {}
    assert nodes(lantern.place) == []
    assert b"nothing to heal" in lantern("heal", "--run", lantern.place.name).stdout


@processes
def test_after_a_harness_that_was_killed_heal_leaves_nothing(lantern: Lantern) -> None:
    code, _ = interrupted(lantern, signal.SIGKILL)
    assert code == -signal.SIGKILL
    healed = lantern("heal", "--run", lantern.place.name)
    assert healed.returncode == 0
    assert b"removed" in healed.stdout
    assert nodes(lantern.place) == []
    assert b"nothing to heal" in lantern("heal", "--run", lantern.place.name).stdout
    # What was recorded up to the kill can still be judged, and of the rest nobody knows.
    again = lantern("check", lantern.place.name)
    assert again.returncode == 3
    assert b"this run has no verdict.json" in again.stdout
    alone = lantern("check", f"{lantern.place.name}/history.jsonl")
    assert alone.returncode in {0, 4}
