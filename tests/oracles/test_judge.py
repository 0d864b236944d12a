"""All oracles over one run: which apply, what odd evidence does to them, and how long they take."""

from __future__ import annotations

from itertools import accumulate
from time import process_time
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from checker import evidence_lines, exercised
from checker.events import EventType, ReadPath, Served
from checker.evidence import (
    Applied,
    Booted,
    Checked,
    EvidenceLine,
    Fact,
    OwnClock,
    Promised,
    Refused,
    Revoked,
    RoleChanged,
    RoundAcked,
    RoundSent,
    ServedRead,
    TermChanged,
    Voted,
)
from checker.operations import Operation
from checker.oracles.judge import Declared, judge
from checker.oracles.promise import supporters
from checker.oracles.result import OracleOutcome
from checker.timeline import MS, build

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[str], tuple[EvidenceLine, ...]]

NODES = ("n1", "n2", "n3")
OVERLAP = """
    n1 term=1 lease=200        |BLs2c  .  .  .  x
    n2 term=2 lease=60 for=n2  |B  p v Lc  . x
"""


def outcomes(lines: tuple[EvidenceLine, ...], **declared: Any) -> dict[str, str]:
    results = judge((), build(lines), Declared(nodes=NODES, **declared))
    return {result.name: result.outcome for result in results}


def test_every_oracle_answers_by_name(draw: Draw) -> None:
    assert outcomes(draw(OVERLAP), drift_ppm=50_000) == {
        "lease-overlap": OracleOutcome.VIOLATION,
        "promise": OracleOutcome.VIOLATION,
        "raft": OracleOutcome.OK,
        "availability": OracleOutcome.UNAVAILABLE,
        "clock-audit": OracleOutcome.OK,
    }


def test_what_a_policy_does_not_owe_is_not_asked(draw: Draw) -> None:
    free = outcomes(draw(OVERLAP), owes=frozenset())
    assert free["lease-overlap"] == free["promise"] == OracleOutcome.UNAVAILABLE


def test_a_lease_rests_on_the_acknowledgements_a_majority_needs(draw: Draw) -> None:
    def of(row: str, *voters: str) -> set[str]:
        timeline = build(draw(f"n1 term=1 lease=200 |{row}"))["n1"]
        return supporters(timeline, len(timeline.lines) - 1, voters)

    assert of("BLs23c", *NODES) == {"n2", "n3"}
    assert of("BLs2s3c", *NODES) == {"n3"}
    assert of("BLs2s3c", *NODES, "n4", "n5") == {"n2", "n3"}
    assert of("BLs2s3c", "n1", "n2", "n4") == {"n2"}
    assert of("BLs2BLs3c", *NODES) == {"n3"}
    assert of("BL2s3c", *NODES) == set(), "who knows when n2's round was sent"
    assert of("BLs2TLs3c", *NODES) == {"n3"}


facts = st.one_of(
    st.builds(Booted, st.integers(1, 3), st.integers(0, 4)),
    st.builds(
        Checked,
        st.integers(0, 4),
        st.booleans(),
        st.sampled_from(OwnClock),
        st.integers(0, 200),
        st.none() | st.integers(0, 300),
    ),
    st.builds(
        ServedRead,
        st.integers(0, 4),
        st.just("lease"),
        st.just("x"),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.builds(Refused, st.integers(0, 4), st.sampled_from(("NOT_LEADER", "MISMATCH"))),
    st.builds(
        Promised, st.integers(0, 4), st.sampled_from(NODES), st.integers(1, 5), st.integers(0, 300)
    ),
    st.builds(Voted, st.integers(0, 4), st.sampled_from(NODES), st.booleans(), st.booleans(), st.none()),
    st.builds(TermChanged, st.integers(0, 4)),
    st.builds(
        RoleChanged, st.integers(0, 4), st.sampled_from(("leader", "follower", "candidate", "odd"))
    ),
    st.builds(RoundSent, st.integers(0, 4), st.integers(1, 5)),
    st.builds(RoundAcked, st.integers(0, 4), st.integers(1, 5), st.sampled_from((*NODES, "n9"))),
    st.builds(Applied, st.integers(0, 4), st.integers(0, 9), st.integers(0, 4)),
    st.builds(Revoked, st.integers(0, 4), st.just("term")),
)


@st.composite
def anything(draw: st.DrawFn) -> list[EvidenceLine]:
    lines: list[EvidenceLine] = []
    for node in NODES:
        steps = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), facts), max_size=15))
        befores = list(accumulate(step[0] for step in steps))
        for before, (_, width, fact) in zip(befores, steps, strict=True):
            own = draw(st.integers(0, 300))
            lines.append(EvidenceLine(node, own, own, (before, before + width), fact))
    return lines


def operations() -> list[Operation]:
    return [
        Operation(
            index=place, process=place, f=f, key="x", value=place, outcome=EventType.OK, node=node,
            call_ns=place * 9, return_ns=place * 9 + 5, call_line=1, return_line=2,
            evidence=Served(path=ReadPath.LEASE, term=place % 4),
        )
        for place, (f, node) in enumerate((f, node) for f in ("read", "write") for node in NODES)
    ]  # fmt: skip


@given(anything())
def test_no_evidence_however_contradictory_makes_an_oracle_crash(lines: list[EvidenceLine]) -> None:
    timelines = build(lines)
    declared = Declared(nodes=NODES, drift_ppm=1, healed_ns=1, availability_required=True)
    assert len(judge(operations(), timelines, declared)) == 5
    assert set(exercised.count(operations(), timelines)) >= {"deposed-reads", "clock-bend"}


def test_half_a_minute_of_evidence_is_judged_in_two_seconds() -> None:
    data = {node: evidence_lines.header(node) + evidence_lines.encode(busy(node)) for node in NODES}
    started = process_time()
    lines = [line for node in NODES for line in evidence_lines.load(data[node], node).lines]
    timelines = build(lines)
    results = judge((), timelines, Declared(nodes=NODES, drift_ppm=50_000))
    exercised.count((), timelines)
    assert process_time() - started < 2
    assert len(lines) > 50_000
    assert all(result.outcome is not OracleOutcome.VIOLATION for result in results)


def busy(node: str) -> list[EvidenceLine]:
    """A leader checks 600 times a second, open-ended at times; the others promise and apply."""
    lines = [EvidenceLine(node, 0, 0, (0, 0), Booted(1, 1))]
    for step in range(18_000):
        at = (step + 1) * 5 * MS // 3
        own = at * (10 + NODES.index(node)) // 10
        fact: Fact
        if step == 0 and node == "n1":
            fact = RoleChanged(1, "leader")
        elif node == "n1":
            fact = Checked(1, step % 7 != 0, OwnClock.MONOTONIC, own, own + MS if step % 3 else None)
        elif step % 2:
            fact = Promised(1, "n1", step, own + 900 * MS)
        else:
            fact = Applied(1, step, 1)
        lines.append(EvidenceLine(node, own, at, (at, at + 3000), fact))
    return lines
