"""What something means to its reader: the one table of tones, and of outcomes as they are shown.

A terminal has a style for each tone (`terminal`), a style sheet a class of the same name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from checker.oracles.result import OracleOutcome
from harness.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_VERDICT: Final = "no verdict"
"""What stands in for the outcome of a run that left none."""


class Tone(StrEnum):
    """A word for what a line means; ``DRAWING`` and ``EXACT`` are never folded."""

    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    NOTE = "note"
    DRAWING = "drawing"
    EXACT = "exact"
    PLAIN = ""


_OUTCOMES: Final[Mapping[str, Tone]] = {Outcome.PASS: Tone.GOOD, Outcome.VIOLATION: Tone.BAD}
_ORACLES: Final[Mapping[str, Tone]] = {
    OracleOutcome.OK: Tone.GOOD,
    OracleOutcome.VIOLATION: Tone.BAD,
    OracleOutcome.OUTSIDE: Tone.WARN,
}
_SIGNS: Final[Mapping[str, str]] = {
    Outcome.PASS: "✓",
    Outcome.VIOLATION: "✗",
    Outcome.UNKNOWN: "?",
    Outcome.NOT_EXERCISED: "○",
}


def of_outcome(word: str) -> Tone:
    """Return the tone of an outcome; whatever is none is a warning."""
    return _OUTCOMES.get(word, Tone.WARN)


def of_oracle(word: str) -> Tone:
    """Return the tone of what an oracle said."""
    return _ORACLES.get(word, Tone.PLAIN)


def sign_of(word: str) -> str:
    """Return the character that goes before an outcome."""
    return _SIGNS.get(word, "!")
