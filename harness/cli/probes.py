"""What this host can do, found out by trying, one small function a question.

A probe never trusts a version number where it can look: a clock is bent in a child and read back, a
child is stopped and its state read from /proc, a file is synced and timed. Each answers with a
`Finding`: fine, a limit one can live with, or broken; with the reason, and the remedy where a person
can do something about it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from targets import trueclock
from targets.cluster import ClockMode, ProcessState, TargetError
from targets.host import faketime, procfs

from . import clock_probe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_STOP_S_MAX: Final = 2.0
_CLOCKS_APART_NS_MAX: Final = 100_000_000
_SYNC_MS_FINE: Final = 30.0
_SYNCS: Final = 20
_FREE_BYTES_MIN: Final = 200 * 2**20
_FREE_BYTES_FINE: Final = 1024 * 2**20
_OPEN_FILES_MIN: Final = 512


class Standing(StrEnum):
    """How a probe came out."""

    OK = "ok"
    LIMITED = "limited"
    BROKEN = "broken"


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at. ``remedy`` is what a person can do, None where there is nothing to do."""

    name: str
    standing: Standing
    reason: str
    remedy: str | None = None


def _fine(name: str, seen: str) -> Finding:
    return Finding(name, Standing.OK, seen)


def _limited(name: str, seen: str, remedy: str) -> Finding:
    return Finding(name, Standing.LIMITED, seen, remedy)


def _broken(name: str, seen: str, remedy: str) -> Finding:
    return Finding(name, Standing.BROKEN, seen, remedy)


def python() -> Finding:
    """Look whether the nodes can run on this Python."""
    seen = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if sys.version_info < (3, 11) or platform.python_implementation() != "CPython":
        return _broken("python", seen, "use CPython 3.11 or later: nodes are started with `python -P`")
    return _fine("python", seen)


def own_clock() -> Finding:
    """Look whether the harness's own clock is true: a bent one would bend every stamp of a history."""
    if faketime.preloaded():
        return _broken(
            "own-clock",
            "this process itself runs under libfaketime, so its stamps mean nothing",
            "start lantern without LD_PRELOAD; it arms the preload for its nodes by itself",
        )
    return _fine("own-clock", "no fake clock is loaded into the harness")


def true_clock() -> Finding:
    """Read the clock that evidence is stamped with."""
    try:
        read_ns = trueclock.open_clock()()
    except trueclock.ClockError as error:
        return _broken("true-clock", str(error), "run on 64-bit x86 or ARM Linux")
    here_ns = trueclock.raw_ns()
    if abs(here_ns - read_ns) > _CLOCKS_APART_NS_MAX:
        return _broken(
            "true-clock", f"it is {here_ns - read_ns} ns off libc's", "look for a preload of libc"
        )
    return _fine("true-clock", "CLOCK_MONOTONIC_RAW can be read past libc")


def clock(mode: ClockMode, what: str) -> Finding:
    """Bend a child's clock and read it back."""
    name = f"clock-{mode.value}"
    wrong = clock_probe.bend(mode)
    if wrong is None:
        return _fine(name, f"{what} by {faketime.library()}, read back, the true clock untouched")
    return _limited(name, wrong, "without it clock faults are skipped; try: pip install libfaketime")


def signals() -> Finding:
    """Stop a child, see that it is stopped, and continue it."""
    child = subprocess.Popen([sys.executable, "-IS", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        who = procfs.identity(child.pid)
        child.send_signal(signal.SIGSTOP)
        stopped = who is not None and _await_stopped(who)
        child.send_signal(signal.SIGCONT)
    finally:
        child.kill()
        child.communicate()
    if not stopped:
        return _broken(
            "signals",
            "a stopped child is not seen as stopped in /proc",
            "mount /proc so that a user sees its own processes",
        )
    return _fine("signals", "SIGSTOP and SIGCONT take hold and can be read back")


def _await_stopped(who: procfs.Identity) -> bool:
    deadline_s = time.monotonic() + _STOP_S_MAX
    while time.monotonic() < deadline_s:
        if procfs.state(who) is ProcessState.STOPPED:
            return True
        time.sleep(0.005)
    return False


def loopback() -> Finding:
    """Listen on loopback."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
    except OSError as error:
        return _broken("loopback", f"cannot listen on 127.0.0.1: {error}", "run: ip link set lo up")
    return _fine("loopback", f"127.0.0.1 can be listened on (tried port {port})")


def disk(place: Path) -> Finding:
    """Look for room where runs are kept, and time a sync there."""
    elsewhere = "free some space, or keep runs elsewhere with --out"
    try:
        place.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(place).free
        took_ms = _sync_ms(place)
    except OSError as error:
        return _broken("disk", f"cannot write to {place}: {error}", elsewhere)
    seen = f"{free / 2**30:.1f} GiB free in {place}, a sync takes {took_ms:.2f} ms"
    if free < _FREE_BYTES_MIN:
        return _broken("disk", seen, elsewhere)
    if free < _FREE_BYTES_FINE:
        return _limited("disk", seen, elsewhere)
    if took_ms > _SYNC_MS_FINE:
        return _limited("disk", seen, "slow syncs make slow writes: use a faster disk with --out")
    return _fine("disk", seen)


def _sync_ms(place: Path) -> float:
    took_ms = []
    with tempfile.TemporaryFile(dir=place) as file:
        for _ in range(_SYNCS):
            file.write(b"\0" * 512)
            file.flush()
            start_ns = time.perf_counter_ns()
            os.fsync(file.fileno())
            took_ms.append((time.perf_counter_ns() - start_ns) / 1e6)
    return statistics.median(took_ms)


def cores() -> Finding:
    """Count processors: with too few a stall means a queue, not a fault."""
    count = len(os.sched_getaffinity(0))
    if count < 2:
        return _limited("cores", "one processor: its queue will look like stalls", "give it two")
    return _fine("cores", f"{count} processors")


def limits() -> Finding:
    """Look whether the user's limits leave room for the links and the nodes."""
    files, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    seen = f"{files} open files allowed"
    if files != resource.RLIM_INFINITY and files < _OPEN_FILES_MIN:
        return _limited("limits", seen, f"run: ulimit -n {_OPEN_FILES_MIN} (the hard limit is {hard})")
    return _fine("limits", seen)


def engine() -> Finding:
    """Ask the Docker engine. Only containers need one; nothing of ``--on local`` does."""
    import docker  # noqa: PLC0415 - half a second that only this probe needs

    try:
        with contextlib.closing(docker.from_env(timeout=5)) as client:
            version = client.version()["Version"]
    except (docker.errors.DockerException, OSError, KeyError) as error:
        reason = " ".join(str(error).split())
        remedy = "not needed for --on local; else start the daemon and let your user at its socket"
        return _limited("docker-engine", f"no engine answers: {reason}", remedy)
    return _fine("docker-engine", f"engine {version} answers")


def tried(name: str, probe: Callable[[], Finding]) -> Finding:
    """Run a probe; one that raises is a finding too."""
    try:
        return probe()
    except TargetError as error:
        return Finding(name, Standing.BROKEN, str(error))
    except Exception as error:  # noqa: BLE001 - a doctor looks at broken hosts
        return Finding(name, Standing.BROKEN, f"could not be looked at: {type(error).__name__}: {error}")
