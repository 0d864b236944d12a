"""dockerd itself, killed under a whole run: a second one, of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from docker_private import PrivateEngine

from harness.outcome import Outcome
from targets.host.heal import heal as local_heal

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("engine"), pytest.mark.timeout(240)]

LANTERN = (sys.executable, "-P", "-m", "harness.cli.main")
LINES = 200
PATIENCE_S = 90.0


@pytest.fixture
def private() -> Iterator[PrivateEngine]:
    theirs = _host_engine()
    engine = PrivateEngine()
    try:
        engine.start()
        engine.load("lantern-etcd")
        yield engine
    finally:
        engine.close()
    assert _host_engine() == theirs, "the host's own engine is as it was"


def _host_engine() -> tuple[str, ...]:
    asked = (
        ["docker", "info", "--format", "{{.ID}}"],
        ["docker", "network", "ls", "--filter", "name=bridge", "--format", "{{.ID}}"],
        ["ip", "-br", "link", "show", "docker0"],
    )
    return tuple(
        subprocess.run(one, capture_output=True, text=True, timeout=30, check=True).stdout.split()[0]
        for one in asked
    )


def test_a_dockerd_that_is_killed_mid_run_ends_it_with_faults_made_and_nothing_left(
    tmp_path: Path, private: PrivateEngine
) -> None:
    name = f"bereft-{os.getpid()}"
    out = tmp_path / name
    options = ["--time", "10", "--rate", "100", "--faults", "pause,partition", "--out", str(out)]
    run = private.command(*LANTERN, "run", "--target", "etcd", "--json", *options)
    child = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        history = out / "history.jsonl"
        deadline_s = time.monotonic() + PATIENCE_S
        while not (history.exists() and history.read_bytes().count(b"\n") > LINES):
            assert child.poll() is None, child.communicate()
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        written = history.read_bytes().count(b"\n")
        running = private.docker("ps", "--quiet").stdout.split()
        assert len(running) == 3
        private.kill()
        assert private.docker("version", check=False).returncode
        assert all(map(_alive, running)), "a daemon takes no container along"

        said, told = child.communicate(timeout=PATIENCE_S)
        result = json.loads(said)
        assert child.returncode == Outcome.HARNESS_FAILURE.code, told
        assert "the Docker engine" in str(result["reason"])
        assert history.read_bytes().count(b"\n") > 2 * written, "clients went on"
        assert result["faults"]["pause"]["installed"] > 0, "by signals, past the daemon"
        assert result["faults"]["cut"]["installed"] > 0
        assert not any(map(_alive, running)), "killed from outside"

        private.start()
        heal = private.command(*LANTERN, "heal", "--run", name, "--json")
        healed = subprocess.run(heal, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert healed.returncode == 0, healed.stdout + healed.stderr
        done = [line for run in json.loads(healed.stdout)["runs"] for line in run["done"]]
        assert sum(line.rpartition("-")[2] in {"n1", "n2", "n3"} for line in done) == 3
        assert private.docker("ps", "--all", "--quiet").stdout == ""
        assert private.docker("volume", "ls", "--quiet").stdout == ""
    finally:
        child.kill()
        child.wait()
        local_heal(name)


def _alive(container: str) -> bool:
    """Tell whether any process of this host is in a container's control group."""
    for groups in Path("/proc").glob("[0-9]*/cgroup"):
        with suppress(OSError):  # it ended while we looked
            if container in groups.read_text():
                return True
    return False
