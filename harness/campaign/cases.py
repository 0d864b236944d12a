"""A campaign as cases of a CI server: each row one, and what is said of several, or of none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import program
from harness.ci.case import Case
from harness.report.claims import fully_exercised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .entries import Entry
    from .reckoning import Reckoning
    from .row import Row


def of_row(row: Row) -> Case:
    """Return the case of one run of a campaign; ``row.run`` is the path of its directory."""
    again = None if row.run is None else program.replaying(row.run)
    return Case(
        suite=row.name,
        name=f"seed {row.seed}",
        outcome=row.outcome,
        counted=row.counted,
        reason=row.reason,
        kind=row.kind,
        rules=row.rules,
        known=row.broken if row.known else (),
        why_not_known=row.why_not_known,
        exercised=fully_exercised(row.exercised),
        seconds=row.seconds,
        replay=again,
        directory=row.run,
    )


def of_campaign(
    entries: Sequence[Entry], rows: Iterable[Row], told: Reckoning, *, why: str | None = None
) -> tuple[Case, ...]:
    """Return the cases of a campaign, in the order of its entries.

    One that ended before its end is a case of its own; ``why`` it did, if it was not interrupted.
    """
    cases: dict[str, list[Case]] = {entry.name: [] for entry in entries}
    for row in rows:
        cases[row.name].append(of_row(row))
    for name, outcome, reason in told.of_all:
        case = Case(
            suite=name, name="all seeds", outcome=outcome, counted=outcome, reason=reason, runs=0
        )
        cases[name].append(case)
    if told.cut_off is not None:
        whole = Case(
            suite="campaign",
            name="to its end",
            outcome=told.cut_off,
            counted=told.cut_off,
            reason=why,
            runs=0,
        )
        cases["campaign"] = [*cases.get("campaign", []), whole]
    return tuple(case for suite in cases.values() for case in suite)
