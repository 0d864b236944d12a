"""Planted mistakes: each one substitution in the rules of one policy, with what it takes to show it.

A mistake never adds a branch to the core. Its aimed schedule lies in ``nemesis/schedules/<id>.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from checker.evidence import OwnClock
from targets.cluster import ClockMode, Primitive
from targets.target import Mistake, Place

from . import rules as r
from .moments import LeaseClock, wall

if TYPE_CHECKING:
    from .messages import Code

DRIFT_PPM: Final = 50_000
LEASE_BY_WALL: Final = LeaseClock(OwnClock.WALL, wall, wall)
ANYWHERE: Final = (Place.SIM, Place.LOCAL, Place.DOCKER)


class Planted(Mistake, frozen=True, kw_only=True):
    """A mistake of ours. ``also_off`` becomes `NodeConfig.rules_off`; ``change`` replaces one field."""

    drift_ppm: int = DRIFT_PPM
    clock: ClockMode = ClockMode.NONE
    change: Callable[[r.Rules], r.Rules]


def _trust_the_role(_view: r.LeaseView) -> r.Judgement:
    return r.Judgement(granted=True, until_ns=None)


def _credit_the_arrival(ack: r.Ack) -> int:
    return ack.heard_ns


def _judge_at_the_last_tick(look: r.Look) -> int:
    return look.sampled_ns


def _promised_nothing(_view: r.PromiseView) -> bool:
    return False


def _whole_election_timeout(bounds: r.Bounds) -> int:
    return bounds.election_ns


def _always_enough(_view: r.AppliedView) -> bool:
    return True


def _answer_anyway(_code: Code) -> Code | None:
    return None


_ALL: Final = (
    Planted(
        id="role-only-read",
        policy="lease-renew",
        rule="L4",
        also_off=(),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        sentence="A node that takes itself for the leader serves, lease or not.",
        change=lambda rules: msgspec.structs.replace(rules, judge_lease=_trust_the_role),
    ),
    Planted(
        id="lease-from-last-ack",
        policy="lease-renew",
        rule="L2",
        also_off=(),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        sentence="The lease is counted from when an acknowledgement arrived, not from the send.",
        change=lambda rules: msgspec.structs.replace(rules, credit_ns=_credit_the_arrival),
    ),
    Planted(
        id="cached-lease-flag",
        policy="lease-renew",
        rule="L4",
        also_off=("L11",),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.PAUSE, Primitive.LINKS),
        sentence="The lease is judged as of the last periodic tick, not as of the request.",
        change=lambda rules: msgspec.structs.replace(rules, judged_at_ns=_judge_at_the_last_tick),
    ),
    Planted(
        id="lease-wall-clock",
        policy="lease-renew",
        rule="L13",
        also_off=("L11",),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.CLOCK_WALL, Primitive.LINKS),
        clock=ClockMode.WALL,
        sentence="The lease is measured on the wall clock, which can be set back.",
        change=lambda rules: msgspec.structs.replace(rules, lease_clock=LEASE_BY_WALL),
    ),
    Planted(
        id="fallback-stale",
        policy="lease-renew",
        rule="R7",
        also_off=(),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        sentence="When neither lease nor quorum can be had, the local value is served.",
        change=lambda rules: msgspec.structs.replace(rules, when_unsure=_answer_anyway),
    ),
    Planted(
        id="no-drift-margin",
        policy="lease-renew",
        rule="L12",
        also_off=(),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.CLOCK_RATE, Primitive.LINKS),
        drift_ppm=200_000,
        clock=ClockMode.RATE,
        sentence="The lease is as long as the promise, as if all clocks ran alike.",
        change=lambda rules: msgspec.structs.replace(rules, lease_ns=_whole_election_timeout),
    ),
    Planted(
        id="vote-ignores-promise",
        policy="lease-renew",
        rule="F2",
        also_breaks=("F3",),
        also_off=(),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="A node votes although it has just promised the leader silence.",
        change=lambda rules: msgspec.structs.replace(rules, promise_binds=_promised_nothing),
    ),
    Planted(
        id="no-applied-wait",
        policy="readindex",
        rule="R6",
        also_off=(),
        nodes=3,
        places=ANYWHERE,
        needs=(Primitive.APPLY_DELAY,),
        sentence="A read is answered before the state machine has reached its index.",
        change=lambda rules: msgspec.structs.replace(rules, applied_enough=_always_enough),
    ),
)

MISTAKES: Final[Mapping[str, Planted]] = MappingProxyType({mistake.id: mistake for mistake in _ALL})
