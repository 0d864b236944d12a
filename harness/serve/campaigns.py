"""A campaign of a store: its rows, and what its directory says that it came to.

A green list of runs is not a green campaign: an expected violation that no seed showed, a name that
nothing was run of and a scheduler that died are in no row. So a campaign has an outcome of its own here,
by the rule of the verb (`harness.campaign.reckoning`), reckoned again from its rows and from what
campaign.yaml expects of them; summary.json, which may be anybody's, can make that worse, never better.
Without one the campaign has not come to its end, and is no pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from harness.campaign.file import of_matrix, saved_matrix
from harness.campaign.journal import CAMPAIGN, ROWS, SUMMARY, read_rows
from harness.campaign.matrix import MatrixError
from harness.campaign.reckoning import idle_words, reckoned
from harness.campaign.row import Row, of_entry
from harness.outcome import Outcome, worst
from harness.plan import PlanError
from harness.report.tone import NO_VERDICT, Tone, of_outcome
from harness.store.errors import NotARun
from harness.store.files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.campaign.entries import Entry
    from harness.campaign.reckoning import Reckoning

SUMMARY_MAX_BYTES: Final = 1 << 20
SHOWN_MAX_BYTES: Final = 64 << 20
"""A journal of some 200,000 runs. A store has many, and they stay in memory while they are shown."""
NOT_ENDED: Final = "it has not come to its end: it is under way, or was killed"


class _Summary(msgspec.Struct):
    """The few words of a summary that stand in no row."""

    outcome: Outcome
    reason: str | None = None


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign. ``outcome`` is its own, with ``reasons`` where it is no pass.

    ``rows`` is None where they cannot be read; ``missed`` are names that were to show a violation.
    """

    name: str
    rows: tuple[Row, ...] | None
    outcome: str
    reasons: tuple[str, ...]
    missed: frozenset[str]
    changed_ns: int

    @property
    def outcomes(self) -> dict[str, int]:
        """How many rows had which outcome, the commonest first."""
        counted: dict[str, int] = {}
        for row in self.rows or ():
            counted[row.outcome.value] = counted.get(row.outcome.value, 0) + 1
        return dict(sorted(counted.items(), key=lambda pair: -pair[1]))

    @property
    def places(self) -> tuple[str, ...]:
        """Where its runs ran, as far as their rows say."""
        return tuple(sorted({row.on for row in self.rows or () if row.on}))

    @property
    def unexpected(self) -> int:
        """How many rows did not come to what was expected of them, or of their name."""
        return sum(not self.as_expected(row) for row in self.rows or ())

    def as_expected(self, row: Row) -> bool:
        """Tell whether a row counts as a pass, and no other seed was to show what it did not."""
        return row.counted is Outcome.PASS and row.name not in self.missed

    def tone(self, row: Row) -> Tone:
        """Return what a row means to its reader."""
        if self.as_expected(row):
            return Tone.GOOD
        return of_outcome(row.outcome) if row.outcome is not Outcome.PASS else Tone.WARN


def campaign_of(place: Path, *, name: str, changed_ns: int) -> Campaign:
    """Return the campaign of a directory; what cannot be read is told, and is no pass."""
    reasons: list[str] = []
    entries: tuple[Entry, ...] = ()
    try:
        rows = _rows(place / ROWS)
    except NotARun as error:
        return Campaign(
            name=name,
            rows=None,
            outcome=NO_VERDICT,
            reasons=(str(error),),
            missed=frozenset(),
            changed_ns=changed_ns,
        )
    ends = []
    try:
        entries = of_matrix(saved_matrix(place / CAMPAIGN))
    except (PlanError, MatrixError, NotARun) as error:
        ends.append(Outcome.UNKNOWN)
        reasons.append(f"what was expected cannot be read: {error}")
    named = {entry.name: entry for entry in entries}
    rows = tuple(of_entry(row, named[row.name]) if row.name in named else row for row in rows)
    told = reckoned(entries, rows)
    reasons += _said(told)
    if not (place / SUMMARY).exists():
        ends.append(Outcome.UNKNOWN)
        reasons.append(NOT_ENDED)
    else:
        try:
            data = read_bounded(place / SUMMARY, bytes_max=SUMMARY_MAX_BYTES)
            ended = msgspec.json.decode(data, type=_Summary)
        except (NotARun, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            ends.append(Outcome.UNKNOWN)
            reasons.append(f"{SUMMARY} cannot be read: {error}")
        else:
            ends.append(ended.outcome)
            if ended.reason is not None:
                reasons.append(f"it ended early: {ended.reason}")
            elif ended.outcome.rank < worst([told.outcome, *ends[:-1]]).rank:
                reasons.append(f"{ended.outcome.words}, as it ended: {ended.outcome.meaning}")
    return Campaign(
        name=name,
        rows=rows,
        outcome=worst([told.outcome, *ends]).value,
        reasons=tuple(reasons),
        missed=frozenset(told.missed),
        changed_ns=changed_ns,
    )


def _rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of a journal; a last line that was torn is none, and neither is a file to come."""
    if not path.exists():
        return ()
    return read_rows(path, bytes_max=SHOWN_MAX_BYTES)[0]


def _said(told: Reckoning) -> Iterator[str]:
    if told.missed:
        yield f"expected and found in no seed: {', '.join(told.missed)}"
    if told.idle:
        yield f"exercised in no seed: {idle_words(told.idle)}"
    if told.not_run:
        yield f"nothing was run of {', '.join(told.not_run)}"
