"""Bent clocks for processes, by libfaketime's preload.

What the library shows for a clock is ``S + off + (t - start) * rate``, with ``t`` the real clock,
``start`` its reading when the process loaded the library and ``S`` the wall clock at that instant. The
control file holds ``off`` and ``rate``; a change of rate alone would therefore bend the past too and
step the clock by all that has passed. So every change of rate comes with the offset that undoes this::

    off1 = off0 + (T - start) * (rate0 - rate1)

``start`` is read from the outside: the library makes its shared memory in the moment it takes the
time, and the kernel stamps the file. Forms that step the clock (FAKETIME_XRESET, absolute times) are
never used. The file is replaced by rename, because garbage in it *ends the process*.

Two modes, chosen when a node starts. WALL leaves the monotonic clock alone and moves the wall clock.
RATE bends every clock of the process alike and can move none: a backward jump of a faked monotonic
clock would freeze the node's timers, which is a fault of the tester and not of a clock.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from targets.cluster import ClockBend, ClockMode, TargetError, Unsupported
from targets.trueclock import raw_ns

from . import procfs
from .runtime import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from targets.cluster import NodeStatus

PPM: Final = 1_000_000
RATE_PPM_MIN: Final = -900_000
RATE_PPM_MAX: Final = 4_000_000

SHM: Final = Path("/dev/shm")  # noqa: S108 - where the library makes its own files

_SYSTEM: Final = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
_FILE: Final = "libfaketime.so.1"


def library() -> Path | None:
    """Return the preload: PyPI's, else the system's, else None."""
    package = importlib.util.find_spec("libfaketime")
    found = []
    if package is not None and package.origin is not None:
        found.append(Path(package.origin).parent / "vendor/libfaketime/src" / _FILE)
    for base in map(Path, _SYSTEM):
        found += [base / "faketime" / _FILE, *sorted(base.glob(f"*/faketime/{_FILE}"))]
    return next((path for path in found if path.is_file()), None)


def unavailable(mode: ClockMode) -> str | None:
    """Return why clocks cannot be bent in this mode here, for a person; None if they can."""
    if mode is ClockMode.NONE:
        return "the clocks were not armed when the nodes started"
    if library() is None:
        return (
            "libfaketime was not found: install the Python package libfaketime or the system's faketime"
        )
    if not os.access(SHM, os.W_OK):
        return f"{SHM} is not writable, and libfaketime keeps its start time there"
    return None


def preloaded() -> bool:
    """Tell whether this very process runs under the preload, which a harness must not."""
    return procfs.maps(os.getpid(), "libfaketime")


class ControlFile:
    """The control file of one node, and what it makes of the node's clocks."""

    def __init__(self, directory: Path, mode: ClockMode) -> None:
        self._directory = directory
        self._path = directory / "timestamp"
        self._mode = mode
        self._bend = ClockBend()
        self._off_ns = 0
        self._start_ns: int | None = None

    def environment(self) -> dict[str, str]:
        """Write the file for a fresh start and return what the node's environment needs besides.

        A bend outlives its process: a clock that ran fast still does after a restart.
        """
        if self._mode is ClockMode.NONE:
            return {}
        self._start_ns = None
        self._off_ns = self._bend.wall_offset_ns
        self._write()
        preload, control = self._as_seen()
        return {
            "LD_PRELOAD": preload,
            "FAKETIME_TIMESTAMP_FILE": control,
            "FAKETIME_NO_CACHE": "1",
            "NO_FAKE_STAT": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1" if self._mode is ClockMode.WALL else "0",
        }

    def _as_seen(self) -> tuple[str, str]:
        """Return the paths of the preload and of the control file, as the node sees them."""
        reason = unavailable(self._mode)
        found = library()
        if reason is not None or found is None:
            raise TargetError(f"clocks cannot be bent: {reason}")
        preload = self._directory / _FILE
        if not preload.exists():
            preload.symlink_to(found)  # LD_PRELOAD takes no path with a space or a colon in it
        if set(str(preload)) & set(" :"):
            raise TargetError(f"{preload} has a space or a colon in it: set TMPDIR to another directory")
        return str(preload), str(self._path)

    def _shared(self, pid: int) -> Path:
        """Return the shared memory that a process's library makes as it takes its start."""
        return SHM / f"faketime_shm_{pid}"

    def started(self, pid: int) -> None:
        """Take the start from the process that has just come up; refuse one without the preload."""
        if self._mode is ClockMode.NONE:
            return
        try:
            made = self._shared(pid).stat()
        except FileNotFoundError:
            made = None
        if made is None or not procfs.maps(pid, "libfaketime"):
            raise TargetError(f"process {pid} came up without libfaketime: its clocks cannot be bent")
        self._start_ns = made.st_mtime_ns - time.time_ns() + time.monotonic_ns()

    def bend(self, bend: ClockBend) -> None:
        """Change what the clocks do, from now on; raise `Unsupported` for what this mode cannot do."""
        if self._mode is ClockMode.NONE:
            raise Unsupported("the clocks were not armed when the nodes started")
        if self._mode is ClockMode.WALL and bend.rate_ppm:
            raise Unsupported("the clocks were armed for jumps of the wall clock, not for rates")
        if self._mode is ClockMode.RATE and bend.wall_offset_ns:
            raise Unsupported("the clocks were armed for rates, not for jumps of the wall clock")
        if not RATE_PPM_MIN <= bend.rate_ppm <= RATE_PPM_MAX:
            raise Unsupported(
                f"a rate of {bend.rate_ppm} ppm is outside {RATE_PPM_MIN} to {RATE_PPM_MAX}"
            )
        if self._mode is ClockMode.WALL:
            self._off_ns = bend.wall_offset_ns
        elif self._start_ns is not None:
            passed_ns = time.monotonic_ns() - self._start_ns
            self._off_ns += passed_ns * (self._bend.rate_ppm - bend.rate_ppm) // PPM
        self._bend = bend
        self._write()

    def _write(self) -> None:
        rate = 1 + self._bend.rate_ppm / PPM
        text = f"{self._off_ns / 1e9:+.6f} x{rate:.9g}\n"
        replace(self._path, text.encode("ascii"))

    def error_ns(self, status: NodeStatus) -> int:
        """Return how far a node's own clock is from what the file asks for, at the status's instant."""
        since_ns = raw_ns() - status.true_ns
        mono_ns, wall_ns = time.monotonic_ns() - since_ns, time.time_ns() - since_ns
        if self._mode is not ClockMode.RATE:
            return abs(status.own.wall_ns - wall_ns - self._off_ns)
        assert self._start_ns is not None
        passed_ns = mono_ns - self._start_ns
        bent_ns = wall_ns - passed_ns + self._off_ns + passed_ns * (PPM + self._bend.rate_ppm) // PPM
        return abs(status.own.mono_ns - bent_ns)


def sweep(pid: int) -> list[str]:
    """Remove what the library left of a dead process of ours; return the files removed."""
    swept = []
    for path in left(pid):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            swept.append(str(path))
    return swept


def left(pid: int) -> Iterator[Path]:
    """Yield the files of ours that the library has, or left, of a process."""
    for path in (SHM / f"faketime_shm_{pid}", SHM / f"sem.faketime_sem_{pid}"):
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_uid == os.getuid():
                yield path
