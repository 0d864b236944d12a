"""Reading what a user names on the command line, never more of it than was allowed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

HISTORY: Final = "history.jsonl"
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class TooLarge(Exception):  # noqa: N818 - an answer: the verdict is unknown
    """A file holds more than the memory limit leaves room for."""


def history_file(path: str) -> str:
    """Return the history that ``path`` means: the file itself, or that of a run directory."""
    return str(Path(path) / HISTORY) if path != "-" and Path(path).is_dir() else path


def read_bytes(path: str, *, bytes_max: int) -> bytes:
    """Return all of a file, a pipe, or standard input (``-``); raise `TooLarge` or OSError."""
    with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise TooLarge(f"{path} is larger than the memory limit of {bytes_max >> 20} MB")
    return data


def held_bytes() -> int:
    """Return how much memory this process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
