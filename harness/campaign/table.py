"""A campaign's track record as a table: one line a name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .row import Row

HEAD = ("name", "expected", "runs", "violations", "first seed", "other outcomes")


def table(rows: Sequence[Row], summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table and its summary."""
    names = list(dict.fromkeys(row.name for row in rows))
    lines = [HEAD, *(_line([row for row in rows if row.name == name]) for name in names)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    yield ""
    yield f"{summary['outcome']}: {summary['runs']} runs in {summary['seconds']:.0f} s"
    if summary["reason"]:
        yield f"ended early: {summary['reason']}"
    if summary["missed"]:
        yield f"expected and found in no seed: {', '.join(summary['missed'])}"
    if summary["not_run"]:
        yield f"the budget was over, and nothing was run of {', '.join(summary['not_run'])}"
    if summary["known"]:
        yield f"known: {summary['known']} violation{'s' if summary['known'] > 1 else ''}"
    if summary["known_unseen"]:
        yield f"known and not seen: {', '.join(summary['known_unseen'])}"
    if summary["simulated_per_cpu_second"] is not None:
        yield (
            f"{summary['simulated_seconds']:.0f} simulated seconds in {summary['cpu_seconds']:.0f} CPU "
            f"seconds with their checks: {summary['simulated_per_cpu_second']:.0f} a second"
        )
    for row in rows:
        if row.run is not None:
            yield f"kept  {row.name} seed {row.seed} ({row.outcome.value}): {row.run}"


def _line(rows: Sequence[Row]) -> tuple[str, ...]:
    outcomes = Counter(row.outcome.value for row in rows)
    violations = outcomes.pop("violation", 0)
    others = ", ".join(f"{count} {word}" for word, count in sorted(outcomes.items()))
    first = rows[0].first_seed
    return (
        rows[0].name,
        rows[0].expected.value,
        str(len(rows)),
        str(violations),
        "-" if first is None else str(first),
        others or "-",
    )
