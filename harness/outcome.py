"""How anything Lantern does can end: the one table of words, exit codes and ranks.

Every verb ends in exactly one `Outcome`. Its value is the word in ``--json``, its `code` the process's
exit code, and its place in the table its rank: where several outcomes meet (keys of a history, paths of
a check, runs of a campaign), the worst wins, so that a violation once proved is never spoken of more
softly because something else went wrong as well.

Nothing but the standard library's enum is needed here: the guarded entry point must be able to speak
even when nothing else can be imported.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Outcome(StrEnum):
    """An end, worst first: the order of definition is the order of severity."""

    VIOLATION = "violation"
    MALFORMED = "malformed"
    HARNESS_FAILURE = "harness-failure"
    USAGE = "usage"
    INTERRUPTED = "interrupted"
    EXPECTATION_MISSED = "expectation-missed"
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not-exercised"
    PASS = "pass"  # noqa: S105 - a verdict, no secret

    @property
    def code(self) -> int:
        """The exit code of the process."""
        return _CODES[self]

    @property
    def rank(self) -> int:
        """0 for the worst; larger is better."""
        return _RANKS[self]

    @property
    def words(self) -> str:
        """The word as a sentence has it: without the hyphen."""
        return self.value.replace("-", " ")

    @property
    def meaning(self) -> str:
        """What the word says, for a person."""
        return _MEANINGS[self]

    def meaning_where(self, *, exercised: bool) -> str:
        """Say it of a run that exercised what it had to, or else was allowed not to."""
        return self.meaning if exercised or self is not Outcome.PASS else _UNEXERCISED


_CODES = {
    Outcome.PASS: 0,
    Outcome.VIOLATION: 1,
    Outcome.USAGE: 2,
    Outcome.UNKNOWN: 3,
    Outcome.NOT_EXERCISED: 4,
    Outcome.MALFORMED: 5,
    Outcome.HARNESS_FAILURE: 6,
    Outcome.EXPECTATION_MISSED: 7,
    Outcome.INTERRUPTED: 130,
}

_RANKS = {outcome: rank for rank, outcome in enumerate(Outcome)}

_MEANINGS = {
    Outcome.PASS: "linearizable, clean by all oracles that could judge, and exercised as it had to be",
    Outcome.VIOLATION: "a proof exists",
    Outcome.USAGE: "bad arguments or plan; nothing was started",
    Outcome.UNKNOWN: "not decided: a budget ran out, or the run cannot be relied on",
    Outcome.NOT_EXERCISED: "nothing false was seen, but the danger was not there",
    Outcome.MALFORMED: "the history itself is broken",
    Outcome.HARNESS_FAILURE: "set-up, host, disk or Lantern itself failed; says nothing of the target",
    Outcome.EXPECTATION_MISSED: "an expected violation was found in no seed",
    Outcome.INTERRUPTED: "stopped from outside; healed, saved, and checked as far as is told here",
}

_UNEXERCISED = (
    "linearizable, clean by all oracles that could judge; not all was exercised that had to be,"
    " which its plan allows"
)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst of the outcomes; `Outcome.PASS` of none."""
    return min(outcomes, key=lambda outcome: outcome.rank, default=Outcome.PASS)
