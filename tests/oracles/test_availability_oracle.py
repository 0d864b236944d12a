"""Availability: a miss is a note, or a violation where it was required, or not to be told."""

from __future__ import annotations

import pytest

from checker.events import EventType
from checker.operations import Operation
from checker.oracles.availability import availability
from checker.oracles.result import OracleOutcome
from checker.timeline import MS

HEALED, BOUND = 100 * MS, 50 * MS


def op(f: str, call: int, back: int | None, outcome: EventType = EventType.OK) -> Operation:
    return Operation(
        index=0, process=0, f=f, key="x", value=None, outcome=outcome,
        call_ns=call * MS, return_ns=None if back is None else back * MS, call_line=1, return_line=2,
    )  # fmt: skip


READ, WRITE = op("read", 110, 120), op("write", 110, 130)


def judge(*operations: Operation, required: bool = True) -> OracleOutcome:
    return availability(operations, healed_ns=HEALED, bound_ns=BOUND, required=required).outcome


def test_both_resumed_in_time_is_ok() -> None:
    result = availability((READ, WRITE), healed_ns=HEALED, bound_ns=BOUND)
    assert result.outcome is OracleOutcome.OK
    assert result.figures == {"reads_resumed_ms": 20, "writes_resumed_ms": 30, "findings": 0}


@pytest.mark.parametrize(
    "write",
    [
        op("write", 110, 151),
        op("cas", 110, 160, EventType.FAIL),
        op("delete", 151, None, EventType.INFO),
    ],
)
def test_a_write_too_late_or_never_is_a_miss(write: Operation) -> None:
    assert judge(READ, write) is OracleOutcome.VIOLATION
    noted = availability((READ, write), healed_ns=HEALED, bound_ns=BOUND)
    assert (noted.outcome, len(noted.findings)) == (OracleOutcome.OK, 1)
    assert noted.findings[0].sentence.startswith("writes ")


def test_what_was_invoked_before_the_heal_says_nothing() -> None:
    assert judge(READ, op("write", 99, 105)) is OracleOutcome.UNAVAILABLE


def test_a_history_that_ends_before_the_bound_says_nothing() -> None:
    assert judge(READ, op("write", 110, 149, EventType.FAIL)) is OracleOutcome.UNAVAILABLE
    result = availability((op("write", 50, 60), READ), healed_ns=HEALED, bound_ns=BOUND)
    assert result.outcome is OracleOutcome.UNAVAILABLE
    assert result.reason is not None
    assert result.reason.startswith("no writes succeeded after the heal, but the history ends before")


def test_a_miss_of_one_outweighs_the_silence_of_the_other() -> None:
    assert judge(op("read", 110, 200)) is OracleOutcome.VIOLATION


STEADY = tuple(op(f, call, call + 5) for f in ("read", "write") for call in (*range(0, 30, 10), 110))


def stalls(*operations: Operation, calm: tuple[tuple[int, int], ...]) -> list[str]:
    spans = tuple((since * MS, until * MS) for since, until in calm)
    result = availability(operations, healed_ns=HEALED, bound_ns=BOUND, calm_ns=spans, required=True)
    assert (result.outcome is OracleOutcome.VIOLATION) is bool(result.findings)
    return [finding.sentence for finding in result.findings]


def test_a_stall_in_peace_counts_from_the_first_that_was_asked_in_it() -> None:
    late = op("write", 40, None, EventType.INFO)
    (told,) = stalls(*STEADY, late, calm=((0, 95),))
    assert told.startswith("no writes succeeded for 0.055 s, from 0.040 s into the run on, though ")
    assert stalls(*STEADY, late, calm=((0, 90),)) == []
    assert stalls(*STEADY, late, calm=((0, 60), (60, 95))) == []
    assert stalls(*STEADY, calm=((0, 95),)) == []


def test_the_next_success_ends_a_stall_and_one_too_late_is_one() -> None:
    assert stalls(*STEADY, op("write", 40, 89), calm=((0, 99),)) == []
    (told,) = stalls(*STEADY, op("write", 40, 91), op("read", 40, 41), calm=((0, 99),))
    assert told.startswith("no writes succeeded for 0.051 s, from 0.040 s")
