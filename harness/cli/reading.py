"""Reading what a user names on the command line, never more of it than was allowed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from harness.store.rundir import existing

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class TooLarge(Exception):  # noqa: N818 - an answer: the verdict is unknown
    """A file holds more than the memory limit leaves room for."""


def history_of(path: str, *, bytes_max: int) -> tuple[bytes, str]:
    """Return the history that ``path`` means, and its name: a file, a pipe, ``-``, a run directory's.

    Raises `TooLarge`, OSError, and `StoreError` for a directory that is no run's.
    """
    if path != "-" and Path(path).is_dir():
        run = existing(Path(path))
        if run.history.is_file() and run.history.stat().st_size > bytes_max:
            raise _too_large(str(run.history), bytes_max)
        return run.read_history(), str(run.history)
    with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise _too_large(path, bytes_max)
    return data, path


def _too_large(name: str, bytes_max: int) -> TooLarge:
    return TooLarge(f"{name} is larger than the memory limit of {bytes_max >> 20} MB")


def held_bytes() -> int:
    """Return how much memory this process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
