"""The right protocols: each a `Rules`, with what a run of it must exercise to mean anything."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from checker.events import ReadPath
from checker.evidence import OwnClock

from . import rules as r

if TYPE_CHECKING:
    from collections.abc import Mapping


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol for reads.

    ``claims`` name what a run of it must have exercised. ``overlap`` says whether two leases at one
    instant of true time prove a violation (the lease-overlap oracle applies).
    """

    name: str
    rules: r.Rules
    claims: tuple[str, ...]
    overlap: bool
    sentence: str


LEASE_RENEW: Final = r.Rules(
    paths=(ReadPath.LEASE, ReadPath.READINDEX),
    lease_clock=OwnClock.MONOTONIC,
    lease_ns=r.drift_safe_lease_ns,
    credit_ns=r.credit_the_send,
    judged_at_ns=r.judge_now,
    judge_lease=r.compare_the_clock,
    promise_binds=r.promise_holds,
    anomaly=r.notice_anomaly,
    read_index=r.own_term_committed,
    first_round=r.round_after_arrival,
    applied_enough=r.wait_for_applied,
    when_unsure=r.say_so,
)

_ALL: Final = (
    Policy(
        name="lease-renew",
        rules=LEASE_RENEW,
        claims=("lease-reads", "leader-changes", "deposed-reads", "clock-bend"),
        overlap=True,
        sentence="The leader serves from a lease that heartbeats renew, else asks a quorum.",
    ),
    Policy(
        name="readindex",
        rules=msgspec.structs.replace(LEASE_RENEW, paths=(ReadPath.READINDEX,)),
        claims=("readindex-reads", "leader-changes", "deposed-reads"),
        overlap=False,
        sentence="Every read waits for a quorum to confirm the leader after the read arrived.",
    ),
    Policy(
        name="log-read",
        rules=msgspec.structs.replace(LEASE_RENEW, paths=(ReadPath.LOG,)),
        claims=("log-reads", "leader-changes", "deposed-reads"),
        overlap=False,
        sentence="Every read is an entry of the log.",
    ),
)

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType({policy.name: policy for policy in _ALL})
