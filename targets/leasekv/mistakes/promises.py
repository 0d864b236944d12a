"""Mistakes of a follower: when its promise of silence begins, ends, and what makes it forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.evidence import OwnClock
from targets.cluster import ClockMode, Primitive
from targets.leasekv.moments import Moment, PromiseClock, nothing, received, wall
from targets.leasekv.ports import HardState
from targets.target import Place

from .planted import ANYWHERE, PROCESSES, Planted, instead

if TYPE_CHECKING:
    from targets.leasekv import views as v


def _promised_nothing(_view: v.PromiseView) -> bool:
    return False


def _half_a_promise(bounds: v.Bounds) -> int:
    return bounds.election_ns // 2


def _freed_by_a_reset(view: v.LossView) -> bool:
    return view.made_to_it


def _as_if_brand_new(_view: v.BootView) -> int:
    return 0


def _what_was_told(_moment: Moment, told_ns: int | None) -> int | None:
    return told_ns


def _nothing_of_it(_hard: HardState) -> HardState:
    return HardState()


_BY_WALL: Final = PromiseClock(OwnClock.WALL, received(wall), wall, nothing)
_BY_THE_LEADERS_WALL: Final = PromiseClock(OwnClock.WALL, _what_was_told, wall, wall)

ALL: Final = (
    Planted(
        id="vote-ignores-promise",
        policy="lease-renew",
        rule="F2",
        also_breaks=("F3",),
        places=ANYWHERE,
        needs=(Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="A node votes although it has just promised the leader silence.",
        change=instead(promise_binds=_promised_nothing),
    ),
    Planted(
        id="promise-wall-clock",
        policy="lease-renew",
        rule="L13",
        places=PROCESSES,
        needs=(Primitive.CLOCK_WALL, Primitive.LINKS, Primitive.CAMPAIGN),
        clock=ClockMode.WALL,
        sentence="The promise is measured on the wall clock, which can be set forward.",
        change=instead(promise_clock=_BY_WALL),
    ),
    Planted(
        id="absolute-expiry",
        policy="lease-renew",
        rule="F1",
        also_breaks=("L13",),
        places=PROCESSES,
        needs=(Primitive.CLOCK_WALL, Primitive.LINKS, Primitive.CAMPAIGN),
        clock=ClockMode.WALL,
        sentence="The leader says at what time its lease ends, and others compare their own clocks.",
        change=instead(promise_clock=_BY_THE_LEADERS_WALL),
    ),
    Planted(
        id="promise-too-short",
        policy="lease-renew",
        rule="F1",
        places=PROCESSES,
        needs=(Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="Followers are silent for half of the time that the leader counts on.",
        change=instead(promise_ns=_half_a_promise),
    ),
    Planted(
        id="disconnect-clears-promise",
        policy="lease-renew",
        rule="F5",
        places=PROCESSES,
        needs=(Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="A node whose connection from the leader is lost takes its promise for over.",
        change=instead(loss_frees=_freed_by_a_reset),
    ),
    Planted(
        id="restart-forgets-promise",
        policy="lease-renew",
        rule="F4",
        places=(Place.SIM,),  # a process takes about as long to start as a lease lasts
        needs=(Primitive.KILL, Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="A node that was restarted votes at once, whatever it promised before.",
        change=instead(boot_promise_ns=_as_if_brand_new),
    ),
    # The note gives what Raft itself must not forget no rule of its own; F6 is what a vote costs.
    Planted(
        id="vote-not-durable",
        policy="lease-renew",
        rule="F6",
        places=PROCESSES,
        needs=(Primitive.KILL, Primitive.LINKS),
        sentence="Term and vote are kept in memory only, and gone after a restart.",
        change=instead(stored=_nothing_of_it),
    ),
)
