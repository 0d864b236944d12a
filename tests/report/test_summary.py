"""The summary of a run: everything a reader needs, in words, with nothing hidden in them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.outcome import Outcome
from harness.report import saved
from harness.report.escape import plain
from harness.report.summary import summary
from harness.report.terminal import coloured_lines, plain_lines
from harness.report.view import FaultCount, OracleLine, Proof, ReadPathCount, RuleLine, RunView

VIEW = RunView(
    outcome=Outcome.VIOLATION,
    title="leasekv, lease-renew, 3 nodes, local, seed 4",
    reason=None,
    seconds=20.0,
    operations={"read": {"ok": 11_000, "fail": 300}, "write": {"ok": 1_000, "info": 12}},
    faults={
        "pause": FaultCount(installed=3, did="leader stopped, 4.5 s in all"),
        "clock": FaultCount(skipped=2, did="no libfaketime here"),
    },
    leader_changes=3,
    reads={
        "lease": ReadPathCount(reads=9_000, p50_ns=150_000),
        "readindex": ReadPathCount(reads=2_000, p50_ns=600_000),
    },
    stall_ns=(2_100_000_000, 8_000_000_000),
    keys={"violation": 1, "pass": 40, "not-judged": 38},
    oracles=(OracleLine("lease-overlap", "violation", "n1 and n2 would both serve"),),
    claims={"lease-reads": 9_000, "leader-changes": 2, "deposed-reads": 0, "clock-bend": 49_991},
    proof=Proof(
        kind="history",
        key="k3",
        sentence="the read of 5 began 210 ms after write 7 was acknowledged",
        drawing=("p3 write 7   |--|", "p1 read -> 5      |--|"),
        stale="stale by at least 210.000 ms and 2 versions",
        served="n1 answered from its lease in term 2",
        faults=("n1 paused",),
    ),
    planted=("role-only-read, which breaks rule L4",),
    units={"clock-bend": "ppm off (rate)"},
    notes=("2 steps of the schedule were skipped",),
    directory="runs/20250101T120000-lease-renew",
    replay="lantern replay runs/20250101T120000-lease-renew",
)


RULES = (
    RuleLine(said="breaks L4: n1 compared no clock", looks_like=("role-only-read",)),
    RuleLine(said="unknown rule: nothing is contradicted", around=("3.1 s: n2 voted for n3",)),
)


def text(view: RunView) -> str:
    return "\n".join(plain_lines(summary(view)))


def test_the_rule_stands_with_the_proof_and_nothing_is_said_where_nobody_was_convicted() -> None:
    shown = text(msgspec.structs.replace(VIEW, rules=RULES))
    assert "breaks L4: n1 compared no clock" in shown
    assert "role-only-read (by its trace; mistakes of the catalog)" in shown
    assert "3.1 s: n2 voted for n3" in shown
    proof = shown[shown.index("kind") : shown.index("ok in 20.0 s")]
    assert "breaks L4" in proof
    assert "looks like" not in text(VIEW)


def test_a_summary_names_everything_a_reader_needs() -> None:
    shown = text(VIEW)
    for wanted in (
        "VIOLATION",
        "12000 ok in 20.0 s (600 a second)",
        "1000 ok, 0 fail, 12 info",
        "9000, p50 0.150 ms",
        "2000, p50 0.600 ms",
        "2100 ms without an ok, from 8.00 s on",
        "elections won    3 after the first, 2 by another node than before",
        "3 installed: leader stopped",
        "0 installed, 2 skipped: no libfaketime here",
        "0 (not exercised)",
        "38 not judged, 40 pass, 1 violation",
        "n1 and n2 would both serve",
        "history, key k3",
        "210 ms after write 7",
        "p1 read -> 5      |--|",
        "from its lease in term 2",
        "n1 paused",
        "planted          role-only-read, which breaks rule L4",
        "how stale        stale by at least 210.000 ms and 2 versions",
        "clock-bend       49991 ppm off (rate)",
        VIEW.directory,
        VIEW.replay,
    ):
        assert wanted in shown


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_said_with_its_meaning(outcome: Outcome) -> None:
    shown = text(msgspec.structs.replace(VIEW, outcome=outcome, proof=None, claims={"lease-reads": 1}))
    assert outcome.value.upper().replace("-", " ") in shown
    assert outcome.meaning in " ".join(shown.split())


@pytest.mark.parametrize(
    ("claims", "note", "exercised"),
    [
        ({"lease-reads": 3}, "nothing", True),
        ({"lease-reads": 3, "deposed-reads": 0}, "nothing", False),
        ({"lease-reads": 3}, "not exercised, which was allowed: no fault took hold", False),
        ({}, "nothing", True),
    ],
)
def test_a_pass_is_said_to_be_exercised_only_where_it_was(
    claims: dict[str, int], note: str, *, exercised: bool
) -> None:
    shown = text(
        msgspec.structs.replace(VIEW, outcome=Outcome.PASS, proof=None, claims=claims, notes=(note,))
    )
    shown = " ".join(shown.split())
    assert ("and exercised as it had to be" in shown) is exercised
    assert ("not all was exercised that had to be, which its plan allows" in shown) is not exercised


def test_every_rule_of_a_planted_mistake_is_named() -> None:
    planted = saved.Planted("vote-ignores-promise", "F2", "it votes", rules=("F2", "F3"))
    assert str(planted).startswith("vote-ignores-promise, which breaks rules F2, F3: it votes (known")
    assert "which breaks rule F2: it" in str(saved.Planted("vote-ignores-promise", "F2", "it votes"))


def test_a_run_in_which_nothing_happened_can_be_shown() -> None:
    empty = msgspec.structs.replace(
        VIEW,
        seconds=0.0,
        operations={},
        faults={},
        reads={},
        stall_ns=None,
        keys={},
        oracles=(),
        claims={},
        proof=None,
        notes=(),
    )
    assert "0 ok in 0.0 s (0 a second)" in text(empty)


@pytest.mark.parametrize(
    ("verdict", "operations", "keys"),
    [
        ({"operations": 0, "exercised": {}}, {}, {}),
        ({"operations": None, "exercised": None}, None, None),
        ({"operations": 3, "exercised": None}, None, None),
        (
            {"operations": 3, "by_outcome": {"read": {"ok": 3}}, "keys": {"x": {"outcome": "pass"}}},
            {"read": {"ok": 3}},
            {"pass": 1},
        ),
    ],
)
def test_what_nobody_looked_at_is_not_counted_as_nothing(
    verdict: dict[str, Any], operations: object, keys: object
) -> None:
    said = saved.told({"outcome": "interrupted", **verdict}, name="verdict.json")
    view = saved.view_of(said, title="", units={}, directory="")
    assert (view.operations, view.keys) == (operations, keys)


def test_colours_change_no_word() -> None:
    sections = summary(VIEW)
    bare = "\n".join(plain_lines(sections))
    coloured = "\n".join(coloured_lines(sections, width=200))
    stripped = "".join(
        piece.partition("m")[2] if at else piece for at, piece in enumerate(coloured.split("\x1b["))
    )
    assert [line.split() for line in stripped.splitlines()] == [
        line.split() for line in bare.splitlines()
    ]


def test_a_narrow_terminal_folds_and_loses_nothing() -> None:
    narrow = list(coloured_lines(summary(VIEW), width=40))
    assert len(narrow) > len(list(plain_lines(summary(VIEW))))
    assert "acknowledged" in "".join(line.strip() for line in narrow)


def test_text_of_a_run_sends_nothing_to_the_terminal() -> None:
    evil = "\x1b[2J[bold]x[/bold]\r\n\u202egnp"
    view = msgspec.structs.replace(
        VIEW,
        title=evil,
        reason=evil,
        notes=(evil,),
        directory=evil,
        replay=evil,
        operations={evil: {"ok": 1}},
        claims={evil: 1},
        faults={evil: FaultCount(installed=1, did=evil)},
        oracles=(OracleLine(evil, evil, evil),),
        proof=Proof(kind=evil, key=evil, sentence=evil, drawing=(evil,), served=evil, faults=(evil,)),
    )
    assert all(line.isprintable() for line in plain_lines(summary(view)))
    for line in coloured_lines(summary(view), width=120):
        assert "\x1b[2J" not in line
        assert "\u202e" not in line
    assert "[bold]x[/bold]" in "".join(coloured_lines(summary(view), width=400))


@given(st.text())
def test_plain_text_is_one_printable_line_and_short(text: str) -> None:
    shown = plain(text, chars_max=50)
    assert shown.isprintable() or not shown
    assert len(shown.encode("utf-8")) < 1000


@given(st.integers(0, 200))
def test_text_that_is_cut_is_shorter_for_it(more: int) -> None:
    text = "x" * (50 + more)
    shown = plain(text, chars_max=50)
    assert shown == text if more <= 24 else shown == f"{text[:50]}... ({more} characters more)"
    assert len(shown) <= len(text)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]), max_size=50))
def test_plain_text_leaves_what_can_be_seen_as_it_is(text: str) -> None:
    assert plain(text) == text


def test_undecodable_file_names_can_be_shown() -> None:
    assert plain(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\udce9"


def test_what_the_proof_says_is_said_once() -> None:
    assert VIEW.proof is not None
    sentence = VIEW.proof.sentence
    twice = msgspec.structs.replace(
        VIEW,
        reason=f"not linearizable: key k3: {sentence}",
        oracles=(OracleLine("lease-overlap", "violation", sentence),),
    )
    shown = " ".join(text(twice).split())
    assert shown.count(sentence) == 1
    assert "violation: the proof above" in shown
    other = msgspec.structs.replace(VIEW, reason="the disk was full")
    assert "the disk was full" in text(other)


def test_a_proof_without_faults_says_so_and_one_without_evidence_says_nothing_of_them() -> None:
    assert VIEW.proof is not None
    alone = msgspec.structs.replace(VIEW.proof, faults=())
    assert "fault in force   none" in text(msgspec.structs.replace(VIEW, proof=alone))
    unknown = msgspec.structs.replace(alone, served=None)
    assert "fault in force" not in text(msgspec.structs.replace(VIEW, proof=unknown))


def test_plain_lines_fit_into_eighty_columns_but_for_what_one_may_want_to_copy() -> None:
    long = "a word after a word " * 20
    view = msgspec.structs.replace(VIEW, reason=long, notes=(long,), title=long)
    kept = {VIEW.directory, VIEW.replay, *(VIEW.proof.drawing if VIEW.proof else ())}
    for line in text(view).splitlines():
        assert len(line) <= 80 or any(line.endswith(each) for each in kept)
