"""The leader's side: rules L1 to L8, L11 to L13 and G1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from leasekv_lone import E, H, Lone

from checker.events import ReadPath
from checker.evidence import Checked, ClockAnomaly, OwnClock, Revoked
from targets.clock import MS
from targets.cluster import Role
from targets.leasekv.messages import AppendReply, Code, Entry, Op, RequestVote, VoteReply
from targets.leasekv.moments import PPM
from targets.leasekv.ports import CampaignNow, HandOver, HardState, Restored, TimerDue
from targets.leasekv.rules import drift_safe_lease_ns
from targets.leasekv.views import Bounds

LEASE = ReadPath.LEASE
D = drift_safe_lease_ns(Bounds(E, 50_000, 20 * MS))


def code(core: Lone) -> Code | None:
    """Ask for a read by lease and nothing else."""
    return core.request(Op.READ, path=LEASE)[-1].code


def test_l1_votes_give_no_lease() -> None:
    core = Lone()
    core.lead()
    assert core.left_ns is None


def test_l1_no_read_before_an_entry_of_the_own_term_is_committed() -> None:
    core = Lone()
    core.lead()
    core.ack("n2", ok=False, match_index=0, conflict_index=1)
    assert core.core._lease.end_ns() is not None, "the promise is made although the logs disagree"
    assert core.left_ns is None
    assert core.request(Op.READ) == []
    core.ack("n2")
    assert [(r.code, r.evidence and r.evidence.path) for r in core.replies] == [(None, LEASE)]


def test_l1_a_read_does_not_wait_for_that_for_ever() -> None:
    core = Lone()
    core.lead()
    assert core.request(Op.READ) == []
    core.advance(E // 2)
    assert [r.code for r in core.replies] == [Code.NOT_READY]


def test_l2_the_lease_is_counted_from_the_send_of_the_acknowledged_round() -> None:
    core = Lone()
    core.lead()
    core.jump(H // 2)
    core.ack("n2")
    assert core.left_ns == D - H // 2


def test_l2_a_refused_append_counts_and_a_higher_terms_answer_never_does() -> None:
    core = Lone()
    core.lead()
    core.ack("n2", ok=False, match_index=0, conflict_index=1)
    assert core.core._lease.end_ns() == core.mono_ns + D
    other = Lone()
    other.lead()
    other.ack("n2", term=2)
    assert (other.left_ns, other.role()) == (None, Role.FOLLOWER)


def test_l2_unknown_repeated_and_foreign_rounds_tell_nothing() -> None:
    core = Lone()
    core.lead()
    first = core.last_append("n2")
    core.ack("n2", round=99)
    core.ack("n2", term=0)
    assert core.left_ns is None
    core.ack("n2", first)
    core.advance(H)
    core.ack("n2")
    before = core.left_ns
    core.ack("n2", first)
    assert core.left_ns == before, "an older round takes nothing back"


@given(st.lists(st.integers(1, 4), min_size=1, max_size=30), st.sampled_from([3, 5]))
def test_l3_the_lease_starts_where_a_majority_was_still_following(acks: list[int], nodes: int) -> None:
    core = Lone(nodes=nodes)
    core.lead()
    credited = {}
    for n in acks:
        peer = f"n{1 + n % (nodes - 1) + 1}"
        credited[peer] = core.mono_ns
        core.ack(peer)
        core.advance(H)
        majorities = [
            start
            for start in credited.values()
            if sum(o >= start for o in credited.values()) >= nodes // 2
        ]
        expected = max(majorities) + D - core.mono_ns if majorities else 0
        assert (core.left_ns or 0) == max(0, expected)
        if core.role() is not Role.LEADER:
            return


def test_l4_the_lease_is_compared_with_a_fresh_reading_at_every_read() -> None:
    core = Lone(rules_off=("L11",))
    core.serve()
    core.jump(D - 1)
    assert code(core) is None
    core.jump(1)
    assert code(core) is Code.LEASE_EXPIRED


def test_l4_the_evidence_says_on_what_the_answer_rests() -> None:
    core = Lone()
    core.serve()
    until_ns = core.mono_ns + D
    core.jump(H)
    assert code(core) is None
    checked = Checked(1, True, OwnClock.MONOTONIC, core.mono_ns, until_ns)
    assert core.noted(Checked) == [checked]
    assert core.replies[-1].evidence is not None
    assert core.replies[-1].evidence.lease_remaining_ns == D - H


def test_l4_a_lease_that_compares_no_clock_claims_no_end() -> None:
    core = Lone(mistakes=("role-only-read",))
    core.serve()
    assert code(core) is None
    assert core.noted(Checked) == [Checked(1, True, OwnClock.MONOTONIC, core.mono_ns, None)]
    assert core.replies[-1].evidence is not None
    assert core.replies[-1].evidence.lease_remaining_ns is None


def test_l5_a_read_waits_until_what_it_must_see_is_applied() -> None:
    core = Lone()
    core.serve()
    core.core._writes.set_delay(H)
    core.request(Op.WRITE, "x", 7)
    core.persist()
    core.ack("n2")
    core.replies.clear()
    assert core.request(Op.READ) == []
    core.advance(H)
    assert [r.value for r in core.replies] == [None, 7]


def test_l6_leadership_ends_with_everything_it_supported_and_starts_empty() -> None:
    core = Lone()
    core.serve()
    core.core._writes.set_delay(E)
    core.request(Op.WRITE)
    core.persist()
    core.ack("n2")
    core.request(Op.READ)
    core.beat(term=2, leader="n3")
    assert [r.code for r in core.replies] == [Code.UNCERTAIN, Code.NOT_LEADER]
    assert core.noted(Revoked) == [Revoked(1, "term")]
    core.jump(E)
    core.lead()
    assert core.left_ns is None


def test_l6_not_even_an_early_return_brings_the_old_lease_back() -> None:
    core = Lone(mistakes=("vote-ignores-promise",))
    core.serve()
    core.hear("n3", AppendReply(2, 99, False, 0))
    core.feed(CampaignNow())
    core.hear("n2", VoteReply(3, True, True))
    core.persist()
    core.hear("n2", VoteReply(3, False, True))
    assert core.role() is Role.LEADER
    assert core.left_ns is None


def test_l6_rounds_of_an_earlier_leadership_are_forgotten() -> None:
    core = Lone()
    core.lead()
    old = core.last_append("n2")
    core.beat(term=2, leader="n3")
    core.persist()
    core.jump(E)
    core.lead()
    core.ack("n2", old)
    assert core.left_ns is None


def test_l7_a_leader_drops_its_lease_before_it_grants_a_vote() -> None:
    core = Lone()
    core.serve()
    core.jump(E)
    core.hear("n3", RequestVote(9, False, 99, 99))
    kinds = [type(fact).__name__ for fact in core.facts]
    assert kinds.index("Revoked") < kinds.index("Voted")
    assert core.left_ns is None


def test_l8_a_leader_nobody_follows_steps_down_after_2e_and_not_before() -> None:
    core = Lone()
    core.serve()
    core.advance(2 * E)
    assert core.role() is Role.LEADER
    core.advance(2 * H)
    assert core.role() is Role.FOLLOWER
    assert core.noted(Revoked) == [Revoked(1, "quorum")]


def test_l8_a_minority_does_not_keep_a_leader() -> None:
    core = Lone(nodes=5)
    core.lead()
    for _ in range(21):
        core.ack("n2")
        core.advance(H)
    core.advance(H)
    assert core.role() is Role.FOLLOWER


def stall(core: Lone) -> None:
    core.jump(core.core.wake_ns - core.mono_ns + H + 1)


def wall_forward(core: Lone) -> None:
    core.wall_ns += 51 * MS


def wall_backward(core: Lone) -> None:
    core.wall_ns -= 3 * E


@pytest.mark.parametrize("happen", [stall, wall_forward, wall_backward])
def test_l11_after_an_anomaly_only_a_round_sent_later_gives_a_lease_again(happen: object) -> None:
    core = Lone()
    core.serve()
    core.advance(H)
    before = core.last_append("n2")
    happen(core)  # type: ignore[operator]
    assert code(core) is Code.LEASE_EXPIRED, "noticed before the very read that comes first"
    assert [a.kind for a in core.noted(ClockAnomaly)] == [happen.__name__.replace("_", "-")]  # type: ignore[attr-defined]
    assert len(core.noted(Revoked)) == 1
    core.ack("n2", before)
    assert core.left_ns is None
    core.advance(H)
    core.ack("n2")
    assert code(core) is None


def test_l11_one_stall_is_one_anomaly() -> None:
    core = Lone()
    core.serve()
    stall(core)
    for _ in range(3):
        core.hear("n2", AppendReply(1, 99, True, 1))
    assert len(core.noted(ClockAnomaly)) == 1


def test_l11_ordinary_time_is_no_anomaly() -> None:
    core = Lone()
    core.serve()
    for _ in range(10):
        core.jump(core.core.wake_ns - core.mono_ns + H)
        core.wall_ns += 49 * MS
        core.advance(0)
    assert core.noted(ClockAnomaly) == []


def test_l11_can_be_switched_off() -> None:
    core = Lone(rules_off=("L11",))
    core.serve()
    stall(core)
    wall_backward(core)
    assert code(core) is None
    assert core.noted(ClockAnomaly) == []


@given(st.integers(0, 300_000), st.sampled_from([-1, 1]), st.sampled_from([-1, 1]))
def test_l12_no_clocks_within_the_bound_let_a_lease_outlive_the_promise(
    drift_ppm: int, leader: int, follower: int
) -> None:
    lease_ns = drift_safe_lease_ns(Bounds(E, drift_ppm, 0))
    lease_lasts = lease_ns * PPM / (PPM + leader * drift_ppm)
    promise_lasts = E * PPM / (PPM + follower * drift_ppm)
    assert lease_lasts <= promise_lasts


def test_l12_the_margin_comes_off_the_lease() -> None:
    assert drift_safe_lease_ns(Bounds(E, 200_000, 20 * MS)) == E * 8 // 12 - 20 * MS


def test_l13_the_wall_clock_has_no_say() -> None:
    core = Lone(rules_off=("L11",))
    core.serve()
    for jump_ns in (-9 * E, 20 * E):
        core.wall_ns += jump_ns
        assert core.left_ns == D
        assert code(core) is None


def test_g1_a_leader_that_nobody_tells_the_time_waits_for_as_long_as_a_fast_clock_may_count() -> None:
    stamped = Entry(1, 1, Op.WRITE, "x", 1, 7 * E, 7 * E)
    core = Lone(policy="lease-log", restored=Restored(2, HardState(1), (stamped,)))
    core.lead()
    core.ack("n2")
    for _ in range(10):
        core.advance(H)
        core.ack("n2")
    assert core.commit_index == 0
    core.advance(H)
    core.ack("n2")
    assert core.commit_index == 2


def test_l1_a_leader_that_waits_old_leases_out_holds_none_of_its_own_yet() -> None:
    core = Lone(policy="newleader-waits")
    core.campaign()
    core.hear("n2", VoteReply(1, False, True, None, 3 * H))
    core.persist()
    core.ack("n2")
    assert core.left_ns is None
    core.advance(4 * H)
    assert core.left_ns is not None


def test_a_grant_that_is_over_wakes_nobody_while_leadership_is_handed_over() -> None:
    core = Lone(policy="lease-oneshot")
    core.serve()
    core.feed(HandOver("n2"))
    for _ in range(8):  # the request is dropped after three tenths of the grant, the transfer after E
        core.jump(max(0, core.core.wake_ns - core.mono_ns))
        core.feed(TimerDue())
        assert core.core.wake_ns > core.mono_ns
