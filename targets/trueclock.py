"""The true clock: CLOCK_MONOTONIC_RAW past any fake, the same for all processes of a host.

Evidence is stamped with it while a node's own clocks may be bent, by a preload under libc's wrapper or
by a patch of the vDSO. So it goes through neither: `syscall(2)`, called with the kernel's own number.
`ctypes.PyDLL` keeps the interpreter's lock, which for a call of half a microsecond is cheaper.

A node that was fooled here would hand the oracles a bent clock as the truth, so every start tests it:
the parent stamps its own raw clock before it starts the node, and the node's first reading must follow
within the time that starting may take. A bent clock counts from the wall clock's epoch.

`Clocks` reads a node's own pair between two readings of the true one, so that one maps to the other.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import time
from typing import TYPE_CHECKING, Final

import msgspec

from .clock import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

CLOCK_MONOTONIC_RAW: Final = 4
START_MAX_NS: Final = 120_000_000_000

_CLOCK_GETTIME: Final = {"x86_64": 228, "aarch64": 113}


def raw_ns() -> int:
    """Read it as anybody does over whom no fake lies: a harness, a tester."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class ClockError(Exception):
    """There is no true clock here, or it is not true."""


def open_clock() -> Callable[[], int]:
    """Return a reader of the true clock, in nanoseconds; raise `ClockError` where none is known."""
    machine = platform.machine()
    number = _CLOCK_GETTIME.get(machine)
    if number is None or sys.maxsize < 1 << 32:
        known = " and ".join(_CLOCK_GETTIME)
        raise ClockError(f"the number of clock_gettime is known for 64-bit {known}, not for {machine}")
    call = ctypes.PyDLL(None).syscall
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p)
    call.restype = ctypes.c_long
    timespec = (ctypes.c_int64 * 2)()
    where = ctypes.addressof(timespec)

    def now_ns() -> int:
        if call(number, CLOCK_MONOTONIC_RAW, where):
            raise ClockError("clock_gettime(CLOCK_MONOTONIC_RAW) failed")
        seconds, nanoseconds = timespec
        return seconds * 1_000_000_000 + nanoseconds

    return now_ns


def verify(spawned_ns: int, *, first_ns: int) -> None:
    """Raise `ClockError` unless ``first_ns`` can follow ``spawned_ns``, the parent's stamp."""
    if not 0 <= first_ns - spawned_ns <= START_MAX_NS:
        raise ClockError(
            f"the raw clock reads {first_ns} ns, but this node was started at {spawned_ns} ns:"
            " the true clock is faked, or the node took longer than two minutes to start"
        )


class Stamp(msgspec.Struct, frozen=True, gc=False):
    """One instant on all clocks: ``own`` was read inside the closed interval ``true_ns``."""

    own: Reading
    true_ns: tuple[int, int]


class Clocks:
    """Reads them; the true clock is handed in, open and verified."""

    def __init__(self, true_now_ns: Callable[[], int]) -> None:
        self._true_now_ns = true_now_ns

    def mono_ns(self) -> int:
        """Read the own monotonic clock alone."""
        return time.monotonic_ns()

    def stamp(self) -> Stamp:
        """Read the own clocks between two readings of the true one."""
        before_ns = self._true_now_ns()
        own = Reading(self.mono_ns(), time.time_ns())
        return Stamp(own, (before_ns, self._true_now_ns()))
