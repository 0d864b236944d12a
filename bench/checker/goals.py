"""What is promised beside Porcupine, and whether a run of the grid keeps it.

A ratio is ours by Porcupine's, of rows that both decided; keys are 10 or 100. A run that a limit of its
own ends is no ratio: `limits` says itself whether it kept what was promised.
"""

from __future__ import annotations

import statistics
from typing import Any, Final, NamedTuple

BY: Final = {"processor": "cpu_ratio", "wall": "ratio"}
_SECONDS: Final = {"processor": ("ours_cpu_s", "porcupine_cpu_s"), "wall": ("ours_s", "porcupine_s")}


class Goal(NamedTuple):
    """What of a mix's ratios is to be at most ``most``: the median, the worst, or the ratio of sums."""

    mix: str
    what: str
    most: float


GOALS: Final = (
    Goal("rw", "median", 0.75),
    Goal("rw", "worst", 1.2),
    Goal("rwc", "median", 1.5),
    Goal("dup5", "median", 1.5),
    Goal("one", "worst", 0.05),
    Goal("etcd", "total", 0.1),
    Goal("kv", "worst", 3.0),
    Goal("kv", "total", 3.0),
)


def worst_allowed(mix: str) -> float | None:
    """Return the ratio that no row of ``mix`` may be over, if there is one."""
    return next((goal.most for goal in GOALS if goal.mix == mix and goal.what == "worst"), None)


def judge(results: dict[str, list[dict[str, Any]]], by: str) -> bool:
    """Print a line for each goal about ``results``, rows by mix; return whether all are kept."""
    kept = [_keeps(goal, results[goal.mix], by) for goal in GOALS if results.get(goal.mix)]
    for row in results.get("limits", ()):
        kept.append(row["kept"])
        _tell(row["row"], f"{row['promised']:14}", row["measured"], kept=row["kept"])
    disagreeing = [
        row["row"] for rows in results.values() for row in rows if "ratio" in row and not row["agree"]
    ]
    if disagreeing:
        print(f"goal: the verdicts of both are the same; they are not of {', '.join(disagreeing)}")
    return all(kept) and not disagreeing


def _keeps(goal: Goal, rows: list[dict[str, Any]], by: str) -> bool:
    rows = [row for row in rows if BY[by] in row and (goal.mix == "one" or row.get("keys") != 1)]
    promised = f"{goal.what} {goal.most:g}x"
    if not rows:
        _tell(goal.mix, promised, "nothing, Porcupine is not there", kept=False)
        return False
    ratios = [row[BY[by]] for row in rows]
    ours, theirs = (sum(row[name] for row in rows) for name in _SECONDS[by])
    found = {"median": statistics.median(ratios), "worst": max(ratios), "total": ours / theirs}
    kept: bool = found[goal.what] <= goal.most
    measured = ", ".join(f"{name} {ratio:.3f}x" for name, ratio in found.items())
    _tell(goal.mix, promised, f"{measured} of {by} time, {len(rows)} rows", kept=kept)
    return kept


def _tell(name: str, promised: str, measured: str, *, kept: bool) -> None:
    print(
        f"goal {name:30} {promised:14} measured {measured}: {'kept' if kept else 'MISSED'}", flush=True
    )
