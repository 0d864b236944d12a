"""The entries of a campaign that did not end as expected: which, where, how, how often, and why.

An exit code is one number for many runs. So whoever reads the end of a campaign, on a terminal, in a CI
server's summary or in ``--json``, is told for each such entry its worst outcome and the reason of the
first run that ended so; the worst entries come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from harness.outcome import Outcome
from harness.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .entries import Entry
    from .reckoning import Reckoning
    from .row import Row

LINES_MAX: Final = 10


class Surprise(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that did not end as expected: ``runs`` of its ``runs_of`` ended in this outcome.

    ``seed`` is the first of them; None of what is said of all its runs, or of none. ``on`` is where they
    ran, "" if none came so far.
    """

    name: str
    on: str
    outcome: Outcome
    runs: int
    runs_of: int
    seed: int | None = None
    reason: str

    def __str__(self) -> str:
        where = f" on {self.on}" if self.on else ""
        often = f"{self.runs} of {self.runs_of}" if self.runs < self.runs_of else f"{self.runs}"
        runs = f"{often} run{'' if self.runs_of == 1 else 's'}"
        seed = "" if self.seed is None else f"; seed {self.seed}"
        return (
            f"{plain(self.name)}{plain(where)}: {self.outcome.words}, {runs}{seed}: {plain(self.reason)}"
        )


def surprises(entries: Sequence[Entry], rows: Sequence[Row], told: Reckoning) -> tuple[Surprise, ...]:
    """Return the entries that did not end as expected, the worst first, else in their order."""
    by_name: dict[str, list[Row]] = {entry.name: [] for entry in entries}
    for row in sorted(rows, key=lambda row: row.seed):
        by_name[row.name].append(row)
    of_all = {name: (outcome, reason) for name, outcome, reason in told.of_all}
    found = []
    for name, own in by_name.items():
        ends = list(_of_runs(name, own))
        if name in of_all:
            ends.append(_of_all(name, own, *of_all[name]))
        if ends:
            found.append(min(ends, key=_rank))
    return tuple(sorted(found, key=_rank))


def _rank(surprise: Surprise) -> int:
    return surprise.outcome.rank


def _of_runs(name: str, rows: Sequence[Row]) -> Iterator[Surprise]:
    """Yield each unexpected outcome with the first run that ended in it."""
    seen: dict[Outcome, list[Row]] = {}
    for row in rows:
        if row.counted is not Outcome.PASS:
            seen.setdefault(row.counted, []).append(row)
    for outcome, own in seen.items():
        first = own[0]
        reason = first.reason or outcome.meaning
        yield Surprise(
            name=name,
            on=first.on,
            outcome=outcome,
            runs=len(own),
            runs_of=len(rows),
            seed=first.seed,
            reason=reason if first.why_not_known is None else f"{first.why_not_known}; {reason}",
        )


def _of_all(name: str, rows: Sequence[Row], outcome: Outcome, reason: str) -> Surprise:
    """Return what is said of all runs of a name, or of none."""
    on = next((row.on for row in rows if row.on), "")
    runs = len(rows)
    return Surprise(name=name, on=on, outcome=outcome, runs=runs, runs_of=runs, reason=reason)


def lines(found: Sequence[Surprise]) -> Iterator[str]:
    """Yield a line for each, `LINES_MAX` at most, and how many more there are."""
    yield from map(str, found[:LINES_MAX])
    if len(found) > LINES_MAX:
        yield f"and {len(found) - LINES_MAX} more"
