"""How a read is answered: lease, then a quorum, then an honest code.

A read tries its paths in order. *lease*: a leader whose lease holds now takes the commit index.
*readindex*: a leader takes the commit index as it was when the read arrived (R4) and waits for a round
sent after that to be answered by a majority (R2, R5); a follower asks its leader for such an index
under a ticket it never used before (R3). *log*: the read becomes an entry. Then the state machine must
have reached the index (R6). A new leader lets reads wait until an entry of its own term is committed
(L1, R1).

Rounds are shared: the first read sends one at once, all that arrive while it is under way wait for the
next, which leaves when the first is confirmed, or with whatever is appended or beaten meanwhile. Or, as
the policy says, every read sends one of its own.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

from checker.events import ReadPath, Served
from checker.evidence import IndexTold, Refused, ServedRead
from targets.cluster import Role
from targets.leasekv.buckets import Buckets
from targets.leasekv.messages import Code, IndexReply, IndexRequest, Op, Response
from targets.leasekv.views import (
    AnswerView,
    AppliedView,
    Barrier,
    BatchView,
    HolderView,
    RoundView,
)

from .pending import PendingRead, Stage, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets.leasekv.messages import Request

    from .lease import Lease
    from .log_lease import LogLease
    from .replication import Replication
    from .state import State
    from .writes import Writes

_FORCED: Final = {
    ReadPath.LEASE: (ReadPath.LEASE,),
    ReadPath.READINDEX: (ReadPath.READINDEX,),
    ReadPath.FOLLOWER: (ReadPath.READINDEX,),
    ReadPath.LOG: (ReadPath.LOG,),
}
_TICKETS_PER_BOOT: Final = 1 << 40


class Reads:
    """The reads of one node. ``rejected`` and ``waited_s`` count for whoever asks."""

    __slots__ = (
        "_asked_round", "_by_round", "_lease", "_replication", "_state", "_ticket", "_tickets",
        "_writes", "rejected", "table", "waited_s",
    )  # fmt: skip

    def __init__(
        self, state: State, lease: Lease | LogLease, replication: Replication, writes: Writes
    ) -> None:
        self._state = state
        self._lease = lease
        self._replication = replication
        self._writes = writes
        self.table = Table()
        self.rejected: Counter[Code] = Counter()
        self.waited_s = Buckets()
        self._by_round: deque[PendingRead] = deque()
        self._asked_round = 0
        self._tickets: dict[int, PendingRead] = {}
        # An answer to a ticket of an earlier life may still be on its way.
        self._ticket = state.boot * _TICKETS_PER_BOOT

    # Arrivals.

    def ask(self, client: int, request: Request) -> None:
        """Take a client's read."""
        state = self._state
        rules_paths = state.rules.paths
        paths = rules_paths if request.path is None else _FORCED[request.path]
        now_ns = state.reading.mono_ns
        late_ns = now_ns + state.config.read_deadline_ns
        read = PendingRead(request.key, client, request.id, None, paths, paths[0], now_ns, late_ns)
        if request.path is ReadPath.LEASE and ReadPath.LEASE not in rules_paths:
            self._fail(read, Code.LEASE_EXPIRED)  # this policy holds none
        else:
            self._route(read)

    def ask_for_index(self, peer: str, request: IndexRequest) -> None:
        """Take a follower's request for an index."""
        state = self._state
        paths = _FORCED[ReadPath.READINDEX]
        now_ns = state.reading.mono_ns
        late_ns = now_ns + state.config.read_deadline_ns
        read = PendingRead(None, 0, request.ticket, peer, paths, paths[0], now_ns, late_ns)
        if state.role is not Role.LEADER:
            self._fail(read, Code.NOT_LEADER)
        elif len(self.table) >= state.config.limits.pending_max:
            self._fail(read, Code.OVERLOADED)
        else:
            self._route(read)

    def _route(self, read: PendingRead) -> None:
        code = Code.NOT_LEADER
        while read.paths:
            read.path = read.paths[0]
            match read.path:
                case ReadPath.LEASE:
                    refused = self._by_lease(read)
                case ReadPath.LOG:
                    refused = self._by_log(read)
                case _:
                    refused = self._by_round_or_ticket(read)
            if refused is None:
                return
            code = refused
            read.paths = read.paths[1:]
        self._fail(read, code)

    # The paths: None if the read is served or waits, else why this way is closed.

    def _by_lease(self, read: PendingRead) -> Code | None:
        if not self._state.rules.may_hold(HolderView(self._state.role is Role.LEADER)):
            return Code.NOT_LEADER
        if not self._take_index(read, self._state.rules.lease_index):
            return None
        checked = self._lease.check(read.key)
        if not checked.granted:
            return Code.LEASE_EXPIRED
        if checked.until_ns is not None:
            read.left_ns = checked.until_ns - checked.read_ns
        self._await_applied(read)
        return None

    def _by_log(self, read: PendingRead) -> Code | None:
        if self._state.role is not Role.LEADER:
            return Code.NOT_LEADER
        if self._state.handover.target is not None:
            return Code.NOT_READY
        if self._writes.full():
            return Code.OVERLOADED
        self.table.wait(read, Stage.LOG)
        read.index = self._writes.append(Op.READ, read.key, None, read)
        self._replication.replicate()
        return None

    def _by_round_or_ticket(self, read: PendingRead) -> Code | None:
        state = self._state
        if state.role is not Role.LEADER:
            if state.rules.answers_alone():
                read.index = state.applied_index
                self._await_applied(read)
                return None
            if state.leader is None:
                return Code.NOT_LEADER
            self._ticket = state.rules.next_ticket(self._ticket)
            read.ticket = self._ticket
            read.path = ReadPath.FOLLOWER
            self._tickets[read.ticket] = read
            self.table.wait(read, Stage.TICKET)
            state.out.send(state.leader, IndexRequest(state.term, read.ticket))
            return None
        if not self._take_index(read, state.rules.read_index):
            return None
        head_index = self._by_round[0].index if self._by_round else None
        read.index = state.rules.index_in_batch(BatchView(read.index, head_index))
        replication = self._replication
        rounds = RoundView(replication.last_round, replication.confirmed_round())
        read.round = state.rules.first_round(rounds)
        self.table.wait(read, Stage.ROUND)
        self._by_round.append(read)
        return None

    def _take_index(self, read: PendingRead, rule: Callable[[Barrier], int | None]) -> bool:
        state = self._state
        index = rule(Barrier(state.commit_index, state.noop_index))
        if index is None:
            self.table.wait(read, Stage.BARRIER)
            return False
        read.index = index
        return True

    # What reads wait for.

    def settle(self) -> None:
        """End a step: go on with reads a majority has confirmed, send a round if others need one."""
        if not self._by_round:
            return
        replication = self._replication
        confirmed = replication.confirmed_round()
        self._take_confirmed(confirmed)
        free = self._asked_round <= confirmed or not self._state.rules.shares_rounds
        if self._by_round and free:
            if self._by_round[-1].round > replication.last_full_round:
                replication.announce()
            self._asked_round = replication.last_full_round
            self._take_confirmed(replication.confirmed_round())

    def _take_confirmed(self, confirmed: int) -> None:
        queue = self._by_round
        answered = self._state.rules.answered
        while queue and answered(AnswerView(queue[0].round, confirmed)):
            read = queue.popleft()
            if read.stage is Stage.ROUND:
                self._await_applied(read)

    def barrier_passed(self) -> None:
        """Start the reads anew that waited for an entry of this leader's own term to be committed."""
        for read in self.table.matching(lambda read: read.stage is Stage.BARRIER):
            self._route(read)

    def index_known(self, reply: IndexReply) -> None:
        """Take the leader's answer to a ticket."""
        read = self._tickets.pop(reply.ticket, None)
        if read is None or read.stage is not Stage.TICKET:
            return
        if reply.index is None:
            self._fail(read, reply.code or Code.NO_QUORUM)
            return
        read.index = reply.index
        self._await_applied(read)

    def applied(self) -> None:
        """Answer the reads whose index the state machine has reached, now that it moved on."""
        applied = self._state.applied_index
        for read in self.table.matching(lambda read: read.stage is Stage.APPLIED):
            if self._state.rules.applied_enough(AppliedView(applied, read.index)):
                self.waited_s.add((self._state.reading.mono_ns - read.waits_ns) / 1e9)
                self._serve(read, *self._writes.seen(read.key))

    def found(self, read: PendingRead, value: Any) -> None:
        """Answer a read whose own entry was applied and found ``value``."""
        if read.stage is Stage.LOG:
            self._serve(read, value, read.index)

    def expire(self) -> None:
        """Answer the reads whose time is over."""
        for read in self.table.late(self._state.reading.mono_ns):
            self._fail(read, read.stage.late)

    def abandon(self) -> None:
        """Leadership or term changed: what rested on it ends now, with a hint if there is one.

        Only reads that have an index from a leader and wait to apply it go on: the index was
        committed, and stays so.
        """
        self._by_round.clear()
        self._asked_round = 0
        self._tickets.clear()
        for read in self.table.matching(_rests_on_leadership):
            self._fail(read, Code.NO_QUORUM if read.stage is Stage.LOG else Code.NOT_LEADER)

    def forget_client(self, client: int) -> None:
        """Nobody hears the answers to ``client`` any more."""
        for read in self.table.matching(lambda read: read.peer is None and read.client == client):
            self._done(read)

    # Answers.

    def _await_applied(self, read: PendingRead) -> None:
        state = self._state
        if read.peer is not None:
            self._tell(read, read.peer, read.index, None)
            self._done(read)
        elif state.rules.applied_enough(AppliedView(state.applied_index, read.index)):
            self._serve(read, *self._writes.seen(read.key))
        else:
            read.waits_ns = state.reading.mono_ns
            self.table.wait(read, Stage.APPLIED)

    def _serve(self, read: PendingRead, value: Any, seen_index: int) -> None:
        state = self._state
        self._done(read)
        index, applied = read.index, state.applied_index
        fact = ServedRead(
            state.term,
            read.path.value,
            read.key,
            index,
            applied,
            read.arrived_ns,
            read.round or None,
            read.ticket or None,
            seen_index,
        )
        state.out.fact(fact)
        served = Served(read.path, state.term, read.left_ns, index, applied)
        state.out.reply(read.client, Response(read.id, None, value, state.leader, served))

    def _fail(self, read: PendingRead, code: Code) -> None:
        state = self._state
        self._done(read)
        if read.peer is not None:
            self._tell(read, read.peer, None, code)
            return
        said = state.rules.when_unsure(code)
        if said is None:
            read.index = state.applied_index
            self._serve(read, *self._writes.seen(read.key))
            return
        self.rejected[said] += 1
        state.out.fact(Refused(state.term, said.value))
        state.out.reply(read.client, Response(read.id, said, None, state.leader))

    def _tell(self, read: PendingRead, peer: str, index: int | None, code: Code | None) -> None:
        term, round_ = self._state.term, read.round or None
        why = None if code is None else code.value
        self._state.out.fact(IndexTold(term, peer, read.id, index, why, read.arrived_ns, round_))
        self._state.out.send(peer, IndexReply(term, read.id, index, code))

    def _done(self, read: PendingRead) -> None:
        self.table.done(read)
        self._tickets.pop(read.ticket, None)


def _rests_on_leadership(read: PendingRead) -> bool:
    return read.stage is not Stage.APPLIED or read.path is not ReadPath.FOLLOWER
