"""Votes and campaigns.

While its promise binds, a node refuses votes without looking at the term (F2) and does not campaign,
since a campaign is a vote for oneself (F3). Only the leader it was made to can set the node free, by a
token that names the node's own term (L9).

A campaign asks first whether it would win (pre-vote: nothing is remembered, no term moves), then in
earnest. A node counts its own vote once its disk has it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from checker.evidence import Voted
from targets.cluster import Role
from targets.leasekv.messages import RequestVote, VoteReply

from .old_leases import OldLeases
from .promise import Promise

if TYPE_CHECKING:
    from .state import State

LEASE: Final = "lease"
TERM: Final = "term"
LOG: Final = "log"
VOTED: Final = "voted"


class Stage(Enum):
    """How far a campaign has come."""

    NONE = "none"
    ASKING = "asking"
    VOTING = "voting"


class Election:
    """One node's timer, its votes and its campaign."""

    __slots__ = (
        "_granted", "_own_vote_seq", "_state", "_timeout_ns",
        "due_ns", "old_leases", "promise", "stage",
    )  # fmt: skip

    def __init__(self, state: State, *, brand_new: bool) -> None:
        self._state = state
        self.promise = Promise(state, brand_new=brand_new)
        self.old_leases = OldLeases(state, brand_new=brand_new)
        self.stage = Stage.NONE
        self._granted: set[str] = set()
        self._own_vote_seq = 0
        self.draw_timeout()
        self.rest()

    # The timer.

    def draw_timeout(self) -> None:
        """Choose this node's next election timeout; once per change of role or term is enough."""
        config = self._state.config
        self._timeout_ns = config.election_ns + self._state.rng.randint(0, config.election_jitter_ns)

    def rest(self) -> None:
        """Start the timer again."""
        self.due_ns = self._state.reading.mono_ns + self._timeout_ns

    def wait_out_promise(self) -> None:
        """Try again when the promise, which binds now that the timer has run out, does not."""
        self.due_ns = self.promise.look_again_ns()

    def heard(self, leader: str, round_: int, told_ns: int | None) -> None:
        """Take a leader's round: promise it silence, if it renews that, and put the own campaign off."""
        self.old_leases.heard(leader)
        if self._state.rules.renews:
            self.promise.give(leader, round_, told_ns)
        self.rest()

    # Votes for others.

    def refusal_untouched(self, ask: RequestVote) -> str | None:
        """Why not, as far as it can be told without moving to the asked term; None: go on."""
        if self.promise.binds() and not self._set_free(ask):
            return LEASE
        if ask.term < self._state.term or (ask.pre and ask.term == self._state.term):
            return TERM
        return None

    def _set_free(self, ask: RequestVote) -> bool:
        return ask.token_term == self._state.term and ask.term == self._state.term + 1

    def refusal(self, candidate: str, ask: RequestVote) -> str | None:
        """Why not, now that the term is no obstacle; None: granted."""
        state = self._state
        if not state.log.as_good_as(ask.last_index, ask.last_term):
            return LOG
        if not ask.pre and state.voted_for not in {None, candidate}:
            return VOTED
        return None

    def answer(self, candidate: str, ask: RequestVote, refused: str | None) -> None:
        """Say it. A vote is said once it is durable and puts the node's own campaign off (F6)."""
        state = self._state
        granted = refused is None
        self._note(candidate, pre=ask.pre, refused=refused, token=ask.token_term is not None)
        if granted and not ask.pre:
            if state.voted_for is None:
                state.remember(state.term, candidate)
            self.rest()
        left_ns = self.old_leases.left_ns(candidate)
        reply = VoteReply(ask.term if granted else state.term, ask.pre, granted, refused, left_ns)
        if ask.pre:
            state.out.send(candidate, reply)
        else:
            state.out.send_once_durable(candidate, reply, state.hard_seq)

    # Own campaign.

    def ask_first(self) -> bool:
        """Ask whether the others would vote; return whether that is already enough."""
        state = self._state
        self._begin(Stage.ASKING)
        self._note(state.config.node, pre=True, refused=None)
        self._granted.add(state.config.node)
        self._ask(RequestVote(state.term + 1, True, state.log.last_index, state.log.last_term))
        return self._enough()

    def vote(self, token_term: int | None) -> None:
        """Vote for oneself in the term just entered and ask the others, once that is durable."""
        state = self._state
        self._begin(Stage.VOTING)
        self._note(state.config.node, pre=False, refused=None, token=token_term is not None)
        self._own_vote_seq = state.hard_seq
        ask = RequestVote(state.term, False, state.log.last_index, state.log.last_term, token_term)
        self._ask(ask)

    def refuse_oneself(self) -> None:
        """Note that the node's own promise forbade it to campaign."""
        self._note(self._state.config.node, pre=True, refused=LEASE)

    def _note(self, candidate: str, *, pre: bool, refused: str | None, token: bool = False) -> None:
        term, granted = self._state.term, refused is None
        bound_ns, left_ns = self.promise.mono_until_ns, self.old_leases.left_ns(candidate)
        fact = Voted(term, candidate, pre, granted, refused, token, bound_ns, left_ns)
        self._state.out.fact(fact)

    def end(self) -> None:
        """End the campaign, won or lost."""
        self.stage = Stage.NONE
        self._granted.clear()

    def count(self, peer: str, reply: VoteReply) -> bool:
        """Count an answer; return whether this stage of the campaign is won by it."""
        state = self._state
        if not reply.granted:
            return False
        asked = (
            self.stage is Stage.ASKING and reply.pre and reply.term == state.term + 1,
            self.stage is Stage.VOTING and not reply.pre and reply.term == state.term,
        )
        if not any(asked):
            return False
        self._granted.add(peer)
        self.old_leases.told(reply.lease_ns)
        return self._enough()

    def count_own(self) -> bool:
        """Count the node's own vote if the disk has it; return whether the campaign is won by it."""
        state = self._state
        if self.stage is not Stage.VOTING or state.out.durable_seq < self._own_vote_seq:
            return False
        self._granted.add(state.config.node)
        return self._enough()

    def _begin(self, stage: Stage) -> None:
        self.stage = stage
        self._granted.clear()
        self.draw_timeout()
        self.rest()

    def _ask(self, ask: RequestVote) -> None:
        state = self._state
        for peer in state.members.others:
            if ask.pre:
                state.out.send(peer, ask)
            else:
                state.out.send_once_durable(peer, ask, state.hard_seq)

    def _enough(self) -> bool:
        state = self._state
        return state.role is not Role.LEADER and state.members.now.agree(self._granted)
