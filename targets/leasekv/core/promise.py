"""A node's promise to help nobody depose the leader it last heard from.

It runs from the receipt of a round for as long as the rules say, on the clock they name; every round
gives it again, and nothing but time ends it, a lost connection least of all (F1, F5). While the clock
cannot be told, it runs on the monotonic one, longer by what that may be too fast: a lease on another
clock allows for no rate. A node that has lived before cannot know what it promised, so it starts with a
promise (F4); a brand-new one has none.

A leader's promise is to itself: it runs from the send of the newest round that a quorum has
acknowledged, so a leader that is being followed does not help to depose itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import OwnClock, Promised
from targets.leasekv.rules import counted_at_most
from targets.leasekv.views import BootView, LossView, PromiseView

if TYPE_CHECKING:
    from targets.clock import Reading

    from .state import State


class Promise:
    """Until when, on the clock of the rules and on the monotonic one."""

    __slots__ = (
        "_clock", "_length_ns", "_made_to", "_mono_length_ns", "_state", "_until_ns", "mono_until_ns",
    )  # fmt: skip

    def __init__(self, state: State, *, brand_new: bool) -> None:
        self._state = state
        self._clock = state.rules.promise_clock
        self._length_ns = state.rules.promise_ns(state.config.bounds)
        self._mono_length_ns = self._length_ns
        if self._clock.name is not OwnClock.MONOTONIC:
            self._mono_length_ns = counted_at_most(self._length_ns, state.config.drift_ppm)
        self._until_ns: int | None = None
        self._made_to: tuple[str, int] | None = None
        boot = BootView(brand_new, self._mono_length_ns)
        self.mono_until_ns = state.reading.mono_ns + state.rules.boot_promise_ns(boot)

    def give(self, holder: str, round_: int, told_ns: int | None = None) -> None:
        """F1: promise ``holder`` silence from now on; a promise is never shortened."""
        state = self._state
        if not self._length_ns:
            return
        self._made_to = (holder, state.term)
        heard_ns = self._clock.heard(state.moment, told_ns)
        if heard_ns is None or self._clock.name is OwnClock.MONOTONIC:
            self.give_since(state.reading.mono_ns)
            clock, until_ns = OwnClock.MONOTONIC, self.mono_until_ns
        else:
            until_ns = heard_ns + self._length_ns
            if self._until_ns is not None:
                until_ns = max(until_ns, self._until_ns)
            clock, self._until_ns = self._clock.name, until_ns
        state.out.fact(Promised(state.term, holder, round_, until_ns, clock))

    def give_since(self, since_ns: int) -> None:
        """Promise silence as if a round had been heard then, on the monotonic clock."""
        self.mono_until_ns = max(self.mono_until_ns, since_ns + self._mono_length_ns)

    def lost(self, peer: str) -> None:
        """F5: take note that ``peer`` is not connected any more, which frees nobody."""
        made_to_it = self._made_to is not None and self._made_to[0] == peer
        if self._state.rules.loss_frees(LossView(made_to_it)):
            self.mono_until_ns, self._until_ns = self._state.reading.mono_ns, None

    def free_for(self, holder: str) -> bool:
        """Whether it can be made to ``holder`` in this term: it was, or binds nobody any more."""
        return self._made_to == (holder, self._state.term) or not self.binds()

    def binds(self) -> bool:
        """Whether it forbids a vote, for others or oneself."""
        state = self._state
        binds = state.rules.promise_binds
        if binds(PromiseView(state.reading.mono_ns, self.mono_until_ns)):
            return True
        if self._until_ns is None:
            return False
        now_ns = self._clock.now(state.moment)
        return now_ns is None or binds(PromiseView(now_ns, self._until_ns))

    def remaining_ns(self, reading: Reading) -> int:
        """Return how long it still binds at ``reading``, for people; 0 if it does not."""
        left_ns = self.mono_until_ns - reading.mono_ns
        now_ns = None if self._until_ns is None else self._clock.now(self._state.moment_of(reading))
        if self._until_ns is not None and now_ns is not None:
            left_ns = max(left_ns, self._until_ns - now_ns)
        return max(0, left_ns)

    def look_again_ns(self) -> int:
        """Return when it may not bind any more, as far as the monotonic clock can tell."""
        state = self._state
        left_ns = self.mono_until_ns - state.reading.mono_ns
        now_ns = None if self._until_ns is None else self._clock.now(state.moment)
        if self._until_ns is not None and now_ns is not None:
            left_ns = max(left_ns, self._until_ns - now_ns)
        return state.reading.mono_ns + max(left_ns, state.config.heartbeat_ns // 10)
