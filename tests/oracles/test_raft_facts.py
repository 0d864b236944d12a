"""Each planted contradiction among Raft's facts is a finding, and what is merely odd is none."""

from __future__ import annotations

import pytest

from checker.evidence import (
    Applied,
    Booted,
    EvidenceLine,
    Fact,
    RoleChanged,
    ServedRead,
    TermChanged,
    Voted,
)
from checker.oracles.raft import raft
from checker.oracles.result import OracleOutcome
from checker.timeline import build


def written(*facts: Fact, node: str = "n1") -> list[EvidenceLine]:
    return [
        EvidenceLine(node, place, place, (place, place), fact)
        for place, fact in enumerate((Booted(1, 1), *facts))
    ]


def leads(term: int) -> tuple[Fact, ...]:
    return (TermChanged(term), RoleChanged(term, "leader"))


def vote(candidate: str, term: int, *, pre: bool = False, granted: bool = True) -> Voted:
    return Voted(term, candidate, pre=pre, granted=granted, reason=None)


WRONG = {
    "two leaders": (
        [*written(*leads(2)), *written(*leads(2), node="n2")],
        "n2 became leader of term 2 beside n1",
    ),
    "vote forgotten": (
        written(*leads(2), Booted(2, 2), RoleChanged(2, "leader")),
        "n1 became leader of term 2 again after a boot",
    ),
    "two votes": (
        written(TermChanged(2), vote("n2", 2), vote("n3", 2)),
        "n1 voted for n3 and for n2 in term 2",
    ),
    "term back": (
        written(TermChanged(3), TermChanged(2)),
        "n1 went back to term 2 after it had been in term 3",
    ),
    "term lost": (
        written(*leads(3), Booted(2, 1)),
        "n1 booted in term 1 after it had been in term 3",
    ),
    "applied back": (
        written(Applied(1, 5, 1), Applied(1, 4, 1)),
        "n1 applied index 4 of term 1 after index 5 of term 1",
    ),
    "log terms back": (
        written(Applied(3, 5, 3), Applied(3, 6, 2)),
        "n1 applied an entry of term 2 at index 6, beyond index 5, where n1 applied one of term 3",
    ),
    "logs part": (
        [*written(Applied(2, 5, 1)), *written(Applied(2, 5, 2), node="n2")],
        "n2 applied an entry of term 2 at index 5, where n1 applied one of term 1",
    ),
    "rewritten over a boot": (
        written(Applied(1, 5, 1), Booted(2, 2), Applied(2, 5, 2)),
        "n1 applied an entry of term 2 at index 5, where n1 applied one of term 1",
    ),
    "a lost entry, and no index that both tell": (
        [*written(Applied(2, 5, 2)), *written(Applied(3, 4, 3), node="n2")],
        "n1 applied an entry of term 2 at index 5, beyond index 4, where n2 applied one of term 3",
    ),
    "read too early": (
        written(ServedRead(1, "follower", "x", 9, 8)),
        "n1 answered a read of index 9 from a state at index 8",
    ),
}

ODD = {
    "a term moved to and lost before it was durable": written(TermChanged(3), Booted(2, 2)),
    "a vote written down and lost before it was said": written(
        TermChanged(2), vote("n2", 2), Booted(2, 1), TermChanged(2), vote("n3", 2)
    ),
    "the same vote twice": written(TermChanged(2), vote("n2", 2), vote("n2", 2)),
    "pre-votes for everybody": written(vote("n2", 1, pre=True), vote("n3", 1, pre=True)),
    "refusals": written(vote("n2", 1, granted=False), vote("n3", 1, granted=False)),
    "a replay after a boot": written(Applied(1, 5, 1), Booted(2, 1), Applied(1, 2, 1)),
    "leading on": written(*leads(2), RoleChanged(2, "leader")),
    "the next term": [*written(*leads(2)), *written(*leads(3), node="n2")],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_invariant_is_named(name: str) -> None:
    lines, sentence = WRONG[name]
    result = raft(build(lines))
    assert result.outcome is OracleOutcome.VIOLATION
    assert result.kind == "invariant"
    assert [finding.sentence for finding in result.findings] == [sentence]


@pytest.mark.parametrize("name", ODD)
def test_what_a_right_node_may_write_is_no_finding(name: str) -> None:
    result = raft(build(ODD[name]))
    assert result.findings == ()
    assert result.outcome is OracleOutcome.OK


def test_no_evidence_is_no_verdict() -> None:
    assert raft(build(())).outcome is OracleOutcome.UNAVAILABLE


def test_of_many_findings_the_first_are_kept_and_all_counted() -> None:
    result = raft(build(written(*(ServedRead(1, "lease", "x", 9, 8) for _ in range(50)))))
    assert (len(result.findings), result.figures["findings"]) == (20, 50)
