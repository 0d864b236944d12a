"""`lantern doctor`: what is wrong with a host is said, with its remedy, and nothing is guessed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from harness.cli import clock_probe
from harness.cli.doctor import PROBES
from harness.cli.probes import Standing
from targets.clock import Reading
from targets.cluster import ClockBend, ClockMode
from targets.host import faketime
from targets.trueclock import Stamp

if TYPE_CHECKING:
    from cli_lantern import Lantern

NEEDED = {"python", "own-clock", "true-clock", "signals", "loopback", "disk"}


def findings(stdout: bytes) -> dict[str, dict[str, Any]]:
    return {found["name"]: found for found in json.loads(stdout)["findings"]}


def test_this_host_can_run_what_its_tests_run(lantern: Lantern) -> None:
    done = lantern("doctor", "--json")
    found = findings(done.stdout)
    assert set(found) == set(PROBES)
    assert {name for name in NEEDED if found[name]["standing"] != Standing.OK} == set()
    assert done.returncode == 0


def test_lines_say_the_same_with_the_remedy(lantern: Lantern) -> None:
    patch = "import os\nos.sched_getaffinity = lambda _: {0}"
    shown = lantern("doctor", patch=patch).stdout.decode()
    assert "limited  cores" in shown
    assert "remedy: give it two" in shown


NO_LIBRARY = "from targets.host import faketime\nfaketime.library = lambda: None"
FULL_DISK = """
import collections, shutil
usage = collections.namedtuple("usage", "total used free")
shutil.disk_usage = lambda _: usage(9, 9, 0)
"""
NO_LOOPBACK = """
import socket
def refuse(*_, **__): raise OSError(99, "no loopback")
socket.create_server = refuse
"""
STOPPED_CLOCK = """
from targets import trueclock
trueclock.open_clock = lambda: lambda: 0
"""
NEVER_STOPS = """
from targets.cluster import ProcessState
from targets.host import procfs
procfs.state = lambda _: ProcessState.RUNNING
"""
FEW_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
"""
ODD_HOST = """
import os
def fail(_): raise OSError("odd host")
os.sched_getaffinity = fail
"""
BREAKS = {
    "clock-wall": (NO_LIBRARY, "limited", 0),
    "clock-rate": (NO_LIBRARY, "limited", 0),
    "docker-engine": ("import os\nos.environ['DOCKER_HOST'] = 'unix:///nowhere'", "limited", 0),
    "limits": (FEW_FILES, "limited", 0),
    "disk": (FULL_DISK, "broken", 6),
    "loopback": (NO_LOOPBACK, "broken", 6),
    "true-clock": (STOPPED_CLOCK, "broken", 6),
    "signals": (NEVER_STOPS, "broken", 6),
    "cores": (ODD_HOST, "broken", 6),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_thing_that_is_wrong_is_found(lantern: Lantern, name: str) -> None:
    patch, standing, code = BREAKS[name]
    done = lantern("doctor", "--json", patch=patch)
    found = findings(done.stdout)
    assert (found[name]["standing"], done.returncode) == (standing, code)
    assert found[name]["reason"]
    others = {other for other in found if found[other]["standing"] == "broken"}
    assert others <= {name}


def test_without_an_engine_nothing_is_said_of_what_only_containers_could_show(lantern: Lantern) -> None:
    done = lantern("doctor", "--on", "docker", env={"DOCKER_HOST": "unix:///nowhere"})
    shown = " ".join(done.stdout.decode().split())
    assert done.returncode == 6
    assert "BROKEN engine no Docker engine answers at unix:///nowhere" in shown
    assert "remedy: start the daemon" in shown
    assert "ok compose-file" in shown
    for never in ("cuts", "delays", "images", "EngineAbsentError", "--on local"):
        assert never not in shown


@pytest.mark.skipif(faketime.library() is None, reason="libfaketime is not installed")
def test_a_harness_under_the_preload_is_refused(lantern: Lantern) -> None:
    env = {"LD_PRELOAD": str(faketime.library()), "FAKETIME": "+0"}
    done = lantern("doctor", "--json", env=env)
    assert done.returncode == 6
    assert findings(done.stdout)["own-clock"]["standing"] == "broken"
    refused = lantern("run", "--time", "1", env=env)
    assert refused.returncode == 6
    assert b"libfaketime" in refused.stdout


def stamp(*, mono_ms: int, wall_ms: int, true_ms: int) -> Stamp:
    true_ns = true_ms * 1_000_000
    return Stamp(Reading(mono_ms * 1_000_000, wall_ms * 1_000_000), (true_ns, true_ns + 1000))


FASTER = ClockBend(rate_ppm=500_000)
BACK = ClockBend(wall_offset_ns=-(10**9))
START = stamp(mono_ms=0, wall_ms=0, true_ms=0)


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (stamp(mono_ms=300, wall_ms=300, true_ms=200), None),
        (stamp(mono_ms=200, wall_ms=200, true_ms=200), "monotonic clock went 200 ms"),
        (stamp(mono_ms=4500, wall_ms=4500, true_ms=3000), "true clock"),
    ],
)
def test_a_rate_counts_as_bent_only_if_it_is_what_was_asked_for(last: Stamp, said: str | None) -> None:
    found = clock_probe.wrong(FASTER, START, START, last)
    assert found is None if said is None else said in (found or "")


def test_a_wall_clock_counts_as_bent_only_if_it_jumped() -> None:
    jumped = stamp(mono_ms=0, wall_ms=-1000, true_ms=0)
    assert clock_probe.wrong(BACK, START, jumped, stamp(mono_ms=200, wall_ms=-800, true_ms=200)) is None
    still = stamp(mono_ms=200, wall_ms=200, true_ms=200)
    assert "wall clock" in (clock_probe.wrong(BACK, START, START, still) or "")


def test_without_the_library_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faketime, "library", lambda: None)
    assert "libfaketime" in (clock_probe.bend(ClockMode.RATE) or "")
