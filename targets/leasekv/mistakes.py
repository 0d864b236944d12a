"""Planted mistakes: each one substitution in the rules of one policy, with what it takes to show it.

A mistake never adds a branch to the core. Its aimed schedule lies in ``nemesis/schedules/<id>.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from checker.evidence import OwnClock
from targets.cluster import ClockMode, Primitive

from . import rules as r

if TYPE_CHECKING:
    from .messages import Code

DRIFT_PPM: Final = 50_000


class Environment(StrEnum):
    """Where a cluster can run."""

    SIM = "sim"
    LOCAL = "local"
    DOCKER = "docker"


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """A wrong rule.

    ``rule`` is the id of the rule it breaks; ``also_off`` are rules that would mask it and have to be
    switched off beside it (`NodeConfig.rules_off`); ``needs`` is what its aimed schedule does to the
    cluster, ``drift_ppm`` the rate bound such a run declares, ``clock`` the clock it bends.
    ``change`` replaces one field.
    """

    id: str
    policy: str = "lease-renew"
    nodes: int = 3
    also_off: tuple[str, ...] = ()
    needs: tuple[Primitive, ...]
    environments: tuple[Environment, ...] = tuple(Environment)
    rule: str
    drift_ppm: int = DRIFT_PPM
    clock: ClockMode = ClockMode.NONE
    sentence: str
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
    Mistake(
        id="role-only-read",
        needs=(Primitive.LINKS,),
        rule="L4",
        sentence="A node that takes itself for the leader serves, lease or not.",
        change=lambda rules: msgspec.structs.replace(rules, judge_lease=_trust_the_role),
    ),
    Mistake(
        id="lease-from-last-ack",
        needs=(Primitive.LINKS,),
        rule="L2",
        sentence="The lease is counted from when an acknowledgement arrived, not from the send.",
        change=lambda rules: msgspec.structs.replace(rules, credit_ns=_credit_the_arrival),
    ),
    Mistake(
        id="cached-lease-flag",
        also_off=("L11",),
        needs=(Primitive.PAUSE, Primitive.LINKS),
        rule="L4",
        sentence="The lease is judged as of the last periodic tick, not as of the request.",
        change=lambda rules: msgspec.structs.replace(rules, judged_at_ns=_judge_at_the_last_tick),
    ),
    Mistake(
        id="lease-wall-clock",
        also_off=("L11",),
        needs=(Primitive.CLOCK_WALL, Primitive.LINKS),
        rule="L13",
        clock=ClockMode.WALL,
        sentence="The lease is measured on the wall clock, which can be set back.",
        change=lambda rules: msgspec.structs.replace(rules, lease_clock=OwnClock.WALL),
    ),
    Mistake(
        id="fallback-stale",
        needs=(Primitive.LINKS,),
        rule="R7",
        sentence="When neither lease nor quorum can be had, the local value is served.",
        change=lambda rules: msgspec.structs.replace(rules, when_unsure=_answer_anyway),
    ),
    Mistake(
        id="no-drift-margin",
        needs=(Primitive.CLOCK_RATE, Primitive.LINKS),
        rule="L12",
        drift_ppm=200_000,
        clock=ClockMode.RATE,
        sentence="The lease is as long as the promise, as if all clocks ran alike.",
        change=lambda rules: msgspec.structs.replace(rules, lease_ns=_whole_election_timeout),
    ),
    Mistake(
        id="vote-ignores-promise",
        needs=(Primitive.LINKS, Primitive.CAMPAIGN),
        rule="F2",
        sentence="A node votes although it has just promised the leader silence.",
        change=lambda rules: msgspec.structs.replace(rules, promise_binds=_promised_nothing),
    ),
    Mistake(
        id="no-applied-wait",
        policy="readindex",
        needs=(Primitive.APPLY_DELAY,),
        rule="R6",
        sentence="A read is answered before the state machine has reached its index.",
        change=lambda rules: msgspec.structs.replace(rules, applied_enough=_always_enough),
    ),
)

MISTAKES: Final[Mapping[str, Mistake]] = MappingProxyType({mistake.id: mistake for mistake in _ALL})
