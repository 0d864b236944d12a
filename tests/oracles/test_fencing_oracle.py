"""The fencing oracle: what it must see, against a judge of all pairs, and what it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import formats
from checker.events import Event, EventType
from checker.evidence import EvidenceLine, Fact, Granted, SessionBegan, SessionEnded, Stored
from checker.oracles.fencing import counts, fencing
from checker.oracles.result import OracleOutcome, OracleResult
from checker.timeline import build

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checker.operations import History

OK, FAIL, INFO = EventType.OK, EventType.FAIL, EventType.INFO
Row = tuple[int, int, str, Any, EventType]
"""From when to when, what, with which value, and how it ended."""


def history(rows: Sequence[Row], *, key: str = "a", error: str = "FENCED") -> History:
    """Return operations, each by a process of its own; an acquisition's value is its token."""
    stamps: list[tuple[int, int, int, EventType, str, Any, str | None]] = []
    for process, (begin, end, f, value, kind) in enumerate(rows):
        asked = ["s", 1] if f == "acquire" else value
        stamps.append((begin, 0, process, EventType.INVOKE, f, None if f == "read" else asked, None))
        said = error if kind is FAIL else None
        stamps.append((end, 1, process, kind, f, value, said))
    events = [
        Event(index=i, time_ns=at, process=p, type=kind, f=f, key=key, value=value, error=said)
        for i, (at, _, p, kind, f, value, said) in enumerate(sorted(stamps, key=lambda s: s[:3]))
    ]
    return formats.from_events(events, name="drawn", header=None)


def evidence(facts: Iterable[Fact], node: str = "n1") -> list[EvidenceLine]:
    return [EvidenceLine(node, at, at, (at, at), fact) for at, fact in enumerate(facts)]


def judged(rows: Sequence[Row] = (), lines: Iterable[EvidenceLine] = ()) -> OracleResult:
    result = fencing(history(rows), build(lines))
    assert result is not None
    return result


def sentences(result: OracleResult) -> list[str]:
    assert (result.outcome is OracleOutcome.VIOLATION) is bool(result.findings)
    return [finding.sentence for finding in result.findings]


GRANTS: tuple[Row, ...] = ((0, 1, "acquire", 5, OK), (2, 3, "acquire", 9, OK))


def test_without_locks_it_has_nothing_to_say() -> None:
    assert fencing(history([(0, 1, "write", 1, OK), (2, 3, "read", 1, OK)]), build(())) is None


def test_tokens_that_never_fall_are_in_order() -> None:
    rows = [
        *GRANTS,
        (4, 5, "write", [5, 1], OK),
        (6, 7, "write", [5, 2], OK),
        (8, 9, "write", [9, 3], OK),
    ]
    assert sentences(judged(rows)) == []


def test_a_write_under_an_older_token_after_a_newer_one_is_a_violation() -> None:
    (said,) = sentences(judged([*GRANTS, (4, 5, "write", [9, 1], OK), (6, 7, "write", [5, 2], OK)]))
    assert said.startswith("token 5 of a was accepted")
    assert "after token 9" in said


def test_a_finding_of_clients_brings_the_operations_that_prove_it() -> None:
    rows = [*GRANTS, (4, 5, "write", [9, 1], OK), (6, 7, "write", [5, 2], OK)]
    (finding,) = judged(rows).findings
    assert [each.value for each in finding.operations] == [[9, 1], [5, 2]]


def test_two_writes_at_once_have_no_order() -> None:
    assert not sentences(judged([*GRANTS, (4, 9, "write", [9, 1], OK), (5, 8, "write", [5, 2], OK)]))


def test_what_was_read_was_accepted() -> None:
    rows = [*GRANTS, (4, 5, "read", [9, 1], OK), (6, 7, "read", [5, 2], OK)]
    assert len(sentences(judged(rows))) == 1


@pytest.mark.parametrize("kind", [FAIL, INFO])
def test_what_was_refused_or_may_be_accuses_nobody(kind: EventType) -> None:
    assert not sentences(judged([*GRANTS, (4, 5, "write", [9, 1], OK), (6, 7, "write", [5, 2], kind)]))


@pytest.mark.parametrize("second", [5, 3])
def test_a_grant_has_a_greater_token_than_the_one_before(second: int) -> None:
    rows = [(0, 1, "acquire", 5, OK), (2, 3, "acquire", second, OK)]
    assert len(sentences(judged(rows))) == 1


def test_a_token_that_nobody_was_told_of_was_not_granted() -> None:
    (said,) = sentences(judged([(0, 1, "acquire", 5, OK), (2, 3, "write", [6, 1], OK)]))
    assert "no acquisition was ever told" in said


def test_two_that_believe_in_one_lock_are_counted_and_not_accused() -> None:
    result = judged([*GRANTS])
    assert (result.outcome, result.figures["held_by_two"]) == (OracleOutcome.OK, 1)


TOKENS = st.integers(1, 4)
OPERATIONS = st.tuples(
    st.integers(0, 30), st.integers(0, 12), st.sampled_from(["write", "read"]), TOKENS
)


@given(st.lists(OPERATIONS, max_size=8))
def test_it_sees_every_pair_that_a_judge_of_pairs_sees(drawn: list[tuple[int, int, str, int]]) -> None:
    grants: list[Row] = [(-2 * n, -2 * n + 1, "acquire", 5 - n, OK) for n in range(4, 0, -1)]
    rows: list[Row] = [
        (40 * begin, 40 * (begin + length) + 20, f, [token, number], OK)
        for number, (begin, length, f, token) in enumerate(drawn)
    ]
    falls = [
        second
        for second in rows
        if any(first[1] < second[0] and first[3][0] > second[3][0] for first in rows)
    ]
    assert len(sentences(judged([*grants, *rows]))) == len(falls)


# Evidence.


def test_a_node_that_tells_of_a_fall_is_believed() -> None:
    facts = [Stored(1, 10, "a", 5), Stored(1, 12, "a", 9), Stored(1, 15, "a", 5)]
    (said,) = sentences(judged((), evidence(facts)))
    assert said == "n1 accepted token 5 for a after token 9 at index 12, at index 15"


def test_nodes_are_heard_together_and_each_entry_once() -> None:
    early = [Stored(1, 10, "a", 5), Stored(1, 12, "a", 9)]
    late = [*evidence(early), *evidence([*early, Stored(1, 15, "a", 7)], node="n2")]
    assert len(sentences(judged((), late))) == 1
    assert not sentences(judged((), [*evidence(early), *evidence(early, node="n2")]))


def test_a_lock_of_a_session_that_had_ended_was_not_looked_at_again() -> None:
    facts: list[Fact] = [
        SessionBegan(1, 1, "s1"),
        SessionEnded(1, 4, "s1", expired=True),
        Granted(1, 6, "a", "s1", 6),
    ]
    (said,) = sentences(judged((), evidence(facts)))
    assert "granted to session s1, which had ended" in said
    again: list[Fact] = [*facts[:2], SessionBegan(1, 5, "s1"), facts[2]]
    assert not sentences(judged((), evidence(again)))


def test_what_was_exercised_is_counted_from_what_was_seen() -> None:
    rows = [*GRANTS, (4, 5, "write", [5, 1], FAIL)]
    ended = [SessionEnded(1, 4, "s1", expired=True), SessionEnded(1, 5, "s2", expired=False)]
    told = counts(history(rows), build(evidence(ended)))
    assert told == {"grants": 2, "expiries": 1, "refused-tokens": 1}
