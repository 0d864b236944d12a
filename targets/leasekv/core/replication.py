"""A leader's rounds, and how far every peer has come.

Rounds. Whatever a leader sends as `Append` carries a round number that it makes itself, rising through
its term; what leaves in one step for several peers is one round. Per peer the leader remembers when it
sent what is not yet acknowledged, as the whole `Moment`, so that an acknowledgement can be turned into
"this peer followed me at that instant". Acknowledgements of unknown rounds, or of another term, tell
nothing.

Logs. Sending is pipelined: ``next_index`` runs ahead of ``match_index`` and new entries go out at once,
as long as fewer than ``appends_max`` messages with entries are unacknowledged; what comes meanwhile
gathers and leaves with the next acknowledgement. A peer that does not agree is *probed*: one message
at a time, repeated by the heartbeat if lost, until it agrees. One that needs what the log no longer has
is sent a snapshot, again after E if nothing is heard; heartbeats that carry nothing go on meanwhile.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker.evidence import RoundAcked, RoundSent
from targets.leasekv.messages import Append, AppendReply, Install

if TYPE_CHECKING:
    from targets.leasekv.messages import Entry
    from targets.leasekv.moments import Moment

    from .state import State
    from .writes import Writes


@dataclass(slots=True)
class Peer:
    """What the leader knows of one follower.

    ``sent`` are rounds not yet acknowledged with the readings they were sent at; ``ends`` the last
    indexes of unacknowledged messages with entries; ``contact_ns`` when the newest acknowledged round
    was sent, and ``install_ns`` when a snapshot was last sent, on the monotonic clock.
    """

    name: str
    next_index: int
    contact_ns: int
    match_index: int = 0
    acked_round: int = 0
    probing: bool = False
    install_ns: int | None = None
    sent: deque[tuple[int, Moment]] = field(default_factory=deque)
    ends: deque[int] = field(default_factory=deque)


class Replication:
    """The rounds of one leadership. `start` begins a new one."""

    __slots__ = ("_peers", "_state", "_writes", "heartbeat_ns", "last_full_round", "last_round")

    def __init__(self, state: State, writes: Writes) -> None:
        self._state = state
        self._writes = writes
        self._peers: dict[str, Peer] = {}
        self.last_round = 0
        self.last_full_round = 0
        self.heartbeat_ns = 0

    def start(self) -> None:
        """Become a leader: nothing is known of anybody, and everybody is given 2E to answer."""
        self.last_round = 0
        self.last_full_round = 0
        self._state.round_sent = None
        self._peers = {}
        self.follow_members()

    def follow_members(self) -> None:
        """Send to whoever takes part now, and to nobody else."""
        state = self._state
        peers = self._peers
        self._peers = {name: peers.get(name) or self._stranger(name) for name in state.members.others}

    def _stranger(self, name: str) -> Peer:
        state = self._state
        sent: deque[tuple[int, Moment]] = deque(maxlen=state.config.limits.rounds_max)
        return Peer(name, state.log.last_index + 1, state.reading.mono_ns, sent=sent)

    def stop(self) -> None:
        """Stop being one: every round in flight is forgotten."""
        self._peers = {}

    # Out.

    def beat(self) -> None:
        """Send a heartbeat: a round to everybody, with whatever entries they lack."""
        self.heartbeat_ns = self._state.reading.mono_ns + self._state.config.heartbeat_ns
        self._send_round(list(self._peers.values()), probe=True)

    def announce(self) -> None:
        """Send a round to everybody at once, because reads wait for one."""
        self._send_round(list(self._peers.values()), probe=False)

    def replicate(self) -> None:
        """Send new entries at once to whoever can take more."""
        ready = [peer for peer in self._peers.values() if self._may_take(peer) and not peer.probing]
        if ready:
            self._send_round(ready, probe=False)

    def _send_round(self, peers: list[Peer], *, probe: bool) -> None:
        state = self._state
        self.last_round += 1
        state.round_sent = now = state.moment
        if len(peers) == len(self._peers):
            self.last_full_round = self.last_round
        shared: Append | None = None
        for peer in peers:
            if peer.next_index <= state.log.offset:
                self._send(peer, self._snapshot_or_nothing(peer), now)
                continue
            entries: tuple[Entry, ...] = ()
            if self._may_take(peer) and (probe or not peer.probing):
                entries = state.log.slice(peer.next_index, state.config.limits.append_max)
            prev = peer.next_index - 1
            if shared is None or shared.prev_index != prev or len(shared.entries) != len(entries):
                shared = self._append(prev, entries, now)
            self._send(peer, shared, now)
        state.out.fact(RoundSent(state.term, self.last_round))

    def _snapshot_or_nothing(self, peer: Peer) -> Install | Append:
        state = self._state
        now_ns = state.reading.mono_ns
        if peer.install_ns is not None and now_ns < peer.install_ns + state.config.election_ns:
            return Append(state.term, self.last_round, 0, 0, (), state.commit_index)
        peer.install_ns = now_ns
        return Install(state.term, self.last_round, self._writes.snapshot())

    def _may_take(self, peer: Peer) -> bool:
        state = self._state
        unsent = state.log.offset < peer.next_index <= state.log.last_index
        return unsent and len(peer.ends) < state.config.limits.appends_max

    def _append(self, prev: int, entries: tuple[Entry, ...], now: Moment) -> Append:
        state = self._state
        prev_term = state.log.term_at(prev)
        assert prev_term is not None, "a leader sends only what it has"
        told_ns = state.rules.promise_clock.told(now)
        round_, commit = self.last_round, state.commit_index
        return Append(state.term, round_, prev, prev_term, entries, commit, told_ns)

    def _send(self, peer: Peer, message: Append | Install, now: Moment) -> None:
        peer.sent.append((message.round, now))
        if isinstance(message, Append) and message.entries and not peer.probing:
            peer.next_index += len(message.entries)
            peer.ends.append(peer.next_index - 1)
        self._state.out.send(peer.name, message)

    # In.

    def acknowledged(self, name: str, reply: AppendReply) -> Moment | None:
        """Take an answer of this term; return when its round was sent, None if that is not known."""
        state = self._state
        peer = self._peers.get(name)
        if peer is None:
            return None  # it has no part any more
        sent_at = self._sent_at(peer, reply.round)
        if sent_at is not None:
            peer.acked_round = reply.round
            peer.contact_ns = sent_at.reading.mono_ns
            state.out.fact(RoundAcked(state.term, reply.round, name))
        if reply.ok:
            self._agreed(peer, reply.match_index)
        else:
            self._disagreed(peer, reply.conflict_index)
        return sent_at

    @staticmethod
    def _sent_at(peer: Peer, round_: int) -> Moment | None:
        """Take ``round_`` off the list, and the older ones with it: they would prove less."""
        sent = peer.sent
        while sent and sent[0][0] < round_:
            sent.popleft()
        return sent.popleft()[1] if sent and sent[0][0] == round_ else None

    def _agreed(self, peer: Peer, match_index: int) -> None:
        peer.match_index = max(peer.match_index, match_index)
        peer.next_index = max(peer.next_index, peer.match_index + 1)
        peer.probing = False
        while peer.ends and peer.ends[0] <= peer.match_index:
            peer.ends.popleft()
        if self._may_take(peer):
            self._send_round([peer], probe=False)

    def _disagreed(self, peer: Peer, conflict_index: int) -> None:
        if not peer.match_index < conflict_index < peer.next_index:
            return  # answers an older message; what it says is known already
        peer.next_index = conflict_index
        peer.probing = True
        peer.install_ns = None
        peer.ends.clear()
        self._send_round([peer], probe=True)

    # What a majority has.

    def committable(self) -> int:
        """Return the largest index that a majority has on disk; this node counts what its disk has."""
        matches = {name: peer.match_index for name, peer in self._peers.items()}
        return self._backed(matches, own=self._state.log.durable_index)

    def confirmed_round(self) -> int:
        """Return the newest round such that a majority answered it or a later one."""
        rounds = {name: peer.acked_round for name, peer in self._peers.items()}
        return self._backed(rounds, own=self.last_round)

    def followed_ns(self) -> int:
        """Return the last instant at which a majority is known to have followed (monotonic clock)."""
        contacts = {name: peer.contact_ns for name, peer in self._peers.items()}
        return self._backed(contacts, own=self._state.reading.mono_ns)

    def _backed(self, values: dict[str, int], *, own: int) -> int:
        members = self._state.members
        values[members.own] = own
        return members.now.backed(values)

    def has_all(self, name: str) -> bool:
        """Tell whether that peer has every entry of this log on disk."""
        return self._peers[name].match_index == self._state.log.last_index
