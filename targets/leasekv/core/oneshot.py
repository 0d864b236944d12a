"""One-shot leases: a leader asks everybody for one long grant, uses it up, and asks again (S1-S5).

Nothing is renewed, so no renewal can be lost. Heartbeats only detect failures; what keeps a node from
electing is the grant alone, however silent its holder is. A node grants if the grant that it gave last
is over, or is the asker's own of the same term (S2). The lease counts from when the request was sent,
and nothing extends it (S3, S4): when it is over the leader serves by quorum until the next request has
a majority. A request that has no majority after three tenths of the grant is dropped; what was granted
stands as a promise without a lease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import GrantAcked, GrantAsked
from targets.clock import FOREVER_NS
from targets.cluster import Role
from targets.leasekv.messages import LeaseGrant, LeaseRequest

if TYPE_CHECKING:
    from targets.leasekv.moments import Moment

    from .lease import Lease
    from .log_lease import LogLease
    from .promise import Promise
    from .state import State


class OneShot:
    """The requests of one leadership, one at a time; and the grants that this node gives.

    ``due_ns`` is when the request or the lease under way is over, on the monotonic clock.
    """

    __slots__ = ("_asked_at", "_lease", "_promise", "_seq", "_state", "due_ns")

    def __init__(self, state: State, lease: Lease | LogLease, promise: Promise) -> None:
        self._state = state
        self._lease = lease
        self._promise = promise
        self._seq = 0
        self.end()

    def end(self) -> None:
        """Forget the request under way: it, leadership or trust in the clocks is over."""
        self._asked_at: Moment | None = None
        self.due_ns = FOREVER_NS

    def go_on(self) -> None:
        """Ask, if this leader may and holds nothing and has not just asked."""
        state = self._state
        now_ns = state.reading.mono_ns
        going = self._asked_at is not None and now_ns < self.due_ns
        if state.rules.renews or state.role is not Role.LEADER or going:
            return
        if state.commit_index < state.noop_index or state.handover.target is not None:
            self.end()  # what is over may not wake this leader again; the heartbeat comes back to it
            return
        self._seq += 1
        self._asked_at = state.moment
        self.due_ns = now_ns + state.config.grant_ns * 3 // 10
        self._lease.void(1)
        state.out.fact(GrantAsked(state.term, self._seq))
        for peer in state.members.others:
            state.out.send(peer, LeaseRequest(state.term, self._seq))

    def asked(self, leader: str, request: LeaseRequest) -> None:
        """Grant what the leader of this term asks for, unless another's grant is still alive."""
        state = self._state
        if request.term != state.term or leader != state.leader or not self._promise.free_for(leader):
            return
        self._promise.give(leader, request.seq)
        # Who forgets the term may come back as one that never lived, and owes nobody anything (F4).
        state.out.send_once_durable(leader, LeaseGrant(state.term, request.seq), state.hard_seq)

    def granted(self, peer: str, grant: LeaseGrant) -> None:
        """Count a grant for the request under way."""
        state = self._state
        sent = self._asked_at
        if sent is None or grant.term != state.term or grant.seq != self._seq:
            return
        state.out.fact(GrantAcked(state.term, grant.seq, peer))
        self._lease.credit(peer, 1, sent)
        end_ns = self._lease.end_ns()
        if end_ns is not None:
            self.due_ns = max(self.due_ns, end_ns)
