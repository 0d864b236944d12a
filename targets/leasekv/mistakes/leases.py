"""Mistakes of a leader: what its lease counts from, on which clock, for how long, and who looks."""

from __future__ import annotations

from typing import Final

from checker.evidence import OwnClock
from targets.cluster import ClockMode, Primitive
from targets.leasekv import views as v
from targets.leasekv.membership import NEVER
from targets.leasekv.moments import PPM, LeaseClock, Moment, wall

from .planted import ANYWHERE, PROCESSES, Planted, instead

WIDE_PPM: Final = 200_000
WIDEST_PPM: Final = 300_000


def _trust_the_role(_view: v.LeaseView) -> v.Judgement:
    return v.Judgement(granted=True, until_ns=None)


def _credit_the_arrival(ack: v.Ack) -> int:
    return ack.heard_ns


def _credit_the_window(ack: v.Ack) -> int:
    return (ack.heard_ns // ack.election_ns + 1) * ack.election_ns


def _the_newest_round_sent(backing: v.Backing) -> int:
    return backing.sent_ns


def _the_newest_acknowledgement(backing: v.Backing) -> int:
    others = (credit for peer, credit in backing.credits.items() if peer != backing.own)
    return max(others, default=NEVER)


def _judge_at_the_last_tick(look: v.Look) -> int:
    return look.sampled_ns


def _ticks(moment: Moment) -> int:
    return moment.ticked_ns


def _whoever_led(_view: v.HolderView) -> bool:
    return True


def _whole_election_timeout(bounds: v.Bounds) -> int:
    return bounds.election_ns


def _one_side_only(bounds: v.Bounds) -> int:
    return bounds.election_ns * (PPM - bounds.drift_ppm) // PPM - bounds.margin_ns


_BY_WALL: Final = LeaseClock(OwnClock.WALL, wall, wall)
_BY_TICKS: Final = LeaseClock(OwnClock.MONOTONIC, _ticks, _ticks)

ALL: Final = (
    Planted(
        id="role-only-read",
        policy="lease-renew",
        rule="L4",
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        sentence="A node that takes itself for the leader serves, lease or not.",
        change=instead(judge_lease=_trust_the_role),
    ),
    Planted(
        id="lease-from-last-ack",
        policy="lease-renew",
        rule="L2",
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        sentence="The lease is counted from when an acknowledgement arrived, not from the send.",
        change=instead(credit_ns=_credit_the_arrival),
    ),
    Planted(
        id="renew-at-send",
        policy="lease-renew",
        rule="L2",
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="The lease is renewed by sending a round, whether or not anybody answers it.",
        change=instead(backing_ns=_the_newest_round_sent),
    ),
    Planted(
        id="checkquorum-window",
        policy="lease-renew",
        rule="L2",
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="An acknowledgement counts for the window it came in, and from its end.",
        change=instead(credit_ns=_credit_the_window),
    ),
    Planted(
        id="newest-ack-not-quorum",
        policy="lease-renew",
        rule="L3",
        also_breaks=("L10",),
        nodes=5,
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="The newest acknowledgement renews the lease, a majority or not.",
        change=instead(backing_ns=_the_newest_acknowledgement),
    ),
    Planted(
        id="cached-lease-flag",
        policy="lease-renew",
        rule="L4",
        also_off=("L11",),
        places=ANYWHERE,
        needs=(Primitive.PAUSE, Primitive.LINKS),
        sentence="The lease is judged as of the last periodic tick, not as of the request.",
        change=instead(judged_at_ns=_judge_at_the_last_tick),
    ),
    Planted(
        id="tick-counter-lease",
        policy="lease-renew",
        rule="L13",
        also_breaks=("L4",),
        also_off=("L11",),
        places=PROCESSES,
        needs=(Primitive.PAUSE, Primitive.LINKS),
        sentence="The lease is counted in ticks of the leader's own loop, which a pause loses.",
        change=instead(lease_clock=_BY_TICKS),
    ),
    Planted(
        id="lease-wall-clock",
        policy="lease-renew",
        rule="L13",
        also_off=("L11",),
        places=ANYWHERE,
        needs=(Primitive.CLOCK_WALL, Primitive.LINKS),
        clock=ClockMode.WALL,
        sentence="The lease is measured on the wall clock, which can be set back.",
        change=instead(lease_clock=_BY_WALL),
    ),
    Planted(
        id="term-keeps-lease",
        policy="lease-renew",
        rule="L6",
        places=PROCESSES,
        needs=(Primitive.TRANSFER, Primitive.LINKS),
        sentence="A lease outlives the leadership it was given to, and is served from.",
        change=instead(may_hold=_whoever_led),
    ),
    Planted(
        id="no-drift-margin",
        policy="lease-renew",
        rule="L12",
        places=ANYWHERE,
        needs=(Primitive.CLOCK_RATE, Primitive.LINKS),
        drift_ppm=WIDE_PPM,
        clock=ClockMode.RATE,
        sentence="The lease is as long as the promise, as if all clocks ran alike.",
        change=instead(lease_ns=_whole_election_timeout),
    ),
    Planted(
        id="one-sided-margin",
        policy="lease-renew",
        rule="L12",
        places=PROCESSES,
        needs=(Primitive.CLOCK_RATE, Primitive.LINKS, Primitive.CAMPAIGN),
        drift_ppm=WIDEST_PPM,
        clock=ClockMode.RATE,
        sentence="The margin allows for the leader's slow clock and not for a follower's fast one.",
        change=instead(lease_ns=_one_side_only),
    ),
)
