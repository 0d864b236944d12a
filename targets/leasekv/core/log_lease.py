"""Leases that lie in the log: no message asks for them, no vote depends on them (G1-G3).

An entry carries the span of time in which its leader appended it. A leader may read as long as the entry
at its commit index is certainly no older than Delta (G2). Voting is free, so there may be another leader
by then; but that one commits nothing before every entry of an earlier term is certainly older than Delta
(G1), so what the old one reads is still the newest that any client was told of. Both may read at once.

A new leader whose newest committed entry is still young may read by that inherited lease. It does not
know how far its predecessor had committed: entries behind its own commit index, up to where its log
ended when it was elected, are in *limbo*. A key that one of them touches cannot be read (G3).

Committing renews the lease. Where reads go on and nothing is written, an empty entry does, once the
lease is half used up.

Source: LeaseGuard, arXiv 2512.15659.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Checked, OwnClock
from targets.leasekv.messages import Op
from targets.leasekv.views import AgeView, GateView, LimboView

if TYPE_CHECKING:
    from targets.clock import Reading
    from targets.leasekv.messages import Key
    from targets.leasekv.moments import Moment

    from .state import State
    from .writes import Writes


class LogLease:
    """What the log's own entries allow; it has the face of `Lease`, and nothing to credit or void."""

    __slots__ = (
        "_limbo", "_limbo_end", "_prior_ns", "_since_ns", "_state", "_wanted", "_writes", "length_ns",
    )  # fmt: skip

    def __init__(self, state: State, writes: Writes) -> None:
        self._state = state
        self._writes = writes
        self.length_ns = state.rules.lease_ns(state.config.bounds)
        self._limbo: frozenset[Key] = frozenset()
        self._limbo_end = 0
        self._since_ns = 0
        self._prior_ns: int | None = None
        self._wanted = False

    def begin(self) -> None:
        """Take up leadership: note how young the log may be, and what of it is in limbo."""
        state = self._state
        log = state.log
        self._since_ns = state.reading.mono_ns
        self._prior_ns = log.stamped_ns
        self._limbo_end = log.last_index
        self._limbo = frozenset(entry.key for entry in log.after(state.commit_index))

    def void(self, first_round: int) -> None:
        """Nothing rests on rounds."""

    def credit(self, peer: str, round_: int, sent: Moment) -> None:
        """Nothing rests on acknowledgements."""

    def may_commit(self) -> bool:
        """G1: whether no earlier leader can still read by an entry of an earlier term."""
        state = self._state
        if state.commit_index >= state.noop_index:
            return True
        span = state.moment.span
        earliest_ns = None if span is None else span.earliest_ns
        led_ns = state.reading.mono_ns - self._since_ns
        gate = GateView(earliest_ns, self._prior_ns, self.length_ns, led_ns, state.config.drift_ppm)
        return state.rules.commit_allowed(gate)

    def end_ns(self) -> int | None:
        """When the lease ends on the interval clock; None if nothing committed is stamped."""
        state = self._state
        index = state.commit_index
        if index <= state.log.offset:
            return None
        stamped_ns = state.log.entry(index).earliest_ns
        return None if stamped_ns is None else stamped_ns + self.length_ns

    def check(self, key: Key) -> Checked:
        """Judge the lease for a read of ``key`` that is here now; write and return what was found."""
        state = self._state
        self._wanted = True
        end_ns, span = self.end_ns(), state.moment.span
        if end_ns is None or span is None:
            checked = Checked(state.term, False, OwnClock.MONOTONIC, state.reading.mono_ns, None)
        else:
            touched = state.commit_index < self._limbo_end and key in self._limbo
            granted = state.rules.age_allows(AgeView(span.latest_ns, end_ns))
            granted = granted and state.rules.limbo_allows(LimboView(touched))
            checked = Checked(state.term, granted, OwnClock.INTERVAL, span.latest_ns, end_ns)
        state.out.fact(checked)
        return checked

    def renew(self) -> None:
        """Append an empty entry if reads went on and more than half of the lease is used up."""
        state = self._state
        end_ns, span = self.end_ns(), state.moment.span
        if not self._wanted or state.log.last_index > state.commit_index or span is None:
            return
        if end_ns is None or 2 * (end_ns - span.latest_ns) < self.length_ns:
            self._wanted = False
            self._writes.append(Op.NOOP)

    def remaining_ns(self, reading: Reading) -> int | None:
        """Return what is left of the lease at ``reading``, for people; None where there is none."""
        state = self._state
        if not state.may_lease:
            return None
        end_ns, span = self.end_ns(), state.moment_of(reading).span
        if end_ns is None or span is None or span.latest_ns > end_ns:
            return None
        return end_ns - span.latest_ns
