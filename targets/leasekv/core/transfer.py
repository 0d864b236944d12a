"""Handing leadership over (L9): the leader tells a peer to campaign at once, past every promise.

The promise that keeps others from electing is made to *this* leader, so only it can set them free: the
target's vote requests carry a token, which a voter accepts as its own leader's word. From then on a
successor may exist at any time, so from the start of a transfer the lease is closed; ReadIndex goes on,
since it asks a quorum each time. New entries are refused meanwhile, so that the target can catch up.

A transfer that has come to nothing after E is given up. If the target was never told, nothing can come
of it any more. If it was, it may still campaign with the log it had then: a fresh no-op, once committed,
makes every voter of a majority refuse that log. Until then, and for E(1+delta) after the target was
last told, the lease stays closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Revoked, Transferred
from targets.clock import FOREVER_NS
from targets.cluster import Role
from targets.leasekv.messages import Op, TimeoutNow
from targets.leasekv.views import HandoverView

from .state import Handover

if TYPE_CHECKING:
    from .replication import Replication
    from .state import State
    from .writes import Writes


class Transfer:
    """The transfers of one leadership, one at a time."""

    __slots__ = ("_began_ns", "_replication", "_state", "_writes", "due_ns")

    def __init__(self, state: State, replication: Replication, writes: Writes) -> None:
        self._state = state
        self._replication = replication
        self._writes = writes
        self._began_ns = 0
        self.due_ns = FOREVER_NS

    def begin(self, target: str) -> None:
        """Start handing over, if this node leads, ``target`` votes and nothing is under way."""
        state = self._state
        members = state.members
        fit = target in members.others and members.now.lasts(target)
        if state.role is not Role.LEADER or state.handover.target or not fit:
            return
        state.out.fact(Revoked(state.term, "transfer"))
        state.out.fact(Transferred(state.term, target, "started"))
        # What an earlier target was told stands until a no-op takes it back, so it is kept.
        state.handover = Handover(target, state.handover.told_ns)
        self._began_ns = state.reading.mono_ns
        self.due_ns = self._began_ns + state.config.election_ns
        self.tell()

    def end(self) -> None:
        """Forget it all, leadership being over."""
        self._state.handover = Handover()
        self.due_ns = FOREVER_NS

    def tell(self) -> None:
        """Tell the target to campaign if it has everything; the heartbeat repeats it."""
        state = self._state
        handover = state.handover
        if handover.target is None or not self._replication.has_all(handover.target):
            return
        if handover.told_ns is None:
            state.out.fact(Transferred(state.term, handover.target, "told"))
        handover.told_ns = state.reading.mono_ns
        word = TimeoutNow(state.term, state.log.last_index, state.log.last_term)
        state.out.send(handover.target, word)

    def expire(self) -> None:
        """Give up after E; what was said is taken back by an entry that the target does not have."""
        state = self._state
        if state.reading.mono_ns < self.due_ns:
            return
        handover = state.handover
        assert handover.target is not None, "what has a deadline is under way"
        election_ns = state.config.election_ns
        if not state.rules.gives_up(HandoverView(state.reading.mono_ns - self._began_ns, election_ns)):
            self.due_ns = state.reading.mono_ns + election_ns
            return
        state.out.fact(Transferred(state.term, handover.target, "given-up"))
        handover.target = None
        self.due_ns = FOREVER_NS
        if handover.told_ns is not None:
            handover.noop_index = self._writes.append(Op.NOOP)
            self._replication.replicate()
