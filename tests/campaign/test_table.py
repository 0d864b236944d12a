"""A campaign's table: no column can be taken for another."""

from __future__ import annotations

import msgspec

from harness.campaign.reckoning import figures
from harness.campaign.row import Row
from harness.campaign.table import table
from harness.outcome import Outcome
from targets.leasekv.mistakes import MISTAKES

NAME = "cached-lease-flag"
ROW = Row(
    name=NAME,
    seed=0,
    first_seed=0,
    outcome=Outcome.VIOLATION,
    expected=Outcome.VIOLATION,
    rules=("L11",),
    run="campaigns/a\nb",
)
SUMMARY = {
    "outcome": "pass",
    "seconds": 1.0,
    "reason": None,
    "missed": (),
    "not_run": (),
    "idle": {},
    "known_unseen": (),
    **figures([ROW]),
}


def test_the_rule_that_was_planted_and_the_one_that_evidence_convicts_are_told_apart() -> None:
    head, line, *_ = table([ROW], SUMMARY, {NAME: MISTAKES[NAME]})
    assert line[head.index("planted rule") :].split()[0] == MISTAKES[NAME].rule == "L4"
    assert line[head.index("rule by evidence") :].split()[0] == "L11"
    assert line[head.index("can be shown on") :].split()[:3] == ["sim", "local", "docker"]


def test_what_a_journal_has_for_a_rule_moves_no_cursor() -> None:
    hostile = msgspec.structs.replace(ROW, rules=("\x1b[2J\n::error::owned\u202e",))
    lines = list(table([hostile], SUMMARY, {NAME: MISTAKES[NAME]}))
    assert all(line.isprintable() for line in lines)
    assert r"\x1b[2J\n::error::owned\u202e" in lines[1]


def test_what_no_seed_exercised_is_told_by_name() -> None:
    lines = list(table([ROW], {**SUMMARY, "idle": {"log-read": ["deposed-reads", "\x1b[2J"]}}))
    assert r"exercised in no seed: log-read: deposed-reads, \x1b[2J" in lines


def test_a_name_with_a_newline_makes_no_second_line() -> None:
    kept = list(table([ROW], SUMMARY))[-1]
    assert kept.endswith(r"campaigns/a\nb")
