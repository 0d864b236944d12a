"""The leader's lease: what a quorum's acknowledgements are worth, and for how long.

Every acknowledged round credits its peer with an instant (the send, by the right rule). The lease
starts at the newest instant that a majority reaches, the leader's own entry counting as "now", and
lasts D. It starts empty with every leadership: votes give no lease (L1). It is judged afresh for each
read that asks (L4); what the core never keeps is an answer.

While leadership is handed over, and until nothing can come of that any more, it is closed (L9).
After a clock anomaly everything credited so far is void, and so is every round already sent (L11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Checked, OwnClock
from targets.leasekv.membership import NEVER
from targets.leasekv.views import NOW, Ack, Backing, LeaseView, Look, TransferView

if TYPE_CHECKING:
    from targets.clock import Reading
    from targets.leasekv.messages import Key
    from targets.leasekv.moments import Moment

    from .state import State


class Lease:
    """Credits by peer, on the clock the rules measure leases on."""

    __slots__ = ("_clock", "_credits", "_first_round", "_state", "length_ns")

    def __init__(self, state: State) -> None:
        self._state = state
        self._clock = state.rules.lease_clock
        self.length_ns = state.rules.lease_ns(state.config.bounds)
        self.void(1)

    def void(self, first_round: int) -> None:
        """Forget everything; only rounds from ``first_round`` on count."""
        self._credits: dict[str, int] = {self._state.config.node: NOW}
        self._first_round = first_round

    def begin(self) -> None:
        """Nothing comes with leadership."""

    def may_commit(self) -> bool:
        """Promises keep leases apart, so committing need not."""
        return True

    def renew(self) -> None:
        """Do nothing: rounds renew it."""

    def credit(self, peer: str, round_: int, sent: Moment) -> None:
        """L2: ``peer`` acknowledged a round sent at ``sent``, in this term, just now."""
        if round_ < self._first_round:
            return
        state = self._state
        sent_ns, heard_ns = self._clock.sent(sent), self._clock.sent(state.moment)
        if sent_ns is None or heard_ns is None:
            return
        value = state.rules.credit_ns(Ack(sent_ns, heard_ns, state.config.election_ns))
        self._credits[peer] = max(value, self._credits.get(peer, value))

    def end_ns(self) -> int | None:
        """When the lease ends on its clock; None if no quorum backs one."""
        state = self._state
        members = state.members
        sent = state.round_sent
        sent_ns = None if sent is None else self._clock.sent(sent)
        backing = Backing(
            members.own,
            self._credits,
            members.now,
            members.first,
            NEVER if sent_ns is None else sent_ns,
        )
        start_ns = state.rules.backing_ns(backing)
        if start_ns == NOW:
            start_ns = self._clock.sent(state.moment) or NEVER
        return None if start_ns == NEVER else start_ns + self.length_ns

    def check(self, _key: Key) -> Checked:
        """Judge the lease for a read that is here now; write and return what was found."""
        state = self._state
        fresh_ns, sampled_ns = self._clock.now(state.moment), self._clock.now(state.sampled)
        if fresh_ns is None or sampled_ns is None:
            checked = Checked(state.term, False, OwnClock.MONOTONIC, state.reading.mono_ns, None)
        else:
            read_ns = state.rules.judged_at_ns(Look(fresh_ns, sampled_ns))
            judged = state.rules.judge_lease(LeaseView(read_ns, self.end_ns()))
            granted = judged.granted and not self._closed()
            checked = Checked(state.term, granted, self._clock.name, read_ns, judged.until_ns)
        state.out.fact(checked)
        return checked

    def _closed(self) -> bool:
        state = self._state
        handover = state.handover
        if handover.target is None and handover.told_ns is None:
            return False
        return state.rules.transfer_closes(
            TransferView(
                state.reading.mono_ns,
                handover.target is not None,
                handover.told_ns,
                0 < handover.noop_index <= state.commit_index,
                state.config.election_ns,
                state.config.drift_ppm,
            )
        )

    def remaining_ns(self, reading: Reading) -> int | None:
        """Return what is left of the lease at ``reading``, for people; None where there is none."""
        state = self._state
        if not state.may_lease or self._closed():
            return None
        end_ns, now_ns = self.end_ns(), self._clock.now(state.moment_of(reading))
        if end_ns is None or now_ns is None or now_ns >= end_ns:
            return None
        return end_ns - now_ns
