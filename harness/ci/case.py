"""A run as a case of a CI server: how it ended, what that counts as, and how to run it again.

A CI server knows passed, failed, error and skipped. A *failure* says something of the target: a
violation, or one that was expected and not found. An *error* is a run without a verdict on the target:
it was unknown, nothing was exercised, the history was malformed, the harness failed, somebody
interrupted it. None of those is a pass, and none is spoken of as the target's. A violation that is
known is skipped: it is seen, and fails nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from harness import program
from harness.outcome import Outcome
from harness.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from harness.campaign.entries import Entry
    from harness.campaign.reckoning import Reckoning
    from harness.campaign.row import Row

SENTENCE_CHARS_MAX = 2000


class Shown(StrEnum):
    """What a CI server shows."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case. ``suite`` and ``name`` say what was run, ``seconds`` how long that took.

    ``counted`` is what the outcome means where it may have been expected; ``known`` are rules that are
    known to be broken, where nothing else was.
    """

    suite: str
    name: str
    outcome: Outcome
    counted: Outcome
    reason: str | None = None
    kind: str | None = None
    rules: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    seconds: float = 0.0
    replay: str | None = None
    directory: str | None = None

    @property
    def title(self) -> str:
        """What was run, safe to show on one line."""
        return plain(self.suite)

    @property
    def shown(self) -> Shown:
        """What a CI server is to show."""
        match self.counted:
            case Outcome.PASS:
                return Shown.SKIPPED if self.known else Shown.PASSED
            case Outcome.VIOLATION | Outcome.EXPECTATION_MISSED:
                return Shown.FAILURE
            case _:
                return Shown.ERROR

    @property
    def word(self) -> str:
        """The outcome, and of a violation its kind."""
        return f"{self.outcome.value}: {plain(self.kind)}" if self.kind else self.outcome.value

    @property
    def sentence(self) -> str:
        """What happened, safe to show on one line."""
        return plain(self.reason or self.outcome.meaning, chars_max=SENTENCE_CHARS_MAX)

    def details(self) -> Iterator[str]:
        """Yield what there is to be said, line by line, safe to show."""
        yield f"{self.word}: {self.sentence}"
        if self.rules:
            yield f"rules: {', '.join(self.rules)}"
        if self.known:
            yield f"known: {', '.join(self.known)}"
        if self.directory is not None:
            yield f"run: {plain(self.directory)}"
        if self.replay is not None:
            yield f"replay: {plain(self.replay)}"


def of_run(told: Mapping[str, Any], *, suite: str, name: str, seconds: float | None = None) -> Case:
    """Return the case of a single run, from the object that ``lantern run --json`` prints."""
    outcome = Outcome(told["outcome"])
    violation = told["violation"]
    return Case(
        suite=suite,
        name=name,
        outcome=outcome,
        counted=outcome,
        reason=told["reason"],
        kind=violation["kind"] if outcome is Outcome.VIOLATION and violation else None,
        rules=tuple(told["rules"]),
        seconds=told["load_seconds"] if seconds is None else seconds,
        replay=told["replay"],
        directory=told["run"],
    )


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
        known=row.rules if row.known else (),
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
    for names, outcome, reason in (
        (told.missed, Outcome.EXPECTATION_MISSED, "a violation was expected, and no seed showed one"),
        (told.not_run, Outcome.UNKNOWN, "the budget was over before its first run"),
    ):
        for name in names:
            case = Case(suite=name, name="all seeds", outcome=outcome, counted=outcome, reason=reason)
            cases[name].append(case)
    if told.cut_off is not None:
        whole = Case(
            suite="campaign", name="to its end", outcome=told.cut_off, counted=told.cut_off, reason=why
        )
        cases["campaign"] = [*cases.get("campaign", []), whole]
    return tuple(case for suite in cases.values() for case in suite)
