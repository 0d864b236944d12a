"""A campaign's end says of each entry that did not end as expected which, where, how often, and why."""

from __future__ import annotations

from typing import Any

import pytest

from harness.campaign.entries import Entry
from harness.campaign.reckoning import figures, reckoned
from harness.campaign.row import Row
from harness.campaign.surprises import Surprise, lines, surprises
from harness.campaign.table import table
from harness.ci.markdown import summary
from harness.outcome import Outcome

SEEN = {"lease-reads": 1}


def entry(name: str, expected: str = "pass") -> Entry:
    return Entry(name=name, expected=Outcome(expected), options={})


def row(name: str, seed: int, outcome: str, *, expected: str = "pass", **more: Any) -> Row:
    ends: dict[str, Any] = {"outcome": Outcome(outcome), "expected": Outcome(expected)}
    return Row(name=name, seed=seed, on="local", exercised=SEEN, **ends, **more)


def told(entries: list[Entry], rows: list[Row], **more: Any) -> list[str]:
    return list(lines(surprises(entries, rows, reckoned(entries, rows, **more))))


def test_an_entry_is_named_with_its_place_its_outcome_its_runs_and_the_first_reason() -> None:
    rows = [
        row("right", 2, "unknown", reason="the harness lagged"),
        row("right", 1, "unknown", reason="n2 answered no final read"),
        row("right", 0, "pass"),
        row("fine", 0, "pass"),
    ]
    said = "right on local: unknown, 2 of 3 runs; seed 1: n2 answered no final read"
    assert told([entry("fine"), entry("right")], rows) == [said]


@pytest.mark.parametrize(
    ("expected", "rows", "said"),
    [
        (
            "pass",
            [("unknown", "slow"), ("violation", "stale"), ("unknown", "slow")],
            "a on local: violation, 1 of 3 runs; seed 1: stale",
        ),
        ("pass", [("not-exercised", None)], f"seed 0: {Outcome.NOT_EXERCISED.meaning}"),
        (
            "violation",
            [("pass", None), ("not-exercised", "idle")],
            "a on local: expectation missed, 2 runs: a violation was expected, and no seed showed one",
        ),
        ("violation", [("pass", None), ("unknown", "slow")], "a on local: expectation missed, 2 runs: "),
        ("violation", [("pass", None), ("harness-failure", "no disk")], "harness failure, 1 of 2 runs"),
        ("pass", [], "a: unknown, 0 runs: the budget was over before its first run"),
    ],
)
def test_the_worst_of_an_entry_is_told(
    expected: str, rows: list[tuple[str, str | None]], said: str
) -> None:
    made = [
        row("a", seed, outcome, expected=expected, reason=reason)
        for seed, (outcome, reason) in enumerate(rows)
    ]
    (line,) = told([entry("a", expected)], made)
    assert said in line


def test_what_ended_as_expected_is_not_told() -> None:
    rows = [row("a", 0, "violation", expected="violation"), row("b", 0, "violation", known=True)]
    assert told([entry("a", "violation"), entry("b")], rows) == []


def test_the_worst_entry_comes_first_and_ten_are_told() -> None:
    entries = [entry(f"e{number}") for number in range(12)]
    rows = [row(each.name, 0, "unknown", reason="slow") for each in entries]
    rows[7] = row("e7", 0, "violation", reason="stale")
    said = told(entries, rows)
    assert said[0] == "e7 on local: violation, 1 run; seed 0: stale"
    assert said[1].startswith("e0 on local: unknown")
    assert (len(said), said[-1]) == (11, "and 2 more")


def test_a_campaign_that_was_cut_off_blames_no_budget() -> None:
    (line,) = told([entry("a")], [], cut_off=Outcome.INTERRUPTED)
    assert line == "a: unknown, 0 runs: the campaign ended before its first run"


def test_the_table_and_the_summary_of_a_server_have_the_same_lines_safe_to_show() -> None:
    reason = "\x1b[2J\n::error::<b>"
    found = [
        Surprise(name="a", on="sim", outcome=Outcome.UNKNOWN, runs=1, runs_of=1, seed=0, reason=reason)
    ]
    rows = [row("a", 0, "unknown")]
    ended: dict[str, Any] = dict.fromkeys(("reason", "missed", "not_run", "idle", "known_unseen"))
    ended |= {"outcome": "unknown", "seconds": 1.0, **figures(rows)}
    shown = list(table(rows, ended, unexpected=found))
    at = shown.index("not as expected:")
    assert shown[at - 1].startswith("unknown: 1 run in")
    assert shown[at + 1] == r"  a on sim: unknown, 1 run; seed 0: \x1b[2J\n::error::<b>"
    assert "not as expected:" not in list(table(rows, ended))
    text = summary(Outcome.UNKNOWN, [], tuple(lines(found)))
    assert "\n- a on sim\\: unknown, 1 run; seed 0\\: " in text
    assert "<b>" not in text
