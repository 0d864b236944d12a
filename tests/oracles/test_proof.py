"""A violation is laid at the door of the node that answered, with what it knew."""

from __future__ import annotations

from checker.events import EventType, ReadPath, Served
from checker.evidence import Booted, Checked, EvidenceLine, Fact, OwnClock, Refused, ServedRead
from checker.operations import Operation
from checker.proof import FaultWindow, explain
from checker.timeline import MS, Timelines, build

ORIGIN = 1000 * MS


def op(
    index: int, f: str, value: object, span_ms: tuple[int, int], *, node: str = "n1", term: int = 1,
    key: str = "x", path: ReadPath | None = None, left_ms: int | None = None,
) -> Operation:  # fmt: skip
    return Operation(
        index=index, process=index, f=f, key=key, value=value, outcome=EventType.OK, node=node,
        call_ns=span_ms[0] * MS, return_ns=span_ms[1] * MS, call_line=1, return_line=2,
        evidence=Served(path, term, None if left_ms is None else left_ms * MS, 7, 7),
    )  # fmt: skip


WRITE_1 = op(0, "write", 1, (10, 20))
WRITE_2 = op(1, "write", 2, (100, 200), node="n2", term=2)
STALE = op(2, "read", 1, (300, 320), path=ReadPath.LEASE, left_ms=440)
FRESH = op(3, "read", 2, (250, 260), node="n2", term=2)
FAULTS: list[FaultWindow] = [
    (0, 90 * MS, "clock n3"),
    (50 * MS, 150 * MS, "pause n1"),
    (310 * MS, None, "cut n1->n2"),
    (321 * MS, 400 * MS, "kill n2"),
]


def line(at_ms: int, fact: Fact) -> EvidenceLine:
    true_ns = ORIGIN + at_ms * MS
    return EvidenceLine("n1", at_ms * MS, 0, (true_ns, true_ns + MS), fact)


def check(read_ms: int, until_ms: int | None, *, granted: bool = True) -> Checked:
    until_ns = None if until_ms is None else until_ms * MS
    return Checked(1, granted, OwnClock.MONOTONIC, read_ms * MS, until_ns)


def served(key: str = "x", index: int = 7) -> ServedRead:
    return ServedRead(1, "lease", key, index, index)


def evidence(*lines: EvidenceLine) -> Timelines:
    return build((line(0, Booted(1, 1)), *lines, line(900, Refused(1, "X"))), origin_ns=ORIGIN)


def test_the_paragraph_tells_who_served_and_what_it_believed() -> None:
    timelines = evidence(line(310, check(310, 750)), line(310, served()))
    proof = explain((WRITE_1, WRITE_2, STALE), timelines, faults=FAULTS)
    assert str(proof) == (
        "n1 answered read -> 1 of process 2, called 0.300 s into the run, from its lease in term 1."
        " By then write 2 at n2 (term 2) had been acknowledged for 100.000 ms."
        " When it checked, 110.000 ms after that acknowledgement, it believed that 440.000 ms of its"
        " lease were left on its own monotonic clock."
        " Faults in force: pause n1; cut n1->n2."
    )
    assert (proof.node, proof.term, proof.path, proof.remaining_ns) == ("n1", 1, "lease", 440 * MS)
    assert proof.after_ack_ns == (110 * MS, 111 * MS)
    assert proof.lease is not None
    assert proof.lease.over_ns == (ORIGIN + 310 * MS, ORIGIN + 901 * MS)


def test_an_old_answer_and_an_open_ended_one_are_told_as_such() -> None:
    cached = explain((WRITE_1, WRITE_2, STALE), evidence(line(310, check(90, 530)), line(310, served())))
    assert (
        "440.000 ms of its lease were left on its own monotonic clock, at a reading 220.000 ms old"
        in str(cached)
    )
    endless = explain(
        (WRITE_1, WRITE_2, STALE), evidence(line(310, check(310, None)), line(310, served()))
    )
    assert "it compared no clock and took its lease for open-ended" in str(endless)


def test_of_two_reads_the_stale_one_is_the_offender() -> None:
    proof = explain((FRESH, STALE, WRITE_1, WRITE_2), evidence())
    assert (proof.read, proof.newer, proof.stale_ns) == (STALE, WRITE_2, 100 * MS)


def test_the_checkers_guess_is_believed_unless_another_read_is_staler() -> None:
    later = op(4, "read", 1, (400, 410))
    assert explain((FRESH, STALE, WRITE_1, WRITE_2), evidence(), read=FRESH).read == STALE
    assert explain((WRITE_1, STALE, later), evidence(), read=STALE).read == STALE
    assert explain((WRITE_1, STALE, later), evidence()).read == later


def test_a_read_of_the_newer_value_shows_as_well_as_its_write_that_never_returned() -> None:
    never = Operation(
        index=9, process=9, f="write", key="x", value=2, outcome=EventType.INFO,
        call_ns=100 * MS, return_ns=None, call_line=1, return_line=None,
    )  # fmt: skip
    proof = explain((never, FRESH, STALE), evidence())
    assert (proof.read, proof.newer, proof.stale_ns) == (STALE, FRESH, 40 * MS)
    assert "By then read -> 2 at n2 (term 2) had been answered for 40.000 ms." in str(proof)


def test_the_write_that_was_read_is_not_newer_than_itself_nor_is_what_came_before_it() -> None:
    before = op(5, "write", 0, (1, 5))
    proof = explain((before, WRITE_1, STALE), evidence())
    assert (proof.read, proof.newer, proof.stale_ns) == (STALE, None, None)
    assert "No fault was in force." in str(proof)


def test_the_check_of_another_read_is_not_taken_for_this_one() -> None:
    wrong = evidence(
        line(200, check(200, 700)),
        line(200, served()),
        line(305, check(305, 705)),
        line(305, served("y")),
        line(330, check(330, 730)),
        line(330, served()),
    )
    proof = explain((WRITE_1, WRITE_2, STALE), wrong)
    assert proof.lease is None
    assert proof.remaining_ns == 440 * MS
    assert "Its check of the lease is not in the evidence." in str(proof)


def test_of_two_answers_in_time_the_one_like_the_reply_is_taken() -> None:
    two = evidence(
        line(310, check(310, 750)),
        line(310, served()),
        line(315, check(315, 600)),
        line(315, served(index=8)),
    )
    proof = explain((WRITE_1, WRITE_2, STALE), two)
    assert proof.lease is not None
    assert proof.lease.remaining_ns == 440 * MS


def test_without_a_read_nobody_is_blamed_and_without_evidence_nothing_is_made_up() -> None:
    assert "No read is among the operations" in str(explain((WRITE_1, WRITE_2), evidence()))
    assert str(explain((), build(()))).endswith("No fault was in force.")
    bare = explain((WRITE_1, WRITE_2, STALE), build(()), read=STALE)
    assert (bare.lease, bare.after_ack_ns, bare.stale_ns) == (None, None, 100 * MS)


def test_values_are_compared_as_the_checker_compares_them() -> None:
    true = op(1, "write", True, (100, 200))
    assert explain((WRITE_1, true, STALE), evidence()).newer is true
    cas = op(1, "cas", [1, 2], (100, 200))
    assert explain((WRITE_1, cas, STALE), evidence()).newer is cas
    delete = op(1, "delete", None, (100, 200))
    assert explain((WRITE_1, delete, STALE), evidence()).newer is delete


def test_the_account_leaves_the_faults_to_whoever_lists_them() -> None:
    proof = explain((), build(()))
    assert str(proof) == f"{proof.account} No fault was in force."
