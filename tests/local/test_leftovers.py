"""Nothing is left of a run, whichever way it ends: no process, no socket, no file outside its directory.

Each run is the only thing in namespaces of its own, so what is there afterwards is its own, whoever else
runs on this host.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.processes

INSIDE = Path(__file__).parent / "leftovers_inside.py"
ROOT = INSIDE.parent.parent.parent
APART = ("unshare", *(() if os.geteuid() == 0 else ("-Ur",)), "-mpfn", "--mount-proc")
RUN_S_MAX = 100.0

NO_PYTHON = """
from targets.leasekv import processes
processes.python = lambda *arguments: ("/no/such/python", *arguments)
"""
LAME_PYTHON = """
import sys
from targets.leasekv import processes
processes.python = lambda *arguments: (sys.executable, "-S", "-P", "-m", *arguments)
"""
TAKEN = """
import socket
from targets.host.gate import Port
from targets.{place} import {who}
holder = socket.create_server(("127.0.0.1", 0))
class Taken(Port):
    def __init__(self):
        super().__init__()
        self.address = holder.getsockname()
{who}.Port = Taken
"""


def run(way: str, place: Path, patch: str = "") -> dict[str, Any]:
    """Return how a run ended and what it left."""
    done = subprocess.run(
        [*APART, sys.executable, INSIDE, place, way, patch],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=RUN_S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def assert_nothing_is_left(told: dict[str, Any]) -> None:
    assert (told["processes"], told["sockets"], told["files"]) == ([], [], []), told


def test_a_run_that_ends_leaves_nothing(tmp_path: Path) -> None:
    told = run("end", tmp_path)
    assert told["code"] in {0, 4}, told
    assert any("fault" in line for line in told["story"])
    assert_nothing_is_left(told)


@pytest.mark.parametrize("way", ["interrupted", "interrupted-twice", "terminated-at-start"])
def test_a_run_that_is_ended_leaves_nothing(way: str, tmp_path: Path) -> None:
    told = run(way, tmp_path)
    assert told["code"] == 130, told
    assert_nothing_is_left(told)


def test_what_a_killed_harness_left_is_gone_with_the_next_run(tmp_path: Path) -> None:
    told = run("harness-killed", tmp_path)
    assert told["code"] in {0, 4}, told
    assert_nothing_is_left(told)


@pytest.mark.parametrize(
    ("way", "seen"),
    [
        ("node-killed", "n2 was killed by somebody else with SIGKILL (no fault of this run did it)"),
        ("node-killed-twice", "n2 was killed by somebody else with SIGKILL (no fault"),
        ("node-stopped", "n2 was stopped by somebody else (no fault of this run did it)"),
        ("node-terminated", "n2 "),
    ],
)
def test_a_node_that_somebody_else_signals_is_named(way: str, seen: str, tmp_path: Path) -> None:
    told = run(way, tmp_path)
    assert told["code"] == 6, told
    assert told["reason"].startswith(seen)
    assert "run it again" in told["reason"] or "somebody sent SIGTERM" in told["reason"]
    assert "\n" not in told["reason"]
    assert_nothing_is_left(told)


@pytest.mark.parametrize(
    ("patch", "seen"),
    [
        (NO_PYTHON, "n1 cannot be started: /no/such/python: No such file or directory"),
        (LAME_PYTHON, " ended with code 1 as it started: ModuleNotFoundError: No module named"),
        (TAKEN.format(place="local", who="node"), " ended with code 74 as it started: "),
        (TAKEN.format(place="host", who="gate"), "cannot be listened on: Address already in use"),
    ],
    ids=["no-python", "lame-python", "port-of-a-node", "port-of-a-gate"],
)
def test_a_node_that_cannot_start_is_named_with_the_reason(
    patch: str, seen: str, tmp_path: Path
) -> None:
    told = run("end", tmp_path, patch)
    assert told["code"] == 6, told
    assert seen in told["reason"]
    assert "\n" not in told["reason"]
    assert "Traceback" not in told["reason"]
    assert_nothing_is_left(told)
