"""The right protocols: each a `Rules`, with what a run of it must exercise to mean anything."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from checker.conviction.owed import Family, Terms
from checker.events import ReadPath
from checker.oracles.result import Oracle
from targets.clock import MS, SECOND
from targets.target import Mode

from . import fencing
from . import moments as m
from . import rules as r

if TYPE_CHECKING:
    from collections.abc import Mapping

CLOCK_STEP_NS: Final = 50 * MS
"""How far a node's clocks may part between two readings before it trusts no lease from before."""
GRANT_NS: Final = 2 * SECOND
"""How long a one-shot lease is granted for."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol for reads, and what it is to everybody else."""

    mode: Mode
    rules: r.Rules


LEASE_RENEW: Final = r.Rules(
    paths=(ReadPath.LEASE, ReadPath.READINDEX),
    span=m.grow,
    lease_clock=m.LEASE_BY_MONOTONIC,
    lease_ns=r.drift_safe_lease_ns,
    credit_ns=r.credit_the_send,
    renews=True,
    backing_ns=r.a_majority_of_each,
    judged_at_ns=r.judge_now,
    judge_lease=r.compare_the_clock,
    may_hold=r.held_by_leaders,
    in_log=False,
    age_allows=r.young_enough,
    commit_allowed=r.once_all_are_old,
    limbo_allows=r.untouched,
    writes_at_once=True,
    stamps_writes=False,
    stamp_past=r.certainly_past,
    promise_clock=m.PROMISE_BY_MONOTONIC,
    promise_ns=r.promise_election_timeout,
    promise_binds=r.promise_holds,
    boot_promise_ns=r.promise_at_boot,
    loss_frees=r.nobody_is_freed,
    stored=r.all_of_it,
    reckoned_ns=r.reckon_with_nobody,
    wait_ns=r.wait_it_out,
    transfer_closes=r.closed_by_transfer,
    gives_up=r.after_an_election_timeout,
    makes_progress=r.applied_of_late,
    anomaly=r.notice_anomaly,
    lease_index=r.own_term_committed,
    read_index=r.own_term_committed,
    answers_alone=r.ask_the_leader,
    next_ticket=r.fresh_ticket,
    index_in_batch=r.own_index,
    first_round=r.round_after_arrival,
    answered=r.by_a_majority,
    shares_rounds=True,
    applied_enough=r.wait_for_applied,
    sees_until=r.applied_only,
    when_unsure=r.say_so,
    fencing=fencing.RIGHT,
)


LEASE_INTERVAL: Final = msgspec.structs.replace(
    LEASE_RENEW,
    lease_clock=m.LEASE_BY_INTERVAL,
    lease_ns=r.whole_promise,
    promise_clock=m.PROMISE_BY_INTERVAL,
)
LEASE_LOG: Final = msgspec.structs.replace(
    LEASE_RENEW,
    in_log=True,
    lease_ns=r.whole_promise,
    promise_ns=r.promise_nothing,
    writes_at_once=False,
)
LEASE_LOG_DEFERRED: Final = msgspec.structs.replace(LEASE_LOG, writes_at_once=True)
LEASE_LOG_INHERITED: Final = msgspec.structs.replace(
    LEASE_LOG_DEFERRED, lease_index=r.whatever_is_committed
)


def _terms(*families: Family) -> Terms:
    """Return what a policy owes; a read gives up after `NodeConfig.read_deadline_ns`, half of E."""
    owes = frozenset({Family.MEMORY, Family.PROGRESS, Family.INDEX, *families})
    return Terms(owes, patience_ppm=m.PPM // 2, nap_ns=CLOCK_STEP_NS, grant_ns=GRANT_NS)


_ALL: Final = (
    Policy(
        mode=Mode(
            name="lease-renew",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            owes=frozenset(Oracle),
            terms=_terms(Family.PROMISE, Family.LEASE, Family.BARRIER),
            about="The leader serves from a lease that heartbeats renew, else asks a quorum.",
        ),
        rules=LEASE_RENEW,
    ),
    Policy(
        mode=Mode(
            name="newleader-waits",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            owes=frozenset(Oracle) - {Oracle.PROMISE},
            terms=_terms(Family.LEASE, Family.WAIT, Family.BARRIER),
            about="Voting is free; a new leader waits for the old leases that its voters know of.",
        ),
        rules=msgspec.structs.replace(
            LEASE_RENEW, promise_ns=r.promise_nothing, reckoned_ns=r.reckon_with_a_whole_lease
        ),
    ),
    Policy(
        mode=Mode(
            name="lease-oneshot",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            owes=frozenset(Oracle),
            terms=_terms(Family.PROMISE, Family.LEASE, Family.GRANT, Family.BARRIER),
            about="One grant asked of everybody, used up and asked again; nothing is renewed.",
        ),
        rules=msgspec.structs.replace(
            LEASE_RENEW,
            renews=False,
            lease_ns=r.drift_safe_grant_ns,
            promise_ns=r.promise_a_grant,
        ),
    ),
    Policy(
        mode=Mode(
            name="lease-interval",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            owes=frozenset(Oracle),
            terms=_terms(Family.PROMISE, Family.LEASE, Family.SPAN, Family.BARRIER),
            synced=True,
            about="Leases and promises compare opposite ends of a span that holds the true time.",
        ),
        rules=LEASE_INTERVAL,
    ),
    Policy(
        mode=Mode(
            name="lease-log",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            terms=_terms(Family.LOG, Family.SPAN, Family.BARRIER),
            synced=True,
            about="The age of the newest committed entry is the lease; a new leader waits with writes.",
        ),
        rules=LEASE_LOG,
    ),
    Policy(
        mode=Mode(
            name="lease-log-deferred",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            terms=_terms(Family.LOG, Family.SPAN, Family.BARRIER),
            synced=True,
            about="As lease-log, but a new leader takes writes at once and commits them later.",
        ),
        rules=LEASE_LOG_DEFERRED,
    ),
    Policy(
        mode=Mode(
            name="lease-log-inherited",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            terms=_terms(Family.LOG, Family.SPAN),
            synced=True,
            about="As lease-log-deferred, and a new leader reads by the old leader's entries.",
        ),
        rules=LEASE_LOG_INHERITED,
    ),
    Policy(
        mode=Mode(
            name="readindex",
            claims=("readindex-reads", "leader-changes", "deposed-reads"),
            terms=_terms(Family.BARRIER),
            about="Every read waits for a quorum to confirm the leader after the read arrived.",
        ),
        rules=msgspec.structs.replace(LEASE_RENEW, paths=(ReadPath.READINDEX,)),
    ),
    Policy(
        mode=Mode(
            name="readindex-unbatched",
            claims=("readindex-reads", "leader-changes", "deposed-reads"),
            terms=_terms(Family.BARRIER),
            about="As readindex, but every read sends a round of its own.",
        ),
        rules=msgspec.structs.replace(LEASE_RENEW, paths=(ReadPath.READINDEX,), shares_rounds=False),
    ),
    Policy(
        mode=Mode(
            name="log-read",
            claims=("log-reads", "leader-changes", "deposed-reads"),
            terms=_terms(Family.BARRIER),
            about="Every read is an entry of the log.",
        ),
        rules=msgspec.structs.replace(LEASE_RENEW, paths=(ReadPath.LOG,)),
    ),
    Policy(
        mode=Mode(
            name="lease-interval-commit-wait",
            claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
            owes=frozenset(Oracle),
            terms=_terms(Family.PROMISE, Family.LEASE, Family.SPAN, Family.COMMIT_WAIT, Family.BARRIER),
            synced=True,
            about="As lease-interval; a write has a timestamp, and is told once that is past.",
        ),
        rules=msgspec.structs.replace(LEASE_INTERVAL, stamps_writes=True),
    ),
)

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType({one.mode.name: one for one in _ALL})
