"""Reading what a user names on the command line, never more of it than was allowed.

The checker asks its budget only while it searches. `watched` keeps the limits where nobody asks: while
a history is read and understood, an alarm looks at the clock and at the memory many times a second.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from harness.memory import held_bytes
from harness.store.files import open_named
from harness.store.rundir import existing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

TICK_S: Final = 0.05


class TooMuch(Exception):  # noqa: N818 - an answer: the verdict is unknown
    """There is more to read than the limits of time and memory leave room for."""


def history_of(path: str, *, bytes_max: int) -> tuple[bytes, str]:
    """Return the history that ``path`` means, and its name: a regular file, ``-``, a run directory's.

    A run that ended before its load began has none, which is an empty one: plan and verdict tell of it.
    Raises `TooMuch`, OSError, and `StoreError` for a pipe, a device, and a directory that is no run's.
    """
    if path != "-" and Path(path).is_dir():
        run = existing(Path(path))
        if not os.path.lexists(run.history) and any(map(os.path.lexists, (run.plan, run.verdict))):
            return b"", str(run.history)
        if run.history.is_file() and run.history.stat().st_size > bytes_max:
            raise _too_large(str(run.history), bytes_max)
        return run.read_history(), str(run.history)
    if path == "-" and sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    with _opened(path) as file:
        end = _end_of_data(file.fileno())
        if end is not None and end > bytes_max:
            raise _too_large(path, bytes_max)
        data = file.read(bytes_max + 1 if end is None else end)
    if end is None and len(data) > bytes_max:
        raise _too_large(path, bytes_max)
    return data, path


def _opened(path: str) -> BinaryIO:
    if path == "-":
        return open(sys.stdin.fileno(), "rb", closefd=False)
    return open_named(Path(path))


def _end_of_data(number: int) -> int | None:
    """Return how much of an open file is worth reading, None of what is no file.

    What a crash left unwritten at its end, it may be many GiB, would read as NULs: one tells as much.
    """
    told = os.fstat(number)
    if not stat.S_ISREG(told.st_mode):
        return None
    here = os.lseek(number, 0, os.SEEK_CUR)
    hole = told.st_size
    try:
        hole = os.lseek(number, here, os.SEEK_HOLE)
        os.lseek(number, hole, os.SEEK_DATA)
    except OSError:  # no data behind the hole; or a file system that knows of no holes
        return min(hole + 1, told.st_size) - here
    finally:
        os.lseek(number, here, os.SEEK_SET)
    return told.st_size - here


def _too_large(name: str, bytes_max: int) -> TooMuch:
    return TooMuch(
        f"{name} is larger than {bytes_max >> 20} MB, half of the memory limit: no room to judge it"
    )


@contextmanager
def watched(*, began_s: float, time_s: float, memory_bytes: int) -> Iterator[None]:
    """Raise `TooMuch` in the midst of this block once ``time_s`` have passed, or more is held.

    The alarm raises in nothing but the block: never in an import, which would leave half a module, in
    another look, or in the end of the watch itself. What swallows it meets it again at the next tick.
    """
    outside = _imports(sys._getframe())  # noqa: SLF001 - the frames that a handler is handed, too
    armed, looking = True, False

    def alarm(_number: int, frame: FrameType | None) -> None:
        nonlocal looking
        if not armed or looking or _imports(frame) > outside:
            return
        looking = True
        try:
            look()
        finally:
            looking = False

    def look() -> None:
        if time.monotonic() - began_s >= time_s:
            raise TooMuch(f"the time limit of {time_s:g} s ran out while it was read")
        if held_bytes() > memory_bytes:
            raise TooMuch(f"the memory limit of {memory_bytes >> 20} MB ran out while it was read")

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, TICK_S, TICK_S)
        yield
        look()
    except MemoryError:
        raise TooMuch("the memory of this process ran out while it was read") from None
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _imports(frame: FrameType | None) -> int:
    """Return how much of a stack is the machinery of imports."""
    many = 0
    while frame is not None:
        many += frame.f_code.co_filename.startswith("<frozen importlib")
        frame = frame.f_back
    return many


class Watch:
    """A clock for a budget of which something was spent before: its first reading is ``began_s``."""

    def __init__(self, began_s: float) -> None:
        self._began_s: float | None = began_s

    def __call__(self) -> float:
        """Return seconds that only grow."""
        began_s, self._began_s = self._began_s, None
        return time.monotonic() if began_s is None else began_s
