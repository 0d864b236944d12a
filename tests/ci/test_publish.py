"""What GitHub Actions is told: lines that mean what they say, a summary that nothing breaks out of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from ci_cases import EVERY, case
from hypothesis import given
from hypothesis import strategies as st

from harness.campaign.cases import of_campaign
from harness.campaign.entries import Entry
from harness.campaign.reckoning import reckoned
from harness.campaign.row import Row, of_entry
from harness.ci.annotations import annotated
from harness.ci.markdown import escaped, summary
from harness.ci.publish import publish
from harness.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "50%\n::error::no\r<script>`|`[x](y)*_# &amp; \x1b[2J"


def test_what_failed_is_an_error_and_what_is_known_a_warning() -> None:
    lines = list(annotated(EVERY))
    assert [line.partition(" ")[0] for line in lines] == ["::error"] * 7 + ["::warning"]
    assert lines[0] == (
        "::error title=Lantern%3A violation%3A history%3A lease-renew::violation: history: "
        "n1 read 3 | after 4%0Arules: L12%0Arun: a b%0Areplay: lantern replay 'a b'"
    )
    assert lines[-1] == "::warning title=Lantern::known violations: 1, of L12"


def test_a_step_shows_ten_errors_and_says_how_many_there_are() -> None:
    lines = list(annotated([case("unknown")] * 50 + [case("violation")]))
    assert len(lines) == 10
    assert "violation" in lines[0]
    assert lines[-1] == "::error title=Lantern::and 42 more: see the summary"


@given(st.text(), st.text())
def test_an_annotation_is_one_line_whatever_it_says(suite: str, reason: str) -> None:
    rules: dict[str, Any] = {"rules": (suite, reason), "known": (reason,)}
    known = case("violation", suite=suite, counted=Outcome.PASS, **rules)
    line, warned = annotated([case("violation", suite=suite, reason=reason, **rules), known])
    assert len(line.splitlines()) == len(warned.splitlines()) == 1
    assert (line + warned).isprintable()
    title, _, message = line.removeprefix("::error title=").partition("::")
    assert "," not in title
    assert ":" not in title
    assert message.startswith("violation: ")


def test_a_summary_says_what_failed_and_how_to_run_it_again() -> None:
    text = summary(Outcome.VIOLATION, EVERY)
    assert text.startswith("### Lantern: violation\n")
    assert "| accused | 1 | 1 violation | 1 |" in text
    assert "**violation\\: history**\\: lease\\-renew" not in text  # the colon between them is ours
    assert "**violation\\: history**: lease\\-renew, seed 1" in text
    assert "> n1 read 3 \\| after 4" in text
    assert "<code>lantern replay 'a b'</code>" in text


def test_a_violation_that_is_not_known_says_which_of_its_rules_are() -> None:
    entries = [Entry(name="a", expected=Outcome.PASS, options={}, known=("F2",))]
    row = Row(
        name="a",
        seed=0,
        outcome=Outcome.VIOLATION,
        expected=Outcome.PASS,
        convicted=(("F3",), ("F2",)),
    )
    rows = [of_entry(row, entries[0])]
    cases = of_campaign(entries, rows, reckoned(entries, rows))
    assert "why not known: <code>F2 is known, F3 is not</code>" in summary(Outcome.VIOLATION, cases)
    (line,) = annotated(cases)
    assert line.endswith("%0Awhy not known: F2 is known, F3 is not")
    expected = msgspec.structs.replace(entries[0], expected=Outcome.VIOLATION)
    assert of_entry(row, expected).why_not_known is None


def test_a_pass_that_may_be_idle_is_not_called_exercised() -> None:
    told = summary(Outcome.PASS, [case("pass"), case("pass", exercised=False)])
    assert "not all was exercised that had to be, which its plan allows" in told
    assert "and exercised as it had to be" not in told


def test_what_is_said_of_all_seeds_is_no_run_more() -> None:
    cases = [case("pass", suite="planted"), case("pass", suite="planted")]
    cases.append(case("expectation-missed", suite="planted", name="all seeds", runs=0))
    assert "| planted | 2 | 2 pass, expectation-missed |  |" in summary(
        Outcome.EXPECTATION_MISSED, cases
    )


def test_a_pass_of_expected_violations_is_not_said_to_be_linearizable() -> None:
    found = case("violation", suite="planted", counted=Outcome.PASS)
    text = summary(Outcome.PASS, [found, case("pass")])
    assert "linearizable" not in text
    assert "every run came to what was expected of it" in text
    assert "linearizable" in summary(Outcome.PASS, [case("pass")])


def test_nothing_in_a_summary_is_taken_for_markup() -> None:
    told: dict[str, Any] = {
        "reason": HOSTILE,
        "replay": HOSTILE,
        "rules": (HOSTILE,),
        "known": (HOSTILE,),
        "kind": HOSTILE,
    }
    text = summary(Outcome.VIOLATION, [case("violation", suite=HOSTILE, **told)])
    assert all(line.isprintable() for line in text.split("\n"))
    assert not re.search(r"<(?!/?code>|br>)", text)
    bare = re.sub(r"\\.", "", text)
    assert "`" not in bare
    assert "[" not in bare
    assert "\x1b" not in text
    assert all(line.count("|") - line.count("\\|") == 5 for line in text.splitlines() if line[:1] == "|")


@given(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["C"])))
def test_escaped_text_has_every_mark_behind_a_backslash(text: str) -> None:
    bare = re.sub(r"\\.", "", escaped(text).replace("&lt;", "").replace("&gt;", ""))
    assert not re.search(r"[`*_\[\]<>|#]", bare)


def test_only_a_server_that_asks_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    publish(Outcome.VIOLATION, EVERY, say=said.append, environ={})
    assert said == []
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(file)}
    publish(Outcome.VIOLATION, EVERY, say=said.append, environ=environ)
    assert len(said) == 8
    assert file.read_text().startswith("before\n### Lantern: violation\n")


@pytest.mark.parametrize("name", [".", "no/such/folder/summary.md"])
def test_a_summary_that_cannot_be_written_is_said_and_no_more(tmp_path: Path, name: str) -> None:
    said: list[str] = []
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / name)}
    publish(Outcome.PASS, EVERY[:1], say=said.append, environ=environ)
    assert len(said) == 1
    assert said[0].startswith("the summary could not be written: ")
