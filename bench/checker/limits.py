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
from typing import TYPE_CHECKING, Any, NamedTuple

from generate import Shape, write_apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[2]
MEMORY_MB = 90
MILLION_S, MILLION_MB = 12, 1024
HOT_S = 2
TIME_S = 6
PASS, UNKNOWN = 0, 3


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


def row(name: str, cost: Cost, promised: str, *, kept: bool) -> dict[str, Any]:
    """Print a row and return it."""
    seconds = f"{cost.wall_s:.2f} s wall, {cost.cpu_s:.2f} s processor"
    measured = f"exit {cost.exit_code}, {seconds}, {cost.peak_mb:.0f} MB"
    print(f"{name:32} {measured}   promised: {promised}", flush=True)
    return {"row": name, "promised": promised, "measured": measured, "kept": kept}


def measure(folder: Path, only: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Measure what is asked for, or everything; yield a row each."""
    path = folder / "history.jsonl"
    if not only or "million" in only:
        write_apart(Shape(1_000_000, 30, 100, 0.05, "rw", False), path)
        cost = check(path)
        kept = cost.exit_code == PASS and cost.cpu_s <= MILLION_S and cost.peak_mb <= MILLION_MB
        yield row("1,000,000 operations, 100 keys", cost, f"{MILLION_S} s, {MILLION_MB} MB", kept=kept)
    if not only or "hot" in only:
        write_apart(Shape(100_000, 10, 1, 0.05, "rw", False), path)
        cost = check(path)
        kept = cost.exit_code == PASS and cost.cpu_s <= HOT_S
        yield row("100,000 operations, one key", cost, f"{HOT_S} s", kept=kept)
    hard(path)
    if not only or "time" in only:
        cost = check(path, "--time-limit", "5")
        kept = cost.exit_code == UNKNOWN and cost.wall_s <= TIME_S
        yield row("a time limit of 5 s", cost, f"{TIME_S} s wall", kept=kept)
    if not only or "memory" in only:
        cost = check(path, "--memory-limit", str(MEMORY_MB), "--time-limit", "100")
        most = MEMORY_MB * 1.2
        kept = cost.exit_code == UNKNOWN and cost.peak_mb <= most
        yield row(f"a memory limit of {MEMORY_MB} MB", cost, f"{most:.0f} MB", kept=kept)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        sys.exit(not all(each["kept"] for each in list(measure(Path(name), sys.argv[1:]))))
