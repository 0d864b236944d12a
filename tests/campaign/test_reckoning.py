"""What rows come to: the rule of a campaign's outcome, case by case."""

from __future__ import annotations

import msgspec
import pytest

from harness.campaign.cases import of_campaign
from harness.campaign.entries import Drawn, Entry
from harness.campaign.reckoning import SEEDS_TELL, idle_words, reckoned
from harness.campaign.row import Row
from harness.outcome import Outcome


def entry(name: str, expected: str, *, known: str = "") -> Entry:
    return Entry(name=name, expected=Outcome(expected), options={}, known=tuple(known.split()))


def rows(entries: list[Entry], told: str) -> list[Row]:
    """Read ``a0 pass, b3 violation known, b4 violation L4+L5``: convicted as known, or of these."""
    expected = {each.name: each.expected for each in entries}
    made = []
    for part in filter(None, told.split(", ")):
        name, outcome, *rest = part.split()
        broken = ["L12"] if rest == ["known"] else rest[0].split("+") if rest else []
        made.append(
            Row(
                name=name[0],
                seed=int(name[1:]),
                outcome=Outcome(outcome),
                expected=expected[name[0]],
                known=rest == ["known"],
                rules=tuple(broken[:1]),
                convicted=tuple((rule,) for rule in broken),
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


@pytest.mark.parametrize(
    ("told", "unseen"),
    [
        ("a0 violation F3+F2", ""),
        ("a0 violation F2+L1", "F3"),
        ("a0 violation, a1 violation F3", "F2"),
        ("a0 unknown F3+F2", "F3 F2"),
    ],
)
def test_a_known_rule_is_seen_where_it_is_convicted_whatever_else_is(told: str, unseen: str) -> None:
    """The run of the second line fails, for L1 is not known, and has shown F2 all the same."""
    entries = [entry("a", "pass", known="F3 F2")]
    assert reckoned(entries, rows(entries, told)).known_unseen == tuple(unseen.split())


def test_what_ran_is_told_from_what_did_not() -> None:
    entries = [entry("a", "violation", known="L12 L3"), entry("b", "violation"), entry("c", "pass")]
    told = reckoned(entries, rows(entries, "a0 pass, c0 violation known"))
    assert told.missed == ("a",)
    assert told.not_run == ("b",)
    assert told.known_unseen == ("L3",)
    assert told.outcome is Outcome.EXPECTATION_MISSED
    stopped = reckoned(entries, rows(entries, "c0 pass"), cut_off=Outcome.INTERRUPTED)
    assert stopped.outcome is Outcome.INTERRUPTED


def drawn(seeds: int, **changes: object) -> tuple[list[Entry], list[Row]]:
    """Return a swarm entry and rows of it that count nothing but lease reads."""
    made = Entry(name="a", expected=Outcome.PASS, options={}, drawn=Drawn.SWARM)
    row = Row(
        name="a",
        seed=0,
        outcome=Outcome.PASS,
        expected=Outcome.PASS,
        exercised={"lease-reads": 9, "deposed-reads": 0, "clock-bend": 0},
    )
    entries = [msgspec.structs.replace(made, **changes)]
    return entries, [msgspec.structs.replace(row, seed=seed) for seed in range(seeds)]


def test_what_no_seed_of_a_swarm_exercised_is_no_pass() -> None:
    entries, rows = drawn(SEEDS_TELL)
    told = reckoned(entries, rows)
    assert told.outcome is Outcome.NOT_EXERCISED
    assert told.idle == {"a": ("deposed-reads", "clock-bend")}
    assert idle_words(told.idle) == "a: deposed-reads, clock-bend"
    *_, case = of_campaign(entries, rows, told)
    assert (case.name, case.counted) == ("all seeds", Outcome.NOT_EXERCISED)
    assert case.reason == "no seed exercised deposed-reads, clock-bend"
    once = {"deposed-reads": 1, "clock-bend": 1}
    rows[7] = msgspec.structs.replace(rows[7], exercised=once)
    assert reckoned(entries, rows).outcome is Outcome.PASS
    rows[3] = msgspec.structs.replace(rows[3], outcome=Outcome.VIOLATION, exercised={})
    assert reckoned(entries, rows).outcome is Outcome.VIOLATION


def test_few_seeds_and_what_is_aimed_or_expected_otherwise_are_not_asked_for_every_claim() -> None:
    for entries, rows in (
        drawn(SEEDS_TELL - 1),
        drawn(SEEDS_TELL, drawn=Drawn.AIMED),
        drawn(SEEDS_TELL, expected=Outcome.VIOLATION),
    ):
        assert reckoned(entries, rows).idle == {}
    entries, rows = drawn(SEEDS_TELL)
    silent = [msgspec.structs.replace(row, exercised={}) for row in rows]
    assert reckoned(entries, silent).idle == {}
