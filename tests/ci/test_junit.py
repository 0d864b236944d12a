"""JUnit files: accepted by the strictest schema, and every outcome shown as what it is."""

from __future__ import annotations

import io
import os
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from ci_cases import EVERY, SCHEMA, case
from hypothesis import given
from hypothesis import strategies as st

from harness.campaign.cases import of_campaign
from harness.campaign.entries import Entry
from harness.campaign.reckoning import reckoned
from harness.campaign.row import Row
from harness.ci import junit as written
from harness.ci.junit import ORIGIN, junit, now
from harness.outcome import Outcome

PUBLIC = [name for name in os.environ.get("LANTERN_JUNIT_XSD", "").split(os.pathsep) if name]
"""Public schemas are not ours to hand on: docs/ci.md says which two there are."""


def read(data: bytes) -> ET.Element:
    SCHEMA.validate(io.BytesIO(data))
    return ET.fromstring(data)


def told(root: ET.Element) -> list[str]:
    return [
        f"{each.get('classname')} {each.get('name')}: "
        + (", ".join(f"{result.tag} {result.get('type') or ''}".strip() for result in each) or "passed")
        for each in root.iter("testcase")
    ]


def test_every_outcome_is_shown_as_what_it_is() -> None:
    root = read(junit(EVERY, began=now()))
    assert told(root) == [
        "lantern.lease-renew seed 1: passed",
        "lantern.lease-renew seed 1: failure violation: history",
        "lantern.accused seed 1: skipped",
        "lantern.slow seed 1: error unknown",
        "lantern.quiet seed 1: error not-exercised",
        "lantern.quiet seed 1: error harness-failure",
        "lantern.quiet seed 1: error malformed",
        "lantern.quiet seed 1: error interrupted",
        "lantern.planted all seeds: failure expectation-missed",
    ]
    counts = [
        [suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")] for suite in root
    ]
    assert counts == [
        ["lease-renew", "2", "1", "0", "0"],
        ["accused", "1", "0", "0", "1"],
        ["slow", "1", "0", "1", "0"],
        ["quiet", "4", "0", "4", "0"],
        ["planted", "1", "1", "0", "0"],
    ]
    (failure,) = root.iterfind("testsuite[1]/testcase/failure")
    assert failure.get("message") == "n1 read 3 | after 4"
    assert str(failure.text).splitlines() == [
        "violation: history: n1 read 3 | after 4",
        "rules: L12",
        "run: a b",
        "replay: lantern replay 'a b'",
    ]


@pytest.mark.soak
@pytest.mark.skipif(not PUBLIC, reason="LANTERN_JUNIT_XSD names no public schema")
def test_public_schemas_accept_every_outcome() -> None:
    for name in PUBLIC:
        xmlschema.XMLSchema(name).validate(io.BytesIO(junit(EVERY, began=now())))


@given(st.text(), st.text(), st.text(), st.sampled_from([each.value for each in Outcome]))
def test_whatever_a_history_holds_the_file_is_well_formed(
    suite: str, name: str, reason: str, outcome: str
) -> None:
    suite = suite.strip() or "x"
    rules = (name, reason)
    more = {"reason": reason, "replay": reason, "kind": name, "rules": rules}
    told = case(outcome, suite=suite, name=name, **more)
    known = case(outcome, suite=suite, name=name, counted=Outcome.PASS, known=rules, **more)
    root = read(junit([told, known], began=ORIGIN))
    assert len(list(root.iter("testcase"))) == 2


def test_a_campaign_that_ended_before_its_end_does_not_look_whole() -> None:
    entries = [Entry(name="a", expected=Outcome.PASS, options={})]
    rows = [Row(name="a", seed=0, outcome=Outcome.PASS, expected=Outcome.PASS)]
    stopped = reckoned(entries, rows, cut_off=Outcome.INTERRUPTED)
    root = read(junit(of_campaign(entries, rows, stopped), began=ORIGIN))
    assert told(root) == ["lantern.a seed 0: passed", "lantern.campaign to its end: error interrupted"]
    full = reckoned(entries, rows, cut_off=Outcome.HARNESS_FAILURE)
    (*_, whole) = of_campaign(entries, rows, full, why="no room")
    assert (whole.outcome, whole.sentence) == (Outcome.HARNESS_FAILURE, "no room")


def test_what_is_known_is_every_rule_that_is_convicted_certain_or_not() -> None:
    entries = [Entry(name="a", expected=Outcome.PASS, options={}, known=("F3", "F2", "L2"))]
    how: dict[str, Any] = {
        "outcome": Outcome.VIOLATION,
        "expected": Outcome.PASS,
        "known": True,
        "reason": "stale",
    }
    rows = [
        Row(name="a", seed=0, rules=("F3",), convicted=(("F3",), ("L2", "F2")), **how),
        Row(name="a", seed=1, rules=(), convicted=(("L2", "F2"),), **how),
    ]
    root = read(junit(of_campaign(entries, rows, reckoned(entries, rows)), began=ORIGIN))
    skipped = [each.get("message") for each in root.iter("skipped")]
    assert skipped == ["known: F3, L2, F2: stale", "known: L2, F2: stale"]


def test_no_cases_are_a_file_too() -> None:
    assert len(read(junit([], began=ORIGIN))) == 0


def test_of_very_many_cases_those_that_passed_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "CASES_MAX", 3)
    cases = [case("pass", name=f"seed {seed}") for seed in range(9)]
    cases += [case("violation", name="seed 9"), case("unknown", name="seed 10")]
    root = read(junit(cases, began=ORIGIN))
    assert [line.split(": ")[1] for line in told(root)] == [
        "passed",
        "failure violation",
        "error unknown",
    ]
    assert root.findtext("testsuite/system-out") == "8 more passed"
