"""The node's core: ``step(input, reading) -> Ready``. It decides and does nothing.

This module only dispatches: it looks at the clocks first and tells the parts what happened. Which part
decides what:

* `Roles`: terms, and who becomes what;         * `Replication`: rounds and logs of the others;
* `Election`: promises, votes, campaigns;       * `Lease`: what acknowledgements are worth;
* `Writes`: appending and applying;             * `Reads`: how a read is answered;
* `Transfer`: handing leadership over;           * `Change`: who takes part;
* `Compaction`: snapshots;                       * `OneShot`: leases that nothing renews;
* `Sessions`: whose locks are over.

Order within a step. Clocks before everything: an anomaly voids the lease before this very input could
be served from it (L11). A higher term, or a quorum lost, ends leadership with all it supported before
anything else is handled (L6, L7). A step ends with applying what is due, confirming reads and naming
the next wake-up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from checker.evidence import Booted, ClockAnomaly, Refused, Revoked, Slept, Synced
from targets.clock import FOREVER_NS
from targets.cluster import Role, Roster
from targets.leasekv.buckets import Buckets
from targets.leasekv.messages import (
    Append,
    AppendReply,
    Code,
    IndexReply,
    IndexRequest,
    Install,
    LeaseGrant,
    LeaseRequest,
    Op,
    PeerMessage,
    Request,
    RequestVote,
    Response,
    TimeoutNow,
    VoteReply,
)
from targets.leasekv.ports import (
    Asked,
    CampaignNow,
    ClientGone,
    HandOver,
    Input,
    Order,
    PeerGone,
    Persisted,
    Ready,
    Received,
    Reconfigure,
    Restored,
    SetApplyDelay,
    TimerDue,
    TimeTold,
)
from targets.leasekv.views import ClockView

from .change import Change
from .compaction import Compaction
from .election import Election, Stage
from .follower import refuse_append, take_append
from .lease import Lease
from .log_lease import LogLease
from .oneshot import OneShot
from .reads import Reads
from .replication import Replication
from .roles import Roles
from .sessions import Sessions
from .state import found
from .transfer import Transfer
from .writes import Writes

if TYPE_CHECKING:
    from random import Random

    from targets.clock import Reading
    from targets.leasekv.config import NodeConfig
    from targets.leasekv.rules import Rules


SLEPT_MIN_NS: Final = 1_000_000
"""Two clocks that are read one after the other part by less, without anybody having slept."""

FOR_CLIENTS: Final = frozenset(
    {Op.READ, Op.WRITE, Op.CAS, Op.DELETE, Op.ACQUIRE, Op.RENEW, Op.RELEASE, Op.STORE}
)


class CoreStatus(msgspec.Struct, frozen=True):
    """What a node knows of itself. ``lease_remaining_ns`` is None where it believes in no lease."""

    role: Role
    term: int
    leader: str | None
    commit_index: int
    applied_index: int
    lease_remaining_ns: int | None
    boot: int
    members: Roster
    handing_over_to: str | None


class CoreFigures(msgspec.Struct, frozen=True):
    """What only the core can count; ``uncertain_ns`` is half the span it takes the time to be in."""

    promise_remaining_ns: int
    uncertain_ns: int | None
    rejected: dict[Code, int]
    waited_s: Buckets


class Core:
    """One node of leasekv, without a clock, a socket or a disk.

    ``wake_ns`` is when, on the node's monotonic clock, `TimerDue` would do something next. What boot
    itself has to say leaves with the first step's Ready; the first wake-up is due at once.
    """

    def __init__(
        self, config: NodeConfig, rules: Rules, restored: Restored, rng: Random, reading: Reading
    ) -> None:
        self._state = state = found(config, rules, restored, rng, reading)
        log, snapshot = state.log, restored.snapshot
        brand_new = restored.hard.term == 0 and log.last_index == 0
        self._election = Election(state, brand_new=brand_new)
        self._writes = Writes(state)
        if snapshot is not None:
            self._writes.machine.restore(snapshot.machine)
        self._lease = LogLease(state, self._writes) if rules.in_log else Lease(state)
        self._compaction = Compaction(state, self._writes)
        self._replication = Replication(state, self._writes)
        self._one_shot = OneShot(state, self._lease, self._election.promise)
        self._reads = Reads(state, self._lease, self._replication, self._writes)
        self._sessions = Sessions(state, self._writes)
        self._change = Change(state, self._replication, self._writes)
        self._transfer = Transfer(state, self._replication, self._writes)
        self._roles = Roles(
            state,
            self._election,
            self._lease,
            self._replication,
            self._transfer,
            self._one_shot,
            self._writes,
            self._reads,
        )
        self._sample_due_ns = reading.mono_ns
        self.wake_ns = reading.mono_ns
        state.out.fact(Booted(restored.boot, restored.hard.term))
        state.out.fact(state.members.fact(restored.hard.term))

    def step(self, event: Input, reading: Reading) -> Ready:
        """Take one input at one reading of the node's clocks; return what is to be done."""
        self._look_at_clocks(reading)
        match event:
            case Received():  # what comes most comes first, and nothing is taken apart: it all adds up
                if event.peer in self._state.config.nodes:
                    self._hear(event.peer, event.message)
            case Asked():
                self._ask(event.client, event.request)
            case Persisted():
                self._persisted(event.seq)
            case TimerDue():
                self._tick()
            case TimeTold(sync):
                self._state.sync = sync
                self._state.out.fact(
                    Synced(self._state.term, sync.earliest_ns, sync.latest_ns, sync.reading.mono_ns)
                )
            case ClientGone(client):
                self._writes.forget_client(client)
                self._reads.forget_client(client)
            case PeerGone(peer):
                self._election.promise.lost(peer)
            case order:
                self._obey(order)
        self._apply()
        if self._writes.told.answers:
            self._writes.told.let_go()
        self._reads.settle()
        return self._flush()

    def _obey(self, order: Order) -> None:
        match order:
            case CampaignNow():
                self._roles.campaign()
            case HandOver(target):
                self._transfer.begin(target)
            case Reconfigure(voters, learners):
                self._change.begin(voters, learners)
            case SetApplyDelay(delay_ns):
                self._writes.set_delay(delay_ns)
            case _:
                assert_never(order)

    def status(self, reading: Reading) -> CoreStatus:
        """Return what the node knows of itself, its lease judged at ``reading``."""
        state = self._state
        return CoreStatus(
            state.role,
            state.term,
            state.leader,
            state.commit_index,
            state.applied_index,
            self._lease.remaining_ns(reading),
            state.boot,
            state.members.told,
            state.handover.target,
        )

    def figures(self, reading: Reading) -> CoreFigures:
        """Return what is counted here, promise and uncertainty judged at ``reading``."""
        span = self._state.moment_of(reading).span
        return CoreFigures(
            self._election.promise.remaining_ns(reading),
            None if span is None else (span.latest_ns - span.earliest_ns) // 2,
            dict(self._reads.rejected),
            self._reads.waited_s,
        )

    # Clocks.

    def _look_at_clocks(self, reading: Reading) -> None:
        state = self._state
        config = state.config
        slept_ns = reading.slept_ns(state.reading)
        view = ClockView(
            state.reading,
            reading,
            slept_ns,
            self.wake_ns,
            config.heartbeat_ns,
            config.clock_step_ns,
            config.drift_ppm,
        )
        if slept_ns > SLEPT_MIN_NS:
            state.out.fact(Slept(state.term, slept_ns))
        state.reading = reading
        anomaly = state.rules.anomaly(view)
        if anomaly is None:
            return
        state.out.fact(ClockAnomaly(state.term, anomaly.kind, anomaly.size_ns))
        if state.role is Role.LEADER:
            state.out.fact(Revoked(state.term, anomaly.kind))
            self._lease.void(self._replication.last_round + 1)
            self._one_shot.end()

    def _tick(self) -> None:
        state = self._state
        now_ns = state.reading.mono_ns
        if now_ns >= self._sample_due_ns:
            self._sample_due_ns = now_ns + state.config.sample_ns
            state.sampled = state.moment
        self._transfer.expire()
        self._one_shot.go_on()
        if state.role is Role.LEADER:
            self._maybe_commit()
            if now_ns >= self._replication.heartbeat_ns:
                self._check_quorum(now_ns)
        elif now_ns >= self._election.due_ns:
            if self._election.promise.binds():
                self._election.wait_out_promise()
            elif self._writes.stuck:
                self._election.rest()
            else:
                self._roles.campaign()
        self._reads.expire()

    def _check_quorum(self, now_ns: int) -> None:
        # L8, for liveness only: a leader nobody follows makes room, and its clients are told. So does
        # one that gets nothing done, however well it is followed.
        if self._replication.followed_ns() < now_ns - 2 * self._state.config.election_ns:
            self._roles.follow(self._state.term, None, reason="quorum")
        elif self._writes.stuck:
            self._roles.follow(self._state.term, None, reason="stuck")
        else:
            self._state.ticked_ns += self._state.config.heartbeat_ns
            self._lease.renew()
            self._sessions.look()
            self._replication.beat()
            self._transfer.tell()

    # Peers.

    def _hear(self, peer: str, message: PeerMessage) -> None:
        match message:
            case AppendReply():
                self._hear_ack(peer, message)
            case Append() | Install():
                self._hear_leader(peer, message)
            case IndexRequest():
                if message.term > self._state.term:
                    self._roles.follow(message.term, None, reason="term")
                self._reads.ask_for_index(peer, message)
            case IndexReply():
                self._reads.index_known(message)
            case LeaseRequest():
                self._one_shot.asked(peer, message)
            case LeaseGrant():
                self._one_shot.granted(peer, message)
            case ballot:
                self._hear_ballot(peer, ballot)

    def _hear_ballot(self, peer: str, message: RequestVote | VoteReply | TimeoutNow) -> None:
        match message:
            case RequestVote():
                self._roles.hear_candidate(peer, message)
            case VoteReply():
                self._roles.hear_vote(peer, message)
            case TimeoutNow():
                self._roles.take_over(peer, message)
            case _:
                assert_never(message)

    def _hear_leader(self, peer: str, message: Append | Install) -> None:
        state = self._state
        if message.term < state.term:
            refuse_append(state, peer, message)
            return
        if message.term > state.term or state.leader != peer:
            assert state.role is not Role.LEADER or message.term > state.term, "one leader a term"
            self._roles.follow(message.term, peer, reason="term")
        elif self._election.stage is not Stage.NONE:
            self._election.end()
        told_ns = message.told_ns if isinstance(message, Append) else None
        self._election.heard(peer, message.round, told_ns)
        if isinstance(message, Install):
            self._compaction.install(peer, message)
            self._reads.applied()
            return
        before = state.commit_index
        take_append(state, peer, message)
        if state.commit_index > before:
            self._writes.committed()

    def _hear_ack(self, peer: str, reply: AppendReply) -> None:
        state = self._state
        if reply.term > state.term:
            self._roles.follow(reply.term, None, reason="term")
        if reply.term != state.term or state.role is not Role.LEADER:
            return
        sent_at = self._replication.acknowledged(peer, reply)
        if sent_at is not None and state.rules.renews:
            self._lease.credit(peer, reply.round, sent_at)
        if state.handover.told_ns is None:
            self._transfer.tell()
        self._maybe_commit()

    # The log.

    def _persisted(self, seq: int) -> None:
        state = self._state
        state.out.durable(seq)
        state.log.persisted(seq)
        if self._election.count_own():
            self._roles.lead()
        elif state.role is Role.LEADER:
            self._maybe_commit()

    def _maybe_commit(self) -> None:
        state = self._state
        if state.log.last_index == state.commit_index or state.reading.mono_ns < state.commit_from_ns:
            return
        index = self._replication.committable()
        # Only an entry of one's own term commits by counting; older ones follow it.
        if index <= state.commit_index or state.log.term_at(index) != state.term:
            return
        if not self._lease.may_commit():
            return  # the next heartbeat asks again
        opened = state.commit_index < state.noop_index
        state.commit_index = index
        self._writes.committed()
        if opened:
            self._one_shot.go_on()
            self._reads.barrier_passed()
        if self._change.committed():
            self._roles.follow(state.term, None, reason="config")

    def _apply(self) -> None:
        if self._writes.due_ns > self._state.reading.mono_ns:
            return
        for read, value in self._writes.apply_due():
            self._reads.found(read, value)
        self._reads.applied()

    # Clients.

    def _ask(self, client: int, request: Request) -> None:
        state = self._state
        if len(self._reads.table) + len(self._writes) >= state.config.limits.pending_max:
            state.out.fact(Refused(state.term, Code.OVERLOADED.value))
            state.out.reply(client, Response(request.id, Code.OVERLOADED, None, state.leader))
        elif request.op not in FOR_CLIENTS:
            state.out.reply(client, Response(request.id, Code.UNSUPPORTED, None, state.leader))
        elif request.op is Op.READ:
            self._reads.ask(client, request)
        elif self._writes.ask(client, request):
            self._replication.replicate()

    # The end of a step.

    def _flush(self) -> Ready:
        state = self._state
        unsaved = state.out.unsaved
        if unsaved:
            state.log.writing(state.out.pending_seq, unsaved[0].index, unsaved[-1].index)
        if state.applied_index >= self._compaction.due_index:
            self._compaction.compact()
        self.wake_ns = self._next_due_ns()
        return state.out.flush()

    def _next_due_ns(self) -> int:
        state, writes = self._state, self._writes
        leads = state.role is Role.LEADER
        waits = leads and state.reading.mono_ns < state.commit_from_ns
        return min(
            self._sample_due_ns,
            self._replication.heartbeat_ns if leads else self._election.due_ns,
            state.commit_from_ns if waits else FOREVER_NS,
            self._reads.table.due_ns,
            writes.due_ns,
            writes.told.due_ns if writes.told.answers else FOREVER_NS,
            self._transfer.due_ns,
            self._one_shot.due_ns,
        )
