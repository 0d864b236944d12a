"""The follower's side: rules F1 to F6."""

from __future__ import annotations

import pytest
from leasekv_lone import E, Lone, entries

from checker.evidence import Promised, Voted
from targets.cluster import Role
from targets.leasekv.messages import (
    AppendReply,
    Entry,
    LeaseGrant,
    LeaseRequest,
    Op,
    RequestVote,
    VoteReply,
)
from targets.leasekv.moments import PPM, Sync
from targets.leasekv.ports import CampaignNow, ClientGone, HardState, PeerGone, Restored, TimeTold


def promised() -> Lone:
    """A follower that has just heard n2, leader of term 1."""
    core = Lone()
    core.beat(round_=4)
    core.persist()
    return core


def test_f1_hearing_a_leader_promises_it_silence_for_e_on_the_own_clock() -> None:
    core = promised()
    assert core.noted(Promised) == [Promised(1, "n2", 4, core.mono_ns + E)]


def test_f1_the_promise_is_made_although_the_logs_disagree() -> None:
    core = Lone()
    core.beat(prev_index=7, prev_term=1)
    core.persist()
    assert core.said(AppendReply)[0].ok is False
    assert core.noted(Promised)[0].until_ns == core.mono_ns + E


def test_f1_an_older_leader_is_promised_nothing() -> None:
    core = Lone(restored=Restored(2, HardState(3), ()))
    core.beat(term=2)
    assert core.noted(Promised) == []


@pytest.mark.parametrize("pre", [True, False])
def test_f2_a_promise_refuses_votes_without_moving_the_term(pre: bool) -> None:  # noqa: FBT001
    core = promised()
    core.jump(E - 1)
    assert core.ask_vote(9, pre=pre) == VoteReply(1, pre, False, "lease")
    assert core.term == 1
    core.jump(1)
    assert core.ask_vote(9, pre=pre).granted


def test_f2_a_leader_that_is_followed_does_not_help_to_depose_itself() -> None:
    core = Lone()
    core.serve()
    assert core.ask_vote(9).reason == "lease"
    assert core.role() is Role.LEADER
    core.jump(E)
    assert core.ask_vote(9).granted
    assert core.role() is Role.FOLLOWER


def test_f2_a_deposed_leader_keeps_the_promise_it_made_to_itself() -> None:
    core = Lone()
    core.serve()
    core.hear("n2", AppendReply(5, 1, False, 0))
    assert core.role() is Role.FOLLOWER
    assert core.ask_vote(9).reason == "lease"


def test_f3_a_node_does_not_campaign_while_its_promise_binds() -> None:
    core = promised()
    core.hush()
    core.jump(E - 1)
    core.feed(CampaignNow())
    assert core.said(RequestVote) == []
    assert core.noted(Voted) == [Voted(1, "n1", True, False, "lease", False, core.mono_ns + 1)]
    core.jump(1)
    core.feed(CampaignNow())
    assert len(core.said(RequestVote)) == 2


def test_f3_an_election_timer_waits_the_promise_out() -> None:
    core = promised()
    core.core._election.due_ns = core.mono_ns + E // 2
    core.core.wake_ns = core.mono_ns + E // 2
    core.advance(E - 1)
    assert core.said(RequestVote) == []
    core.advance(1)
    assert len(core.said(RequestVote)) == 2


def test_f4_a_node_that_lived_before_starts_with_a_promise() -> None:
    for restored in (Restored(2, HardState(1), ()), Restored(2, HardState(0), entries(1))):
        core = Lone(restored=restored)
        core.jump(E - 1)
        assert core.ask_vote(9).reason == "lease"
        core.jump(1)
        assert core.ask_vote(9).granted


def test_f4_a_brand_new_node_has_promised_nothing() -> None:
    core = Lone()
    assert core.ask_vote(1).granted


def test_f5_nothing_but_time_ends_a_promise() -> None:
    core = promised()
    core.feed(ClientGone(1))
    core.feed(PeerGone("n2"))
    core.hear("n3", AppendReply(7, 1, False, 0))
    assert core.term == 7
    assert core.core.status(core.reading).leader is None
    core.beat(term=8, leader="n3", entries=(Entry(1, 8, Op.NOOP),))
    core.beat(term=8, leader="n3", round_=2)
    core.beat(term=9, leader="n2", entries=(Entry(1, 9, Op.NOOP),))
    core.jump(E - 1)
    assert core.ask_vote(10).reason == "lease"


def test_f5_a_lost_connection_frees_where_that_is_planted_and_only_from_whom_it_was_promised() -> None:
    core = Lone(mistakes=("disconnect-clears-promise",))
    core.beat(term=1, leader="n2")
    core.feed(PeerGone("n3"))
    assert core.ask_vote(9).reason == "lease"
    core.feed(PeerGone("n2"))
    assert core.ask_vote(9).granted


def test_f5_a_promise_is_never_shortened() -> None:
    core = promised()
    core.core._election.promise.give_since(core.mono_ns + 1 - E)
    core.jump(E - 1)
    assert core.ask_vote(9).reason == "lease"


def test_f3_hearing_the_leader_ends_a_campaign_that_only_asked() -> None:
    core = promised()
    core.jump(E)
    core.feed(CampaignNow())
    core.beat(round_=5)
    core.hear("n3", VoteReply(2, True, True))
    assert core.term == 1


def test_f6_granting_a_vote_puts_the_own_campaign_off() -> None:
    core = Lone()
    core.advance(E - 1)
    assert core.ask_vote(1).granted
    core.sent.clear()
    core.advance(E - 1)
    assert core.said(RequestVote) == []
    core.advance(1)
    assert len(core.said(RequestVote)) == 2


def test_f6_a_vote_is_no_promise_to_the_winner() -> None:
    core = Lone()
    assert core.ask_vote(1, peer="n2").granted
    assert core.noted(Promised) == []
    assert core.ask_vote(2, peer="n3").granted


def test_s2_a_grant_is_said_only_once_its_term_is_durable() -> None:
    """Else a node killed before that would come back brand-new and free to vote."""
    core = Lone(policy="lease-oneshot")
    core.beat()
    core.hear("n2", LeaseRequest(1, 1))
    assert core.said(LeaseGrant) == []
    core.persist()
    assert core.said(LeaseGrant, "n2") == [LeaseGrant(1, 1)]


def test_t1_a_promise_on_spans_goes_on_while_the_host_is_suspended() -> None:
    core = Lone(policy="lease-interval")
    core.feed(TimeTold(Sync(core.reading, 0, 0)))
    core.suspend(20 * E)
    core.beat()
    core.persist()
    core.jump(1)
    core.feed(TimeTold(Sync(core.reading, 20 * E, 20 * E)))
    assert core.ask_vote(9).reason == "lease"
    core.jump(3 * E)
    assert core.ask_vote(9).granted


def test_t1_where_no_span_is_known_a_fast_clock_counts_the_whole_promise() -> None:
    """A lease on spans lasts all of E, so what stands in for a span has to last as long in true time."""
    fast_e = E * (PPM + 50_000) // PPM
    booted = Lone(policy="lease-interval", restored=Restored(2, HardState(1)))
    unsynced = Lone(policy="lease-interval")
    unsynced.beat()
    unsynced.persist()
    for core in (booted, unsynced):
        core.jump(fast_e)
        assert core.ask_vote(9).reason == "lease"
        core.jump(E // 5)
        assert core.ask_vote(9).granted
