"""What rows come to: the rule of a campaign's outcome, case by case."""

from __future__ import annotations

import pytest

from harness.campaign.entries import Entry
from harness.campaign.reckoning import reckoned
from harness.campaign.row import Row
from harness.outcome import Outcome


def entry(name: str, expected: str, *, known: str = "") -> Entry:
    return Entry(name=name, expected=Outcome(expected), options={}, known=tuple(known.split()))


def rows(entries: list[Entry], told: str) -> list[Row]:
    """Read ``a0 pass, b3 violation known``."""
    expected = {each.name: each.expected for each in entries}
    made = []
    for part in filter(None, told.split(", ")):
        name, outcome, *rest = part.split()
        made.append(
            Row(
                name=name[0],
                seed=int(name[1:]),
                outcome=Outcome(outcome),
                expected=expected[name[0]],
                known=rest == ["known"],
                rules=("L12",) if rest else (),
            )
        )
    return made


@pytest.mark.parametrize(
    ("expected", "told", "outcome"),
    [
        ("violation", "a0 violation", "pass"),
        ("violation", "a0 pass, a1 violation, a2 not-exercised", "pass"),
        ("violation", "a0 pass, a1 not-exercised", "expectation-missed"),
        ("violation", "a0 violation, a1 unknown", "unknown"),
        ("violation", "a0 violation, a1 harness-failure", "harness-failure"),
        ("pass", "a0 pass, a1 violation", "violation"),
        ("pass", "a0 violation known", "pass"),
        ("pass", "a0 violation known, a1 violation", "violation"),
        ("pass", "a0 not-exercised", "not-exercised"),
        ("pass", "a0 malformed, a1 harness-failure", "malformed"),
        ("not-exercised", "a0 not-exercised, a1 pass", "pass"),
        ("unknown", "a0 unknown", "pass"),
        ("unknown", "a0 violation", "violation"),
        ("pass", "", "unknown"),
    ],
)
def test_the_worst_that_was_not_expected_wins(expected: str, told: str, outcome: str) -> None:
    entries = [entry("a", expected)]
    assert reckoned(entries, rows(entries, told)).outcome is Outcome(outcome)


def test_what_ran_is_told_from_what_did_not() -> None:
    entries = [entry("a", "violation", known="L12 L3"), entry("b", "violation"), entry("c", "pass")]
    told = reckoned(entries, rows(entries, "a0 pass, c0 violation known"))
    assert told.missed == ("a",)
    assert told.not_run == ("b",)
    assert told.known_unseen == ("L3",)
    assert told.outcome is Outcome.EXPECTATION_MISSED
    stopped = reckoned(entries, rows(entries, "c0 pass"), cut_off=Outcome.INTERRUPTED)
    assert stopped.outcome is Outcome.INTERRUPTED
