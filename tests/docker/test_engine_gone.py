"""An engine that goes away under a whole run: nobody's is stopped, the socket is a proxy's."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from docker_proxy import ENGINE, Proxy

from harness.outcome import Outcome
from targets.docker.heal import heal
from targets.docker.project import NAME_LABEL
from targets.host.heal import heal as local_heal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("engine"), pytest.mark.timeout(180)]

LINES = 200
PATIENCE_S = 90.0
HEARD_S = 15.0


def _running(name: str) -> str:
    """Return the ids of the run's containers that still run."""
    asked = ["docker", "ps", "-q", "--filter", f"label={NAME_LABEL}={name}"]
    return subprocess.run(asked, capture_output=True, check=True, timeout=30, text=True).stdout


@pytest.mark.skipif(not os.path.exists(ENGINE), reason=f"the engine is not at {ENGINE}")  # noqa: PTH110
def test_a_daemon_that_is_stopped_mid_run_ends_it_with_faults_made_and_nodes_dead(
    tmp_path: Path,
) -> None:
    name = f"orphan-{os.getpid()}"
    out = tmp_path / name
    proxy = Proxy(tmp_path / "engine.sock")
    command = [sys.executable, "-P", "-m", "harness.cli.main", "run", "--on", "docker", "--json"]
    options = ["--time", "10", "--rate", "100", "--faults", "pause,partition", "--out", str(out)]
    child = subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "DOCKER_HOST": proxy.host},
        text=True,
    )
    try:
        history = out / "history.jsonl"
        deadline_s = time.monotonic() + PATIENCE_S
        while not (history.exists() and history.read_bytes().count(b"\n") > LINES):
            assert child.poll() is None, child.communicate()
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        written = history.read_bytes().count(b"\n")
        proxy.stop()
        said, told = child.communicate(timeout=PATIENCE_S)
        result = json.loads(said)
        assert child.returncode == Outcome.HARNESS_FAILURE.code, told
        assert "engine" in str(result["reason"])
        assert history.read_bytes().count(b"\n") > 2 * written, "clients went on"
        assert result["faults"]["pause"]["installed"] > 0, "by signals, past the daemon"
        assert result["faults"]["cut"]["installed"] > 0
        # The daemon hears of what was killed from outside a moment later than the harness.
        deadline_s = time.monotonic() + HEARD_S
        while _running(name) and time.monotonic() < deadline_s:
            time.sleep(0.1)
        assert _running(name) == "", "killed from outside"
        (found,) = asyncio.run(heal(name))
        nodes = [line for line in found.done if line.rpartition("-")[2].startswith("n")]
        assert len(nodes) == 3, "a container each"
        assert asyncio.run(heal(name)) == ()
    finally:
        proxy.stop()
        child.kill()
        child.wait()
        asyncio.run(heal(name))
        local_heal(name)
