"""What the checker promises of size and of limits, measured through the command line, file to verdict.

Prints a row each: a million operations on 100 keys, 100,000 on one, a time limit, a memory limit; with
wall time, processor time, peak memory, and what was promised. Every row is a process of its own. On
a busy host the processor time says more than the wall time.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from generate import Shape
from grid import generate

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
MEMORY_MB = 90


class Cost(NamedTuple):
    """What one process took."""

    exit_code: int
    wall_s: float
    cpu_s: float
    peak_mb: float


def check(path: Path, *options: str) -> Cost:
    """Return what ``lantern check`` took."""
    command = [sys.executable, str(ROOT / "lantern_chaos.py"), "check", str(path), *options]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.monotonic()
    child = os.posix_spawn(
        sys.executable, command, {**os.environ, "PYTHONPATH": str(ROOT)}, file_actions=quiet
    )
    _, status, usage = os.wait4(child, 0)
    return Cost(
        os.waitstatus_to_exitcode(status),
        time.monotonic() - began,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )


def hard(path: Path) -> None:
    """Write a history on which no search ends soon: everything at once, few values, one missing."""
    dice = random.Random("hard")
    rounds = [[dice.randrange(3) for _ in range(14)] for _ in range(2)]
    calls = [
        {"process": 14 * turn + at, "f": f, "value": value}
        for turn, f in enumerate(("enq", "deq"))
        for at, value in enumerate(rounds[turn])
    ]
    lines = [json.dumps({**call, "type": kind}) for kind in ("invoke", "ok") for call in calls]
    path.write_text("\n".join(lines) + "\n")


def tell(name: str, cost: Cost, promised: str) -> None:
    """Print a row."""
    print(
        f"{name:32} exit {cost.exit_code}  {cost.wall_s:7.2f} s wall {cost.cpu_s:7.2f} s processor"
        f" {cost.peak_mb:6.0f} MB   promised: {promised}",
        flush=True,
    )


def main(only: Sequence[str]) -> None:
    """Measure what is asked for, or everything."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        if not only or "million" in only:
            generate(Shape(1_000_000, 30, 100, 0.05, "rw", False), path)
            tell("1,000,000 operations, 100 keys", check(path), "12 s, 1024 MB")
        if not only or "hot" in only:
            generate(Shape(100_000, 10, 1, 0.05, "rw", False), path)
            tell("100,000 operations, one key", check(path), "2 s")
        hard(path)
        if not only or "time" in only:
            tell("a time limit of 5 s", check(path, "--time-limit", "5"), "6 s")
        if not only or "memory" in only:
            limit = ("--memory-limit", str(MEMORY_MB), "--time-limit", "100")
            tell(f"a memory limit of {MEMORY_MB} MB", check(path, *limit), f"{MEMORY_MB * 1.2:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
