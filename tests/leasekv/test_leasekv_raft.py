"""Raft, sentence by sentence: the claims of its paper that a core can be held to alone."""

from __future__ import annotations

import pytest
from leasekv_lone import E, H, Lone, entries

from checker.evidence import Applied, Configured
from targets.cluster import Role
from targets.leasekv.config import Limits
from targets.leasekv.membership import Membership
from targets.leasekv.messages import (
    Append,
    AppendReply,
    Code,
    Entry,
    Install,
    Op,
    RequestVote,
    Snapshot,
    VoteReply,
)
from targets.leasekv.ports import HardState, Persisted, Restored

OLD = Restored(2, HardState(3, None), entries(1, 1, 3))


# 5.1 Raft basics


@pytest.mark.parametrize("make", ["follower", "candidate", "leader"])
def test_a_higher_term_makes_any_node_a_follower_of_that_term(make: str) -> None:
    core = Lone()
    {"follower": lambda: None, "candidate": core.campaign, "leader": core.lead}[make]()
    core.beat(term=9, leader="n3")
    assert (core.role(), core.term) == (Role.FOLLOWER, 9)
    assert core.core.status(core.reading).leader == "n3"


def test_a_request_of_an_older_term_is_refused_with_the_newer_one() -> None:
    core = Lone(restored=OLD)
    core.beat(term=2)
    assert core.said(AppendReply) == [AppendReply(3, 1, False, 0)]
    core.advance(E)
    assert core.ask_vote(2) == VoteReply(3, False, False, "term")


def test_the_term_is_durable_before_anything_is_said_in_it() -> None:
    core = Lone()
    core.beat(term=4)
    assert core.said(AppendReply) == []
    core.persist()
    assert core.said(AppendReply) == [AppendReply(4, 1, True, 0)]


# 5.2 Leader election


def test_nodes_start_as_followers() -> None:
    assert Lone().role() is Role.FOLLOWER
    assert Lone(restored=Restored(2, HardState(3, "n1"))).role() is Role.FOLLOWER


def test_a_follower_that_hears_from_a_leader_stays_a_follower() -> None:
    core = Lone()
    for round_ in range(30):
        core.beat(round_=round_)
        core.advance(E - 1)
    assert core.said(RequestVote) == []


def test_a_follower_that_hears_nothing_for_its_timeout_campaigns() -> None:
    core = Lone()
    core.beat()
    core.advance(E - 1)
    assert core.said(RequestVote) == []
    core.advance(1)
    assert core.said(RequestVote) == [RequestVote(2, True, 0, 0)] * 2


def test_a_pre_vote_moves_no_term_and_leaves_nothing_to_remember() -> None:
    core = Lone()
    core.advance(10 * E)
    assert core.term == 0
    asked = Lone()
    assert asked.feed(Persisted(0)).persist is None
    assert asked.ask_vote(1, pre=True) == VoteReply(1, True, True)
    assert asked.seq == 0, "nothing went to the disk"
    assert asked.term == 0


def test_a_candidate_asks_in_earnest_only_when_a_majority_would_vote_for_it() -> None:
    core = Lone(nodes=5)
    core.advance(E)
    core.hear("n2", VoteReply(1, True, True))
    assert core.term == 0
    core.hear("n3", VoteReply(0, True, False, "log"))
    assert core.term == 0
    core.hear("n4", VoteReply(1, True, True))
    assert (core.role(), core.term) == (Role.CANDIDATE, 1)
    core.persist()
    assert core.said(RequestVote)[-1] == RequestVote(1, False, 0, 0)


def test_a_candidate_asks_and_counts_itself_only_once_its_vote_is_durable() -> None:
    core = Lone()
    core.advance(E)
    core.hush()
    core.hear("n2", VoteReply(1, True, True))
    assert core.said(RequestVote) == []
    core.hear("n2", VoteReply(1, False, True))
    assert core.role() is Role.CANDIDATE, "two of three only with its own"
    core.persist()
    assert core.role() is Role.LEADER


def test_an_older_persist_is_not_the_own_vote() -> None:
    core = Lone()
    core.beat(entries=entries(1))
    entry_seq = core.seq
    core.advance(E)
    core.hear("n2", VoteReply(2, True, True))
    core.feed(Persisted(entry_seq))
    core.hear("n3", VoteReply(2, False, True))
    assert core.role() is Role.CANDIDATE
    core.persist()
    assert core.role() is Role.LEADER


def test_votes_of_a_majority_make_a_leader_and_one_voter_counts_once() -> None:
    core = Lone(nodes=5)
    core.campaign()
    core.hear("n2", VoteReply(1, False, True))
    core.hear("n2", VoteReply(1, False, True))
    core.hear("n3", VoteReply(1, False, False, "voted"))
    assert core.role() is Role.CANDIDATE
    core.hear("n4", VoteReply(1, False, True))
    assert core.role() is Role.LEADER


def test_votes_of_another_term_or_stage_do_not_count() -> None:
    core = Lone(restored=OLD)
    core.advance(E)
    core.hear("n2", VoteReply(3, True, True))
    core.hear("n2", VoteReply(4, False, True))
    assert core.role() is Role.FOLLOWER
    core.hear("n2", VoteReply(4, True, True))
    core.persist()
    core.hear("n3", VoteReply(4, True, True))
    core.hear("n3", VoteReply(3, False, True))
    assert core.role() is Role.CANDIDATE


def test_a_node_votes_for_one_candidate_a_term_first_come_first_served() -> None:
    core = Lone()
    assert core.ask_vote(1, peer="n2").granted
    assert core.ask_vote(1, peer="n3") == VoteReply(1, False, False, "voted")
    assert core.ask_vote(1, peer="n2").granted, "an answer that was lost is given again"
    assert core.ask_vote(2, peer="n3").granted


def test_a_vote_is_durable_before_it_is_said_and_survives_a_restart() -> None:
    core = Lone()
    ready = core.hear("n2", RequestVote(1, False, 0, 0))
    assert ready.messages == ()
    assert ready.persist is not None
    assert ready.persist.hard == HardState(1, "n2")
    again = Lone(restored=Restored(2, ready.persist.hard))
    again.advance(E)
    assert again.ask_vote(1, peer="n3", last=99).reason == "voted"


def test_a_candidate_that_hears_a_leader_of_its_term_gives_up() -> None:
    core = Lone()
    core.campaign()
    core.beat(term=1, leader="n3")
    assert core.role() is Role.FOLLOWER
    core.hear("n2", VoteReply(1, False, True))
    assert core.role() is Role.FOLLOWER, "too late"


def test_a_candidate_that_neither_wins_nor_loses_tries_again() -> None:
    core = Lone()
    core.campaign()
    core.hush()
    core.advance(E)
    assert core.said(RequestVote) == [RequestVote(2, True, 0, 0)] * 2


def test_timeouts_are_drawn_from_the_jitter() -> None:
    def timeout_ns(node: str) -> int:
        core = Lone(node=node, election_jitter_ns=E // 2)
        core.core._state.rng.seed(node)
        core.core._election.draw_timeout()
        return core.core._election._timeout_ns

    drawn = {timeout_ns(f"n{i}") for i in (1, 2, 3)}
    assert len(drawn) == 3
    assert all(E <= ns <= E + E // 2 for ns in drawn)


def test_a_new_leader_announces_itself_and_then_beats_every_h() -> None:
    core = Lone()
    core.lead()
    assert len(core.said(Append, "n2")) == 1
    core.hush()
    core.advance(3 * H)
    assert [m.round for m in core.said(Append, "n2")] == [2, 3, 4]
    assert core.said(Append, "n2") == core.said(Append, "n3")


# 5.3 Log replication


def test_a_write_goes_to_everybody_at_once_and_before_the_leaders_own_disk_has_it() -> None:
    core = Lone()
    core.serve()
    core.request(Op.WRITE, "x", 7)
    assert core.last_append("n2").entries == (Entry(2, 1, Op.WRITE, "x", 7),)
    assert core.last_append("n3").entries == (Entry(2, 1, Op.WRITE, "x", 7),)


def test_an_entry_is_committed_once_a_majority_has_it_on_disk() -> None:
    core = Lone(nodes=5)
    core.lead()
    core.ack("n2")
    assert core.commit_index == 0
    core.ack("n2")
    assert core.commit_index == 0
    core.ack("n3")
    assert core.commit_index == 1


def test_a_leader_counts_itself_only_once_its_disk_has_the_entry() -> None:
    core = Lone()
    core.serve()
    core.request(Op.WRITE)
    core.ack("n2")
    assert core.commit_index == 1
    core.persist()
    assert core.commit_index == 2


def test_a_majority_of_others_is_enough() -> None:
    core = Lone()
    core.serve()
    core.request(Op.WRITE)
    core.ack("n2")
    core.ack("n3")
    assert core.commit_index == 2


def test_a_write_is_answered_when_it_is_applied() -> None:
    core = Lone()
    core.serve()
    assert core.request(Op.WRITE, "x", 7) == []
    core.ack("n2")
    assert core.replies == []
    core.persist()
    assert [(r.code, r.value) for r in core.replies] == [(None, None)]
    assert core.request(Op.READ)[0].value == 7


def test_a_follower_acknowledges_entries_only_once_they_are_durable() -> None:
    core = Lone()
    core.beat(entries=entries(1, 1))
    core.beat(round_=2, prev_index=2, prev_term=1)
    assert core.said(AppendReply) == []
    core.persist()
    assert core.said(AppendReply) == [AppendReply(1, 1, True, 2), AppendReply(1, 2, True, 0)]


def test_a_slow_disk_does_not_silence_a_follower() -> None:
    core = Lone()
    core.beat()
    core.persist()
    core.beat(round_=2, entries=entries(1))
    core.hush()
    core.beat(round_=3, prev_index=1, prev_term=1)
    assert core.said(AppendReply) == [AppendReply(1, 3, True, 0)]


def test_a_follower_applies_what_the_leader_has_committed_and_no_more() -> None:
    core = Lone()
    core.beat(entries=entries(1, 1, 1), commit_index=2)
    assert core.noted(Applied) == [Applied(1, 1, 1), Applied(1, 2, 1)]
    core.beat(round_=2, prev_index=2, prev_term=1, commit_index=3)
    assert core.commit_index == 2, "only up to where the logs are known to agree"


def test_a_node_tells_where_each_term_that_it_applied_begins_and_ends() -> None:
    core = Lone()
    core.beat(term=3, entries=entries(1, 1, 1, 2, 3, 3), commit_index=6)
    told = [(fact.index, fact.entry_term) for fact in core.noted(Applied)]
    assert told == [(1, 1), (3, 1), (4, 2), (5, 3), (6, 3)]


def test_entries_behind_a_missing_or_different_one_are_refused() -> None:
    core = Lone(restored=OLD)
    core.beat(term=4, prev_index=5, prev_term=3, entries=(Entry(6, 4, Op.NOOP),))
    core.persist()
    assert core.said(AppendReply) == [AppendReply(4, 1, False, 0, 4)]
    core.beat(term=4, round_=2, prev_index=2, prev_term=2)
    assert core.said(AppendReply)[1] == AppendReply(4, 2, False, 0, 1), "term 1 begins at 1"


def test_conflicting_entries_are_overwritten_by_the_leaders() -> None:
    core = Lone(restored=OLD)
    ready = core.beat(term=4, prev_index=2, prev_term=1, entries=(Entry(3, 4, Op.NOOP),))
    assert ready.persist is not None
    assert ready.persist.entries == (Entry(3, 4, Op.NOOP),)
    assert core.core._state.log.slice(1, 9) == (*entries(1, 1), Entry(3, 4, Op.NOOP))


def test_a_late_shorter_append_cuts_nothing_off() -> None:
    core = Lone()
    core.beat(entries=entries(1, 1, 1))
    core.beat(round_=2, entries=entries(1))
    assert core.core._state.log.last_index == 3


def test_a_leader_steps_back_to_where_the_logs_agree_and_goes_on_from_there() -> None:
    core = Lone(restored=Restored(2, HardState(3), entries(1, 1, 2, 3)))
    core.lead()
    append = core.last_append("n2")
    assert (append.prev_index, append.prev_term) == (4, 3)
    core.ack("n2", ok=False, match_index=0, conflict_index=2)
    append = core.last_append("n2")
    assert (append.prev_index, [e.index for e in append.entries]) == (1, [2, 3, 4, 5])
    core.ack("n2")
    assert core.commit_index == 5


def test_old_refusals_do_not_make_a_leader_step_back_again() -> None:
    core = Lone(restored=Restored(2, HardState(3), entries(1, 1, 2, 3)))
    core.lead()
    first = core.last_append("n2")
    core.ack("n2", ok=False, match_index=0, conflict_index=2)
    core.ack("n2")
    core.hush()
    core.ack("n2", first, ok=False, match_index=0, conflict_index=2)
    assert core.sent == []


def test_a_follower_that_lags_far_gets_batch_after_batch_without_waiting_for_a_heartbeat() -> None:
    log = entries(*[1] * 600)
    core = Lone(restored=Restored(2, HardState(1), log))
    core.lead()
    core.ack("n2", ok=False, match_index=0, conflict_index=1)
    while core.said(Append, "n2")[-1].entries:
        before = len(core.said(Append, "n2"))
        core.ack("n2")
        if len(core.said(Append, "n2")) == before:
            break
    assert core.core._replication._peers["n2"].match_index == 601
    sizes = [len(m.entries) for m in core.said(Append, "n2")]
    assert max(sizes) == core.config.limits.append_max


def test_lost_entries_are_sent_again_after_the_next_heartbeat_is_refused() -> None:
    core = Lone()
    core.serve()
    core.request(Op.WRITE, "x", 1)
    core.hush()
    core.advance(H)
    beat = core.last_append("n2")
    assert (beat.prev_index, beat.entries) == (2, ())
    core.ack("n2", ok=False, match_index=0, conflict_index=2)
    assert core.last_append("n2").entries == (Entry(2, 1, Op.WRITE, "x", 1),)


def test_a_peer_that_disagrees_is_probed_with_one_message_that_only_the_heartbeat_repeats() -> None:
    core = Lone()
    core.serve()
    core.request(Op.WRITE, "x", 1)
    core.ack("n2", ok=False, match_index=0, conflict_index=2)
    core.hush()
    core.request(Op.WRITE, "x", 2)
    assert core.said(Append, "n2") == []
    core.advance(H)
    assert [[e.index for e in m.entries] for m in core.said(Append, "n2")] == [[2, 3]]
    core.advance(H)
    assert [[e.index for e in m.entries] for m in core.said(Append, "n2")] == [[2, 3]] * 2
    core.ack("n2")
    core.request(Op.WRITE, "x", 3)
    assert [e.index for e in core.last_append("n2").entries] == [4]


def test_however_many_appends_were_lost_a_refusal_starts_afresh() -> None:
    core = Lone()
    core.serve()
    for i in range(core.config.limits.appends_max):
        core.request(Op.WRITE, "x", i)
    core.advance(H)
    core.ack("n2", ok=False, match_index=0, conflict_index=2)
    assert core.last_append("n2").entries[0].index == 2


def test_at_most_so_many_appends_are_in_flight_and_the_rest_gathers() -> None:
    core = Lone()
    core.serve()
    for i in range(20):
        core.request(Op.WRITE, "x", i)
    sent = core.said(Append, "n2")
    assert len(sent) == core.config.limits.appends_max
    core.ack("n2", sent[0])
    assert len(core.last_append("n2").entries) == 20 - len(sent)


# 5.4 Safety


def test_a_voter_refuses_a_candidate_whose_log_is_older() -> None:
    def vote(last_index: int, last_term: int) -> VoteReply:
        core = Lone(restored=OLD)
        core.advance(E - 1)
        core.jump(1)
        core.hear("n2", RequestVote(9, False, last_index, last_term))
        core.persist()
        reply: VoteReply = core.said(VoteReply)[0]
        return reply

    assert vote(2, 3).reason == "log"
    assert vote(9, 2).reason == "log"
    assert vote(3, 3).granted
    assert vote(1, 4).granted


def test_an_older_terms_entry_is_not_committed_by_counting_but_with_one_of_the_own_term() -> None:
    core = Lone(restored=Restored(2, HardState(3), entries(1, 2)))
    core.lead()
    core.ack("n2", match_index=2)
    assert core.commit_index == 0
    core.ack("n2", match_index=3)
    assert core.commit_index == 3


def test_a_single_node_leads_and_commits_alone() -> None:
    core = Lone(nodes=1)
    core.advance(E)
    core.persist()
    assert core.role() is Role.LEADER
    core.persist()
    assert core.commit_index == 1
    assert core.request(Op.READ)[0].code is None
    core.request(Op.WRITE, "x", 1)
    core.persist()
    assert core.request(Op.READ)[0].value == 1


# Clients


def test_only_a_leader_takes_writes_and_others_name_it() -> None:
    core = Lone()
    assert core.request(Op.WRITE)[0].code is Code.NOT_LEADER
    core.beat(leader="n3")
    answer = core.request(Op.WRITE)[0]
    assert (answer.code, answer.leader) == (Code.NOT_LEADER, "n3")


def test_a_write_whose_leader_steps_down_is_uncertain() -> None:
    core = Lone()
    core.serve()
    core.request(Op.WRITE, "x", 1)
    core.beat(term=2, leader="n3")
    assert [(r.code, r.leader) for r in core.replies] == [(Code.UNCERTAIN, "n3")]
    core.beat(term=2, leader="n3", round_=2, prev_index=2, prev_term=1, commit_index=2)
    assert core.core.status(core.reading).applied_index == 2
    assert len(core.replies) == 1, "said once, whatever became of it"


def test_a_cas_that_does_not_match_says_so_and_changes_nothing() -> None:
    core = Lone(nodes=1)
    core.advance(E)
    core.persist()
    core.persist()

    def do(op: Op, value: object = None) -> Code | None:
        core.request(op, "x", value)
        core.persist()
        return core.replies[-1].code

    assert do(Op.WRITE, 1) is None
    assert do(Op.CAS, (2, 3)) is Code.MISMATCH
    assert do(Op.CAS, [1, 3]) is None
    assert do(Op.CAS, "rubbish") is Code.MISMATCH
    assert core.request(Op.READ)[0].value == 3
    assert do(Op.DELETE) is None
    assert core.request(Op.READ)[0].value is None


def test_beyond_its_bounds_a_node_refuses_instead_of_queueing() -> None:
    core = Lone(limits=Limits(pending_max=3))
    core.serve()
    for _ in range(3):
        assert core.request(Op.WRITE) == []
    assert core.request(Op.WRITE)[0].code is Code.OVERLOADED
    assert core.request(Op.READ)[0].code is Code.OVERLOADED


def test_a_read_through_the_log_is_one_that_waits_not_two() -> None:
    core = Lone(policy="log-read", limits=Limits(pending_max=10))
    core.serve()
    for _ in range(9):
        assert core.request(Op.READ) == []
    assert core.request(Op.WRITE) == []
    assert core.request(Op.READ)[0].code is Code.OVERLOADED
    assert core.request(Op.WRITE)[0].code is Code.OVERLOADED


def test_what_is_uncommitted_is_bounded() -> None:
    core = Lone(limits=Limits(uncommitted_max=2))
    core.serve()
    assert core.request(Op.WRITE) == []
    assert core.request(Op.WRITE) == []
    assert core.request(Op.WRITE)[0].code is Code.OVERLOADED


# Members.


def leaving() -> Lone:
    """A node that has just booted with a log that takes it out of the voters."""
    log = (
        Entry(1, 1, Op.NOOP),
        Entry(2, 1, Op.CONFIG, None, Membership(("n1", "n2", "n3"), ("n2", "n3")).plain()),
        Entry(3, 1, Op.CONFIG, None, Membership(("n2", "n3")).plain()),
    )
    return Lone(restored=Restored(2, HardState(1), log))


def test_who_is_on_its_way_out_still_campaigns_but_does_not_count_itself() -> None:
    """Nobody else may be able to win: its log is longer, and some voters still ask for its vote."""
    core = leaving()
    core.advance(E)
    assert len(core.said(RequestVote)) == 2
    for pre in (True, False):
        core.hear("n2", VoteReply(2, pre, True))
        core.persist()
        assert core.role() is (Role.FOLLOWER if pre else Role.CANDIDATE)
        core.hear("n3", VoteReply(2, pre, True))
        core.persist()
    assert core.role() is Role.LEADER
    core.ack("n2")
    assert core.commit_index == 0
    core.ack("n3")
    assert core.commit_index == 4
    assert core.role() is Role.FOLLOWER, "its leaving is committed"


def test_who_is_out_for_certain_never_campaigns() -> None:
    core = leaving()
    core.beat(prev_index=3, prev_term=1, commit_index=3)
    core.advance(9 * E)
    assert core.said(RequestVote) == []


def configured(index: int, term: int, *voters: str) -> Entry:
    return Entry(index, term, Op.CONFIG, None, Membership(voters).plain())


def test_an_entry_that_is_cut_off_takes_its_configuration_with_it() -> None:
    core = Lone()
    core.beat(entries=(Entry(1, 1, Op.NOOP), configured(2, 1, "n1", "n2")))
    assert core.noted(Configured)[-1].voters == ("n1", "n2")
    core.beat(term=2, leader="n3", prev_index=1, prev_term=1, entries=(Entry(2, 2, Op.NOOP),))
    assert core.noted(Configured)[-1].voters == ("n1", "n2", "n3")


def test_a_snapshot_has_the_members_of_where_it_ends_and_not_of_what_follows() -> None:
    core = Lone(limits=Limits(compact_entries=2, trail_entries=0))
    core.beat(entries=entries(1, 1), commit_index=0)
    core.persist()
    log = (configured(3, 1, "n1", "n2"),)
    ready = core.beat(round_=2, prev_index=2, prev_term=1, entries=log, commit_index=2)
    assert ready.persist is not None
    assert ready.persist.snapshot is not None
    assert ready.persist.snapshot.membership.voters == ("n1", "n2", "n3")
    assert ready.persist.entries == log


def test_a_leaders_snapshot_is_on_disk_before_it_is_acknowledged_or_counted() -> None:
    core = Lone()
    core.beat(entries=entries(1))
    core.persist()
    core.hush()
    snapshot = Snapshot(
        7, 1, Membership(("n1", "n2", "n3")), None, Lone().core._writes.machine.snapshot()
    )
    core.hear("n2", Install(1, 2, snapshot))
    core.beat(round_=3, prev_index=7, prev_term=1)
    assert [reply.match_index for reply in core.said(AppendReply)] == [0]
    core.persist()
    assert core.said(AppendReply)[-1].match_index == 7
