"""A campaign's track record as a table: one line a name.

Of a planted mistake it also says which rule that breaks by the catalog, and which one the evidence of
its first violation convicts: they may differ, for a wrong rule can show as what it leads to. Beside it
stand what all of its runs came to in simulated and CPU seconds, and where else it can be shown.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.report.escape import plain, whole
from harness.words import many

from .reckoning import idle_words
from .surprises import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from targets.target import Mistake

    from .row import Row
    from .surprises import Surprise

HEAD = ("name", "expected", "runs", "violations", "first seed", "other outcomes")
PLANTED = (
    "mistake",
    "planted rule",
    "first seed",
    "seeds",
    "simulated s",
    "CPU s",
    "rule by evidence",
    "can be shown on",
    "other",
)


def table(
    rows: Sequence[Row],
    summary: Mapping[str, Any],
    planted: Mapping[str, Mistake] | None = None,
    *,
    unexpected: Sequence[Surprise] = (),
) -> Iterator[str]:
    """Yield the lines of the table and its summary; ``planted`` has the mistakes by their names here."""
    yield from _tables(rows, planted or {})
    yield f"{summary['outcome']}: {many(summary['runs'], 'run')} in {summary['seconds']:.0f} s"
    yield from ("not as expected:", *(f"  {line}" for line in lines(unexpected))) if unexpected else ()
    if summary["reason"]:
        yield f"ended early: {plain(summary['reason'])}"
    if summary["missed"]:
        yield f"expected and found in no seed: {', '.join(summary['missed'])}"
    if summary["idle"]:
        yield f"exercised in no seed: {idle_words(summary['idle'])}"
    if summary["not_run"]:
        over = "the budget was over" if summary["cut_short"] else "interrupted"
        why = "" if summary["reason"] else f"{over}, and "
        yield f"{why}nothing was run of {', '.join(summary['not_run'])}"
    if summary["known"]:
        yield f"known: {many(summary['known'], 'violation')}"
    if summary["known_unseen"]:
        yield f"known and not seen: {', '.join(summary['known_unseen'])}"
    if summary["simulated_per_cpu_second"] is not None:
        cpu_s = summary["cpu_seconds"]
        yield (
            f"{summary['simulated_seconds']:.0f} simulated seconds in {cpu_s:.{int(cpu_s < 10)}f} CPU "
            f"seconds with their checks: {summary['simulated_per_cpu_second']:.0f} a second"
        )
    for row in rows:
        if row.run is not None:
            yield f"kept  {row.name} seed {row.seed} ({row.outcome.value}): {whole(row.run)}"


def _tables(rows: Sequence[Row], planted: Mapping[str, Mistake]) -> Iterator[str]:
    names = dict.fromkeys(row.name for row in rows)
    by_name = {name: [row for row in rows if row.name == name] for name in names}
    found = [_found(by_name[name], planted[name]) for name in names if name in planted]
    others = [_line(by_name[name]) for name in names if name not in planted]
    for part in ([PLANTED, *found], [HEAD, *others]):
        if len(part) > 1:
            yield from _aligned(part)
            yield ""


def _aligned(lines: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _found(rows: Sequence[Row], mistake: Mistake) -> tuple[str, ...]:
    first = next((row for row in rows if row.seed == row.first_seed), None)
    _, others = _outcomes(rows)
    return (
        rows[0].name,
        " ".join(mistake.rules),
        "-" if first is None else str(first.seed),
        str(len(rows)),
        f"{sum(row.virtual_s for row in rows):.0f}",
        f"{sum(row.cpu_s for row in rows):.1f}",
        "-" if first is None else plain(" ".join(first.rules) or first.kind or "-"),
        " ".join(mistake.places),
        others,
    )


def _line(rows: Sequence[Row]) -> tuple[str, ...]:
    violations, others = _outcomes(rows)
    first = rows[0].first_seed
    return (
        rows[0].name,
        rows[0].expected.value,
        str(len(rows)),
        str(violations),
        "-" if first is None else str(first),
        others,
    )


def _outcomes(rows: Sequence[Row]) -> tuple[int, str]:
    """Return how many violations there were, and what else there was."""
    outcomes = Counter(row.outcome.value for row in rows)
    violations = outcomes.pop("violation", 0)
    return violations, ", ".join(f"{count} {word}" for word, count in sorted(outcomes.items())) or "-"
