"""The grid: ours and Porcupine on the same histories, in the same run, pair by pair.

Prints a row per history with the median seconds of each and their ratios (ours by Porcupine's; below 1
we are faster), of wall time and of processor time, then a summary per mix, and a line for each goal:
what was promised, what was measured, whether that keeps it. One that is missed ends it with exit code 1.

Peak memory is of the whole process, operations included. A row that hits its limit is run once; one
beyond the worst that is allowed is run as often again, and all runs count. Where no Go toolchain is
found only ours is measured, and no goal that compares is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import limits
from generate import Shape, write_apart
from goals import BY, judge, worst_allowed

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HISTORIES = Path(os.environ.get("LANTERN_HISTORIES", ROOT.parent / "shared" / "histories"))
GRACE_S = 60.0
ONE = Shape(10_000, 10, 1, 0.0, "rw", False)


@dataclass
class Measured:
    """Several runs of one checker on one file."""

    runs: list[dict[str, Any]]

    @property
    def verdict(self) -> str:
        """The verdict, which all runs share; ``crashed`` if one died."""
        return str(self.runs[0]["verdict"])

    @property
    def seconds(self) -> float:
        """The median time from parsed operations to verdict."""
        return statistics.median(float(run["seconds"]) for run in self.runs)

    @property
    def cpu_s(self) -> float:
        """The median processor time of the same, that of every core added up."""
        return statistics.median(float(run["cpu_s"]) for run in self.runs)

    @property
    def memory_mb(self) -> float:
        """The largest peak."""
        return max(float(run["rss_mb"]) for run in self.runs)

    @property
    def decided(self) -> bool:
        """Whether it came to an answer."""
        return not {"unknown", "crashed"} & set(self.verdict.split())

    def undone(self, turn: int, *, again: bool) -> bool:
        """Return whether to run it in a turn: for the first time, or if it decided before."""
        return (turn == 0 and not again) or self.decided


def shapes(mix: str, *, quick: bool) -> Iterator[Shape]:
    """Yield the histories of one mix; ``quick``: those that goals are about."""
    if mix == "size":
        for stale in (False, True):
            yield Shape(1_000_000, 30, 100, 0.05, "rw", stale)
            yield Shape(100_000, 10, 1, 0.05, "rw", stale)
        return
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000)
    for operations in sizes:
        for keys in (10, 100) if quick else (1, 10, 100):
            for clients in (5, 10, 30, 100):
                if clients > 10 * keys and mix == "dup5":
                    continue
                if operations == 100_000 and (clients not in {10, 30} or mix == "dup5"):
                    continue
                for unknown in (0.0, 0.05, 0.2) if operations < 100_000 else (0.05,):
                    for stale in (False, True):
                        yield Shape(operations, clients, keys, unknown, mix, stale)


def limit_s(shape: Shape) -> float:
    """Return the time limit of a row; `ONE` has a goal, so Porcupine is waited for."""
    if shape == ONE:
        return 60.0
    return 5.0 if shape.operations <= 10_000 else 20.0 if shape.operations <= 100_000 else 60.0


def build(folder: Path) -> Path | None:
    """Return the program around Porcupine, built; None without a Go toolchain."""
    if shutil.which("go") is None:
        return None
    program = folder / "porcupine"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE / "porcupine", check=True)
    return program


def run(command: list[str], limit: float) -> dict[str, Any]:
    """Return what one run printed; a run that died counts as crashed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit + GRACE_S, check=True, env=environment
        )
    except subprocess.SubprocessError:
        return {"verdict": "crashed", "seconds": limit, "cpu_s": limit, "rss_mb": 0.0, "cores": 0}
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def pairs(
    ours: list[str], theirs: list[str] | None, *, limit: float, count: int, most: float | None = None
) -> tuple[Measured, Measured | None]:
    """Run both in turns; what did not decide is not run again, what is over ``most`` as often again."""
    mine, other = Measured([]), Measured([])
    for again in (False, True):
        for turn in range(count):
            if mine.undone(turn, again=again):
                mine.runs.append(run(ours, limit))
            if theirs is not None and other.undone(turn, again=again):
                other.runs.append(run(theirs, limit))
        if most is None or theirs is None or not other.decided or mine.cpu_s <= most * other.cpu_s:
            break
    return mine, other if theirs is not None else None


def report(name: str, mine: Measured, other: Measured | None) -> dict[str, Any]:
    """Print a row and return it."""
    row: dict[str, Any] = {
        "row": name,
        "verdict": mine.verdict,
        "ours_s": mine.seconds,
        "ours_cpu_s": mine.cpu_s,
        "ours_mb": mine.memory_mb,
    }
    text = f"{name:44} {mine.verdict:10.10} {mine.seconds * 1e3:10.2f} ms {mine.memory_mb:7.0f} MB"
    if other is not None:
        row |= {
            "porcupine": other.verdict,
            "porcupine_s": other.seconds,
            "porcupine_cpu_s": other.cpu_s,
            "porcupine_mb": other.memory_mb,
        }
        text += f" | {other.verdict:10.10} {other.seconds * 1e3:10.2f} ms {other.memory_mb:7.0f} MB"
        if mine.decided and other.decided:
            row["ratio"] = mine.seconds / other.seconds
            row["cpu_ratio"] = mine.cpu_s / other.cpu_s
            text += f"  {row['ratio']:8.3f}x wall {row['cpu_ratio']:8.3f}x processor"
            row["agree"] = mine.verdict == other.verdict
            text += "" if row["agree"] else "  DISAGREE"
    print(text, flush=True)
    return row


def summarize(mix: str, rows: list[dict[str, Any]]) -> None:
    """Print what the rows of a mix come to."""
    undecided = sum(row["verdict"] in {"unknown", "crashed"} for row in rows)
    text = f"== {mix}: {len(rows)} rows, {undecided} undecided by us"
    if any("porcupine" in row for row in rows):
        text += f", {sum(row['porcupine'] in {'unknown', 'crashed'} for row in rows)} by Porcupine"
    for what, name in (("wall", "ratio"), ("processor", "cpu_ratio")):
        ratios = sorted(row[name] for row in rows if name in row)
        if ratios:
            middle = statistics.median(ratios)
            text += f"; {what} ratio min {ratios[0]:.3f} median {middle:.3f} max {ratios[-1]:.3f}"
            text += f", {sum(ratio > 1 for ratio in ratios)} over 1.0"
    print(text, flush=True)


def main() -> int:
    """Run the grid; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only rows that goals are about")
    parser.add_argument("--rows", default="rw,rwc,dup5,one,etcd,kv,size,limits")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="only rows whose name contains all this")
    parser.add_argument(
        "--by", choices=tuple(BY), default="processor", help="the time that goals are of"
    )
    parser.add_argument("--out", type=Path, default=None)
    told = parser.parse_args()
    mixes = [mix for mix in told.rows.split(",") if not (told.quick and mix == "size")]
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder)
        print(f"cores: ours 1, Porcupine {os.cpu_count() if program else '-'} of {os.cpu_count()}")
        for mix in mixes:
            rows = results[mix] = []
            if mix == "limits":
                rows.extend(limits.measure(folder))
            elif mix in {"etcd", "kv"}:
                rows.extend(published(mix, program, told.pairs))
            else:
                chosen = (
                    shape
                    for shape in ([ONE] if mix == "one" else shapes(mix, quick=told.quick))
                    if all(part in str(shape) for part in told.only)
                )
                rows.extend(measure(shape, folder, program, told.pairs) for shape in chosen)
            if mix != "limits":
                summarize(mix, rows)
    if told.out is not None:
        told.out.write_text(json.dumps(results, indent=1))
    return 0 if judge(results, told.by) else 1


def measure(shape: Shape, folder: Path, program: Path | None, count: int) -> dict[str, Any]:
    """Run one row of the grid."""
    path = folder / "history.jsonl"
    write_apart(shape, path)
    limit = limit_s(shape)
    ours = [sys.executable, str(HERE / "ours.py"), str(path), str(limit)]
    theirs = None if program is None else [str(program), str(limit), str(path)]
    if shape.operations > 100_000:
        count = 1
    mine, other = pairs(ours, theirs, limit=limit, count=count, most=worst_allowed(shape.mix))
    return {**report(str(shape), mine, other), "keys": shape.keys}


def published(kind: str, program: Path | None, count: int) -> Iterator[dict[str, Any]]:
    """Run Porcupine's own test data, all files of a kind in one process each."""
    data = HISTORIES / "anishathalye+porcupine" / "test_data"
    paths = sorted(map(str, (data / {"etcd": "jepsen", "kv": "kv"}[kind]).glob("*.*")))
    if not paths:
        print(f"no published histories at {HISTORIES}")
        return
    files = [paths] if kind == "etcd" else [[path] for path in paths]
    for several in files:
        ours = [sys.executable, str(HERE / "ours.py"), ",".join(several), "60"]
        theirs = None if program is None else [str(program), "60", *several]
        mine, other = pairs(ours, theirs, limit=60.0, count=count, most=worst_allowed(kind))
        name = Path(several[0]).name if len(several) == 1 else f"{len(several)} files of {kind}"
        yield report(name, mine, other)


if __name__ == "__main__":
    sys.exit(main())
