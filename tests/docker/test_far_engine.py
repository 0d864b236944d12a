"""An engine on another machine: what needs no process id there works, the rest is skipped by name.

The machine is another one in what matters: the engine is reached by TCP, and the harness lives among
other process ids than the containers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from docker_proxy import Proxy

from harness.outcome import Outcome
from targets.docker.container import NO_PID
from targets.docker.engine import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("engine"), pytest.mark.timeout(180)]

ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
RUN = (sys.executable, "-P", "-m", "harness.cli.main", "run", "--json")
RUN_S_MAX = 120
FAR = """
schema: 1
schedule:
  - episode: far
    steps:
      - {do: pause, target: follower-1, for: 0.5E}
      - {do: kill, target: follower-2, for: 1E}
      - {do: cut, shape: isolate-one, target: leader, for: 0.5E}
      - {do: clock, target: leader, rate: 0.1, for: 0.5E}
      - {wait: 2E, do: read, target: all}
"""


@pytest.fixture
def far() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.stop()


def run(far: Proxy, out: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [*ELSEWHERE, *RUN, *options, "--out", str(out)],
        env={**os.environ, "DOCKER_HOST": far.host},
        capture_output=True, text=True, timeout=RUN_S_MAX, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def test_etcd_far_away_is_paused_and_killed_by_its_engine_and_its_links_are_skipped(
    far: Proxy, tmp_path: Path
) -> None:
    schedule = tmp_path / "far.yaml"
    schedule.write_text(FAR)
    options = ("--target", "etcd", "--schedule", str(schedule), "--rate", "100", "--time", "8")
    code, said, told = run(far, tmp_path / "run", *options)
    assert code in {Outcome.PASS.code, Outcome.NOT_EXERCISED.code}, told
    installed = {kind: one["installed"] for kind, one in said["faults"].items()}
    assert installed == {"pause": 1, "kill": 1, "cut": 0, "clock": 0}
    assert said["faults"]["cut"]["skipped"] == 1
    assert NO_PID in (tmp_path / "run/schedule.yaml").read_text()
    assert said["healed"]


def test_etcd_far_away_is_caught_stale_once_its_leader_was_frozen(far: Proxy, tmp_path: Path) -> None:
    options = ("--policy", "serializable", "--rate", "100", "--time", "12")
    code, said, told = run(far, tmp_path / "run", "--target", "etcd", *options)
    assert code == Outcome.VIOLATION.code, told
    assert said["violation"]["kind"] == "history"


def test_what_is_started_with_files_of_this_machine_is_refused_with_the_reason(
    far: Proxy, tmp_path: Path
) -> None:
    code, said, told = run(far, tmp_path / "run", "--on", "docker", "--time", "5")
    assert code == Outcome.HARNESS_FAILURE.code
    assert NO_PID in str(said.get("reason")) + told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("", None),
        ("unix:///var/run/docker.sock", None),
        ("tcp://db.example.org:2376", "db.example.org"),
        ("tcp://127.0.0.1:2375", "127.0.0.1"),
        ("ssh://me@db.example.org", "db.example.org"),
    ],
)
def test_where_an_engine_is_reached_is_read_from_its_address(address: str, host: str | None) -> None:
    assert host_of(address) == host
