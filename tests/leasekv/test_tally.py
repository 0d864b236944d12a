"""What a node counts, against facts that are known by heart and against a dumb recount."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from checker import evidence as e
from harness.plan import plan_from
from harness.run.simulate import simulate
from targets.clock import MS
from targets.leasekv.buckets import Buckets
from targets.leasekv.policies import POLICIES
from targets.leasekv.tally import LOG, ONESHOT, RENEW, Tally, kind_of

if TYPE_CHECKING:
    from checker.evidence import EvidenceLine, Fact

THREE = e.Configured(1, 0, ("n1", "n2", "n3"), (), ())


def tally(*told: tuple[int, Fact], kind: str | None = RENEW, config: Fact = THREE) -> Tally:
    counted = Tally("n1", kind=kind)
    counted.hear([config], 0)
    for at_ms, fact in told:
        counted.hear([fact], at_ms * MS)
    return counted


def test_a_lease_is_renewed_when_a_majority_has_the_round() -> None:
    counted = tally(
        (10, e.RoundSent(1, 1)),
        (14, e.RoundAcked(1, 1, "n2")),
        (15, e.RoundAcked(1, 1, "n3")),  # no news
        (20, e.RoundSent(1, 2)),
        (30, e.RoundSent(1, 3)),
        (33, e.RoundAcked(1, 3, "n3")),
        (34, e.RoundAcked(1, 2, "n2")),  # an older round, overtaken
    )
    assert counted.grants == {RENEW: 2}
    assert counted.renew_seconds.sum == pytest.approx(0.004 + 0.003)


def test_of_five_nodes_two_have_to_acknowledge_and_of_two_groups_both() -> None:
    five = e.Configured(1, 0, ("n1", "n2", "n3", "n4", "n5"), (), ())
    counted = tally((0, e.RoundSent(1, 1)), (1, e.RoundAcked(1, 1, "n2")), config=five)
    assert not counted.grants
    counted.hear([e.RoundAcked(1, 1, "n5")], 2 * MS)
    assert counted.grants == {RENEW: 1}
    joint = e.Configured(1, 0, ("n1", "n2", "n3"), ("n1", "n4", "n5"), ())
    counted = tally((0, e.RoundSent(1, 1)), (1, e.RoundAcked(1, 1, "n2")), config=joint)
    assert not counted.grants
    counted.hear([e.RoundAcked(1, 1, "n4")], 2 * MS)
    assert counted.grants == {RENEW: 1}


def test_a_lease_that_ends_with_a_round_under_way_is_a_renewal_that_failed() -> None:
    counted = tally(
        (0, e.RoleChanged(1, "leader")),
        (1, e.RoundSent(1, 1)),
        (2, e.RoundAcked(1, 1, "n2")),
        (3, e.RoundSent(1, 2)),
        (9, e.Revoked(1, "quorum")),
        (9, e.RoleChanged(2, "follower")),
        (9, e.RoundAcked(1, 2, "n2")),
    )
    assert (counted.grants, counted.renew_failures) == ({RENEW: 1}, {"quorum": 1})
    assert (counted.revocations, counted.step_downs) == ({"quorum": 1}, {"quorum": 1})


def test_one_shot_grants_count_by_what_was_asked() -> None:
    counted = tally(
        (0, e.GrantAsked(1, 1)),
        (300, e.GrantAsked(1, 2)),  # the first came to nothing
        (302, e.GrantAcked(1, 2, "n3")),
        (302, e.RoundSent(1, 9)),
        (303, e.RoundAcked(1, 9, "n3")),
        kind=ONESHOT,
    )
    assert (counted.grants, counted.renew_failures) == ({ONESHOT: 1}, {"timeout": 1})
    assert counted.renew_seconds.sum == pytest.approx(0.002)


def test_reads_of_one_round_are_a_batch() -> None:
    def read(round_: int) -> e.ServedRead:
        return e.ServedRead(1, "readindex", "k", 1, 1, 0, round_)

    counted = tally(
        (0, e.RoundSent(1, 1)),
        (3, read(1)),
        (3, read(1)),
        (4, read(1)),
        (8, e.RoundSent(1, 2)),
        (9, read(2)),
    )
    assert counted.reads == {"readindex": 4}
    assert counted.batch_sizes.sum == 3  # the second batch may still grow
    assert counted.round_seconds.sum == pytest.approx(0.003 + 0.001)


def test_votes_leaders_anomalies_and_tokens() -> None:
    counted = tally(
        (0, e.Voted(2, "n2", False, False, "lease")),
        (0, e.Voted(2, "n2", True, True, None)),  # a pre-vote
        (0, e.Voted(2, "n2", False, True, None)),
        (0, e.Promised(2, "n2", 1, 0)),
        (0, e.Promised(2, "n2", 2, 0)),
        (0, e.Promised(3, "n3", 1, 0)),
        (0, e.ClockAnomaly(3, "stall", 700 * MS)),
        (0, e.ClockAnomaly(3, "wall-backward", 9)),
        (0, e.Stored(3, 1, "k", 34)),
        (0, e.Stored(3, 2, "j", 33)),
        (0, e.Refused(3, "FENCED")),
        (0, e.Refused(3, "NOT_LEADER")),
    )
    assert counted.votes == {"refused_lease": 1, "granted": 1}
    assert counted.leader_changes == 2
    assert counted.anomalies == {"stall": 1, "wall-backward": 1}
    assert counted.stall_seconds.counts[-2:] == [0, 0]
    assert counted.stall_seconds.sum == pytest.approx(0.7)
    assert (counted.token_max, counted.fenced) == (34, 1)


def test_a_value_at_a_bound_belongs_to_it() -> None:
    buckets = Buckets((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        buckets.add(value)
    assert (buckets.counts, buckets.sum) == ([2, 2, 1], 14.0)


@cache
def recorded(policy: str) -> dict[str, list[EvidenceLine]]:
    asked = {
        "on": "sim",
        "policy": policy,
        "seed": 5,
        "time": 6.0,
        "rate": 60,
        "faults": "pause,partition",
    }
    return simulate(plan_from(None, asked)).evidence


@pytest.mark.parametrize(
    "policy", ["lease-renew", "lease-oneshot", "lease-log", "readindex", "log-read"]
)
def test_a_run_counts_as_its_evidence_says(policy: str) -> None:
    kind = kind_of(POLICIES[policy].rules)
    grants: Counter[str] = Counter()
    for node, lines in recorded(policy).items():
        counted = Tally(node, kind=kind)
        for line in lines:
            counted.hear([line.what], line.own_ns)
        facts = [line.what for line in lines]
        assert counted.reads == Counter(fact.path for fact in facts if isinstance(fact, e.ServedRead))
        assert counted.term_changes == sum(isinstance(fact, e.TermChanged) for fact in facts)
        assert sum(counted.revocations.values()) == sum(isinstance(fact, e.Revoked) for fact in facts)
        assert sum(counted.renew_seconds.counts) <= sum(counted.grants.values())
        grants += counted.grants
    assert set(grants) == ({kind} if kind else set())
    assert kind is None or grants[kind] > 1


def test_renewals_are_those_of_a_dumb_recount() -> None:
    for node, lines in recorded("lease-renew").items():
        counted = Tally(node, kind=RENEW)
        acked: set[tuple[int, int]] = set()  # with two peers, each acknowledged round is a majority's
        newest: dict[int, int] = {}
        for line in lines:
            counted.hear([line.what], line.own_ns)
            if isinstance(line.what, e.RoundAcked) and line.what.round > newest.get(line.what.term, 0):
                newest[line.what.term] = line.what.round
                acked.add((line.what.term, line.what.round))
        late = sum(counted.revocations.values())  # heard after the lease was dropped: at most one each
        assert len(acked) - late <= counted.grants[RENEW] <= len(acked)


def test_every_policy_has_its_kind_of_lease() -> None:
    kinds = {name: kind_of(policy.rules) for name, policy in POLICIES.items()}
    assert kinds["lease-renew"] == kinds["newleader-waits"] == kinds["lease-interval"] == RENEW
    assert kinds["lease-oneshot"] == ONESHOT
    assert kinds["lease-log-inherited"] == LOG
    assert kinds["readindex"] is kinds["log-read"] is None
