"""How reads are answered: rules R1 to R7."""

from __future__ import annotations

from typing import Any

import pytest
from leasekv_lone import E, H, Lone

from checker.events import ReadPath
from checker.evidence import Refused, ServedRead
from targets.leasekv.messages import (
    Append,
    AppendReply,
    Code,
    Entry,
    IndexReply,
    IndexRequest,
    Op,
    Response,
)
from targets.leasekv.ports import ClientGone, HardState, Restored, SetApplyDelay


def leader(**config: Any) -> Lone:
    core = Lone(**{"policy": "readindex", **config})
    core.serve()
    return core


def follower(**config: Any) -> Lone:
    """A follower of n2 that has applied one write of 7 to x."""
    core = Lone(**{"policy": "readindex", **config})
    core.beat(entries=(Entry(1, 1, Op.WRITE, "x", 7),), commit_index=1)
    core.persist()
    core.hush()
    return core


def outcome(response: Response) -> tuple[Code | None, object, object]:
    return response.code, response.value, response.evidence and response.evidence.path


def test_r1_no_index_before_an_entry_of_the_own_term_is_committed() -> None:
    core = Lone(policy="readindex")
    core.lead()
    assert core.request(Op.READ) == []
    core.hear("n3", IndexRequest(1, 5))
    core.ack("n2", ok=False, match_index=0, conflict_index=1)
    core.ack("n2")
    assert core.said(IndexReply) == []
    core.ack("n2")
    assert [r.code for r in core.replies] == [None]
    assert core.said(IndexReply) == [IndexReply(1, 5, 1)]


def test_r2_only_a_round_sent_after_the_read_arrived_confirms_it() -> None:
    core = leader()
    core.advance(H)
    before = core.last_append("n2")
    assert core.request(Op.READ) == []
    core.ack("n2", before)
    assert core.replies == []
    core.ack("n2")
    assert [outcome(r) for r in core.replies] == [(None, None, ReadPath.READINDEX)]


def test_r2_a_read_does_not_wait_for_the_heartbeat() -> None:
    core = leader()
    core.request(Op.READ)
    assert len(core.said(Append, "n2")) == len(core.said(Append, "n3")) == 1


def test_r2_reads_that_arrive_while_a_round_is_out_share_the_next() -> None:
    core = leader()
    core.request(Op.READ)
    for _ in range(5):
        core.request(Op.READ)
    assert len(core.said(Append, "n2")) == 1
    core.ack("n2")
    assert len(core.replies) == 1
    assert len(core.said(Append, "n2")) == 2
    core.ack("n2")
    assert len(core.replies) == 6


def test_r2_an_append_confirms_reads_too() -> None:
    core = leader()
    core.request(Op.READ)
    core.request(Op.READ)
    core.request(Op.WRITE)
    core.ack("n2")
    assert [r.code for r in core.replies] == [None, None]


def test_r2_a_round_that_only_a_laggard_got_does_not_count_as_sent() -> None:
    core = leader(nodes=5)
    core.request(Op.READ)
    first = core.last_append("n2")
    core.request(Op.READ)
    core.ack("n5", first, ok=False, match_index=0, conflict_index=1)
    assert core.last_append("n5").round == first.round + 1
    core.ack("n3", first)
    core.ack("n2", first)
    assert len(core.replies) == 1
    assert core.last_append("n2").round > first.round + 1


def test_r2_a_new_leadership_sends_rounds_at_once_again() -> None:
    core = leader()
    core.advance(9 * H)
    core.request(Op.READ)
    core.beat(term=2)
    core.persist()
    core.jump(E)
    core.serve()
    core.request(Op.READ)
    assert len(core.said(Append, "n2")) == 1


def test_r2_a_lost_round_is_made_good_by_the_next_heartbeat() -> None:
    core = leader()
    core.request(Op.READ)
    core.advance(H)
    core.ack("n2")
    assert len(core.replies) == 1


def test_r3_a_followers_ticket_is_never_used_twice_not_even_after_a_restart() -> None:
    core = follower()
    for _ in range(3):
        core.request(Op.READ)
    again = Lone(policy="readindex", restored=Restored(2, HardState(1), ()))
    again.beat()
    again.request(Op.READ)
    tickets = [m.ticket for m in core.said(IndexRequest) + again.said(IndexRequest)]
    assert len(set(tickets)) == 4


def test_r3_an_answer_counts_once_and_only_for_its_own_ticket() -> None:
    core = follower()
    core.request(Op.READ)
    ticket = core.said(IndexRequest, "n2")[0].ticket
    core.hear("n2", IndexReply(1, ticket + 1, 1))
    assert core.replies == []
    core.hear("n2", IndexReply(1, ticket, 1))
    core.hear("n2", IndexReply(1, ticket, 1))
    assert [outcome(r) for r in core.replies] == [(None, 7, ReadPath.FOLLOWER)]


def test_r4_each_read_takes_the_commit_index_of_its_own_arrival() -> None:
    core = leader()
    core.request(Op.READ)
    core.request(Op.WRITE, "x", 9)
    core.persist()
    write = core.last_append("n2")
    core.ack("n3")
    core.request(Op.READ)
    core.ack("n2", write)
    core.ack("n2")
    served = core.noted(ServedRead)
    assert [fact.read_index for fact in served] == [1, 2]
    assert core.replies[-1].value == 9


def test_r5_a_leader_gives_no_index_before_a_majority_answers() -> None:
    core = leader(nodes=5)
    core.hear("n5", IndexRequest(1, 8))
    core.ack("n2")
    assert core.said(IndexReply) == []
    core.ack("n3")
    assert core.said(IndexReply, "n5") == [IndexReply(1, 8, 1)]


def test_r6_a_follower_serves_only_what_it_has_applied() -> None:
    core = follower()
    core.request(Op.READ)
    core.hear("n2", IndexReply(1, core.said(IndexRequest)[0].ticket, 2))
    assert core.replies == []
    core.beat(
        round_=2, prev_index=1, prev_term=1, entries=(Entry(2, 1, Op.WRITE, "x", 8),), commit_index=2
    )
    assert [r.value for r in core.replies] == [8]


def test_r6_an_apply_delay_makes_reads_wait() -> None:
    core = follower()
    core.feed(SetApplyDelay(H))
    core.beat(
        round_=2, prev_index=1, prev_term=1, entries=(Entry(2, 1, Op.WRITE, "x", 8),), commit_index=2
    )
    core.request(Op.READ)
    core.hear("n2", IndexReply(1, core.said(IndexRequest)[0].ticket, 2))
    core.advance(H - 1)
    assert core.replies == []
    core.advance(1)
    assert [r.value for r in core.replies] == [8]


def test_taking_the_apply_delay_back_applies_what_waited() -> None:
    core = follower()
    core.feed(SetApplyDelay(100 * E))
    core.beat(
        round_=2, prev_index=1, prev_term=1, entries=(Entry(2, 1, Op.WRITE, "x", 8),), commit_index=2
    )
    core.feed(SetApplyDelay(0))
    assert core.core.status(core.reading).applied_index == 2


@pytest.mark.parametrize("policy", ["lease-renew", "readindex"])
def test_r7_a_leader_without_a_quorum_ends_a_read_with_no_quorum(policy: str) -> None:
    core = leader(policy=policy, rules_off=("L11",))
    core.jump(E)
    core.request(Op.READ)
    core.advance(E // 2 - 1)
    assert core.replies == []
    core.advance(1)
    assert [r.code for r in core.replies] == [Code.NO_QUORUM]
    assert core.noted(Refused) == [Refused(1, "NO_QUORUM")]


def test_r7_a_follower_that_gets_no_index_says_no_quorum() -> None:
    core = follower()
    core.request(Op.READ)
    core.advance(E // 2)
    assert [r.code for r in core.replies] == [Code.NO_QUORUM]
    assert core.core._reads._tickets == {}, "nothing is kept"


def test_r7_a_follower_that_cannot_apply_in_time_says_so() -> None:
    core = follower()
    core.request(Op.READ)
    core.hear("n2", IndexReply(1, core.said(IndexRequest)[0].ticket, 9))
    core.advance(E // 2)
    assert [r.code for r in core.replies] == [Code.APPLY_TIMEOUT]


def test_r7_without_a_leader_a_read_is_refused_at_once() -> None:
    core = Lone(policy="readindex")
    assert [outcome(r) for r in core.request(Op.READ)] == [(Code.NOT_LEADER, None, None)]


def test_r7_a_node_that_does_not_lead_refuses_to_give_an_index() -> None:
    core = follower()
    core.hear("n3", IndexRequest(1, 4))
    assert core.said(IndexReply, "n3") == [IndexReply(1, 4, None, Code.NOT_LEADER)]
    core.request(Op.READ)
    ticket = core.said(IndexRequest)[0].ticket
    core.hear("n2", IndexReply(1, ticket, None, Code.NOT_LEADER))
    assert [r.code for r in core.replies] == [Code.NOT_LEADER]


def test_a_change_of_leader_ends_what_waited_for_the_old_one() -> None:
    core = follower()
    core.request(Op.READ)
    core.beat(term=2, leader="n3")
    assert [(r.code, r.leader) for r in core.replies] == [(Code.NOT_LEADER, "n3")]
    held = leader()
    held.request(Op.READ)
    held.hear("n2", IndexRequest(1, 3))
    held.hear("n2", AppendReply(2, 1, False, 0))
    assert [r.code for r in held.replies] == [Code.NOT_LEADER]
    assert held.said(IndexReply) == [IndexReply(2, 3, None, Code.NOT_LEADER)]


def test_an_index_once_known_outlives_its_leader() -> None:
    core = follower()
    core.request(Op.READ)
    core.hear("n2", IndexReply(1, core.said(IndexRequest)[0].ticket, 2))
    entry = Entry(2, 1, Op.WRITE, "x", 8)
    core.beat(term=2, leader="n3", prev_index=1, prev_term=1, entries=(entry,), commit_index=2)
    assert [r.value for r in core.replies] == [8]


def test_the_fallback_goes_from_lease_to_quorum_within_one_read() -> None:
    core = leader(policy="lease-renew", rules_off=("L11",))
    assert outcome(core.request(Op.READ)[0]) == (None, None, ReadPath.LEASE)
    core.jump(E)
    assert core.request(Op.READ) == []
    core.ack("n2")
    assert outcome(core.replies[-1]) == (None, None, ReadPath.READINDEX)


def test_a_request_can_force_its_path() -> None:
    core = leader(policy="lease-renew")
    assert core.request(Op.READ, path=ReadPath.READINDEX) == []
    core.ack("n2")
    assert outcome(core.replies[-1]) == (None, None, ReadPath.READINDEX)
    assert core.request(Op.READ, path=ReadPath.LOG) == []
    core.persist()
    core.ack("n2")
    assert outcome(core.replies[-1]) == (None, None, ReadPath.LOG)


def test_a_policy_without_leases_serves_none_even_if_asked() -> None:
    core = leader()
    assert [r.code for r in core.request(Op.READ, path=ReadPath.LEASE)] == [Code.LEASE_EXPIRED]
    assert core.left_ns is None


def test_a_log_read_sees_what_was_committed_when_its_entry_was_applied() -> None:
    core = leader(policy="log-read")
    core.request(Op.WRITE, "x", 3)
    core.request(Op.READ)
    core.request(Op.WRITE, "x", 4)
    core.persist()
    core.ack("n2")
    assert [r.value for r in core.replies if r.evidence and r.evidence.path] == [3]


def test_a_log_read_whose_leader_steps_down_failed_for_certain() -> None:
    core = leader(policy="log-read")
    core.request(Op.READ)
    core.beat(term=2, leader="n3")
    assert [r.code for r in core.replies] == [Code.NO_QUORUM]


def test_nobody_hears_the_answers_to_a_client_that_is_gone() -> None:
    core = leader()
    core.request(Op.READ)
    core.request(Op.WRITE)
    core.feed(ClientGone(1))
    core.persist()
    core.ack("n2")
    core.advance(E)
    assert core.replies == []
