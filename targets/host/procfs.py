"""Processes as the kernel sees them, read from /proc each time and never remembered.

A pid alone names nobody: it is used again. A process is its pid *and* the instant it started, in ticks
since this boot, so an `Identity` kept in a file means nothing after a reboot or in another container.
Signals go through a pidfd that is opened first and checked second, which leaves no gap for another
process to slip into.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

import msgspec

from targets.cluster import ProcessState

PROC: Final = Path("/proc")

_STAT_BYTES: Final = 4096  # some fifty numbers and a name of 15 bytes
_STATE: Final = 0  # fields of /proc/PID/stat, counted from behind the command's name
_FLAGS: Final = 6
_START_TICKS: Final = 19
_EXITING: Final = 0x4  # the kernel's PF_EXITING


class Identity(msgspec.Struct, frozen=True):
    """One process for good: no other ever has both."""

    pid: int
    start_ticks: int


def _stat(directory: str) -> list[str] | None:
    """Return the fields of its stat file behind the name (which may hold anything), None if gone.

    Without the layers of a file object, for a pause is a dozen of these and should take a millisecond.
    """
    try:
        file = os.open(f"{directory}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        text = os.read(file, _STAT_BYTES)
    except ProcessLookupError:
        return None
    finally:
        os.close(file)
    return text.rpartition(b")")[2].decode().split()


def identity(pid: int) -> Identity | None:
    """Return who has this pid now."""
    fields = _stat(f"{PROC}/{pid}")
    return None if fields is None else Identity(pid, int(fields[_START_TICKS]))


def state(who: Identity) -> ProcessState:
    """Return what a process does: stopped once *every* thread is, gone as soon as it is a zombie."""
    base = f"{PROC}/{who.pid}"
    if _fields(who) is None:
        return ProcessState.GONE
    try:
        threads = [_stat(thread.path) for thread in os.scandir(f"{base}/task")]
    except (FileNotFoundError, ProcessLookupError):
        return ProcessState.GONE
    stopped = all(found is None or found[_STATE] in "Tt" for found in threads)
    return ProcessState.STOPPED if stopped else ProcessState.RUNNING


def ending(who: Identity) -> bool:
    """Tell whether a process is gone or on its way there: it runs none of its code any more."""
    fields = _fields(who)
    return fields is None or bool(int(fields[_FLAGS]) & _EXITING)


def _fields(who: Identity) -> list[str] | None:
    """Return what `_stat` does of exactly this process; None for a zombie too."""
    fields = _stat(f"{PROC}/{who.pid}")
    gone = fields is None or int(fields[_START_TICKS]) != who.start_ticks or fields[_STATE] in "ZX"
    return None if gone else fields


def send(who: Identity, number: signal.Signals) -> bool:
    """Signal exactly this process; return False if it is gone, whoever has its pid now."""
    try:
        handle = os.pidfd_open(who.pid)
    except ProcessLookupError:
        return False
    try:
        if identity(who.pid) != who:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def boot_id() -> str:
    """Return the name of this boot of the host."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def maps(pid: int, name: str) -> bool:
    """Tell whether a process has a file with ``name`` in its path mapped."""
    try:
        return name in (PROC / str(pid) / "maps").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
