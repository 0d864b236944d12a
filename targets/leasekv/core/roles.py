"""Terms and roles: who becomes what, and what ends with it.

Leadership ends before anything else happens: the lease and every round in flight are void, clients are
told what is known of their requests, and only then is the message that ended it handled (L6), so
becoming leader again starts empty. A leader that would grant a vote has thereby dropped its lease first
(L7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Revoked, RoleChanged, TermChanged
from targets.cluster import Role
from targets.leasekv.messages import Op
from targets.leasekv.views import HolderView

from .election import Stage

if TYPE_CHECKING:
    from targets.leasekv.messages import RequestVote, TimeoutNow, VoteReply

    from .election import Election
    from .lease import Lease
    from .log_lease import LogLease
    from .oneshot import OneShot
    from .reads import Reads
    from .replication import Replication
    from .state import State
    from .transfer import Transfer
    from .writes import Writes


class Roles:
    """Moves one node between follower, candidate and leader."""

    __slots__ = (
        "_election",
        "_lease",
        "_one_shot",
        "_reads",
        "_replication",
        "_state",
        "_transfer",
        "_writes",
    )

    def __init__(
        self,
        state: State,
        election: Election,
        lease: Lease | LogLease,
        replication: Replication,
        transfer: Transfer,
        one_shot: OneShot,
        writes: Writes,
        reads: Reads,
    ) -> None:
        self._state = state
        self._election = election
        self._lease = lease
        self._replication = replication
        self._transfer = transfer
        self._one_shot = one_shot
        self._writes = writes
        self._reads = reads

    def follow(self, term: int, leader: str | None, *, reason: str) -> None:
        """Become a follower in ``term``, which is this one or a higher one."""
        state = self._state
        before = state.role
        if before is Role.LEADER:
            self._promise_oneself()
            state.out.fact(Revoked(state.term, reason))
            if not state.rules.may_hold(HolderView(leads=False)):
                self._lease.void(1)
            self._replication.stop()
            self._transfer.end()
            self._one_shot.end()
        state.role = Role.FOLLOWER
        state.leader = leader
        if term > state.term:
            state.remember(term, None)
            state.out.fact(TermChanged(term))
        self._election.end()
        self._election.draw_timeout()
        if before is not Role.FOLLOWER:
            state.out.fact(RoleChanged(state.term, Role.FOLLOWER.value))
        if before is Role.LEADER:
            self._election.rest()
        self._writes.abandon()
        self._reads.abandon()

    def campaign(self) -> None:
        """Ask for leadership, if the node's own promise allows it."""
        state = self._state
        if state.role is Role.LEADER or not state.members.stands(state.commit_index):
            self._election.rest()
        elif self._election.promise.binds():
            self._election.refuse_oneself()
        elif self._election.ask_first():
            self._vote_for_oneself()

    def take_over(self, leader: str, word: TimeoutNow) -> None:
        """Campaign at once, since the leader itself says so and nothing was appended since (L9)."""
        state = self._state
        whole = (word.last_index, word.last_term) == (state.log.last_index, state.log.last_term)
        if state.role is Role.FOLLOWER and leader == state.leader and word.term == state.term and whole:
            self._vote_for_oneself(token_term=state.term)

    def _vote_for_oneself(self, token_term: int | None = None) -> None:
        state = self._state
        state.role = Role.CANDIDATE
        state.leader = None
        state.remember(state.term + 1, state.config.node)
        state.out.fact(TermChanged(state.term))
        state.out.fact(RoleChanged(state.term, Role.CANDIDATE.value))
        self._reads.abandon()
        self._election.vote(token_term)

    def lead(self) -> None:
        """Take up leadership: no lease, and an entry of one's own term to commit before any read."""
        state = self._state
        state.role = Role.LEADER
        state.leader = state.config.node
        state.out.fact(RoleChanged(state.term, Role.LEADER.value))
        state.commit_from_ns = self._election.old_leases.waited_out_ns()
        state.ticked_ns = state.reading.mono_ns
        self._election.end()
        self._lease.begin()
        self._replication.start()
        state.noop_index = self._writes.append(Op.NOOP)
        self._replication.beat()

    def hear_candidate(self, peer: str, ask: RequestVote) -> None:
        """Answer a candidate; the promise is consulted before the term may move (F2)."""
        state = self._state
        if state.role is Role.LEADER:
            self._promise_oneself()
        refused = self._election.refusal_untouched(ask)
        if refused is None:
            if not ask.pre and ask.term > state.term:
                self.follow(ask.term, None, reason="term")
            refused = self._election.refusal(peer, ask)
        self._election.answer(peer, ask, refused)

    def hear_vote(self, peer: str, reply: VoteReply) -> None:
        """Count an answer to one's own campaign."""
        if not reply.granted and reply.term > self._state.term:
            self.follow(reply.term, None, reason="term")
        elif self._election.count(peer, reply):
            if self._election.stage is Stage.ASKING:
                self._vote_for_oneself()
            else:
                self.lead()

    def _promise_oneself(self) -> None:
        self._election.promise.give_since(self._replication.followed_ns())
