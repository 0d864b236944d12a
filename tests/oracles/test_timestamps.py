"""Timestamps of writes: against a dumb oracle, and sentence by sentence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from checker.events import EventType, Served
from checker.operations import Operation
from checker.oracles.result import OracleOutcome
from checker.oracles.timestamps import Stamped, stamped, timestamps

LATE_NS = 100
"""An origin that no timestamp of the drawn writes reaches: whatever they are, none is ahead of time."""


@st.composite
def writes(draw: st.DrawFn) -> list[Stamped]:
    made = []
    for index in range(draw(st.integers(0, 8))):
        call_ns = draw(st.integers(0, 12))
        return_ns = draw(st.integers(call_ns, 14))
        made.append(Stamped(index, call_ns, return_ns, draw(st.integers(0, 14)), "n1"))
    return made


@given(writes())
def test_the_order_is_what_every_pair_says(made: list[Stamped]) -> None:
    wrong = {
        later.index
        for later in made
        if any(one.return_ns < later.call_ns and one.stamp_ns >= later.stamp_ns for one in made)
    }
    found = timestamps(made, origin_ns=LATE_NS)
    assert found.figures == {"stamped_writes": len(made), "findings": len(wrong)}
    assert found.outcome is (OracleOutcome.VIOLATION if wrong else OracleOutcome.OK)


@given(writes(), st.integers(-5, 5))
def test_a_write_is_told_when_its_timestamp_is_past(made: list[Stamped], origin_ns: int) -> None:
    early = sum(origin_ns + one.return_ns < one.stamp_ns for one in made)
    disordered = timestamps(made, origin_ns=LATE_NS).figures["findings"]
    assert timestamps(made, origin_ns=origin_ns).figures["findings"] == early + disordered


def test_both_kinds_say_who_and_how_far() -> None:
    found = timestamps(
        [Stamped(0, 0, 10, 3_000_000, "n1"), Stamped(1, 20, 4_000_000, 1_000_000, "n2")], origin_ns=0
    )
    early, disordered = [finding.sentence for finding in found.findings]
    assert early.startswith("operation 0 was answered by n1 3.000 ms before its own timestamp")
    assert disordered.startswith("operation 0 at n1 was over before operation 1 at n2 began")
    assert disordered.endswith("2.000 ms smaller")


def test_when_it_was_is_told_on_the_true_clock() -> None:
    writes = [Stamped(0, 0, 10, 3_000_000, "n1"), Stamped(1, 20, 4_000_000, 1_000_000, "n2")]
    found = timestamps(writes, origin_ns=1_000_000)
    assert [finding.during_ns for finding in found.findings] == [
        (1_000_000, 1_000_010),
        (1_000_010, 1_000_020),
    ]


def test_only_writes_that_were_acknowledged_with_one_are_judged() -> None:
    def operation(f: str, outcome: EventType, stamp_ns: int | None) -> Operation:
        return Operation(
            index=0,
            process=0,
            f=f,
            key="x",
            value=1,
            outcome=outcome,
            call_ns=0,
            return_ns=1,
            call_line=1,
            return_line=2,
            node="n1",
            evidence=Served(stamp_ns=stamp_ns),
        )

    kept = stamped(
        [
            operation("write", EventType.OK, 5),
            operation("cas", EventType.OK, 6),
            operation("write", EventType.FAIL, 7),
            operation("write", EventType.OK, None),
            operation("read", EventType.OK, 8),
        ]
    )
    assert [write.stamp_ns for write in kept] == [5, 6]
