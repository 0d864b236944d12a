"""What a leader appends, who waits for it, and applying what is committed.

A write is answered once it is applied, an acquisition of a lock perhaps by a later entry. A leader that
steps down cannot know what becomes of what it has appended: such writes are UNCERTAIN, the one
indefinite code. Before anything was appended the codes are definite.

The apply delay is a tester's knob: entries are applied that long after the node learned that they are
committed, in order.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from checker.events import Served
from checker.evidence import Appended, Applied, Refused
from targets.clock import FOREVER_NS
from targets.cluster import Role
from targets.leasekv.messages import Code, Entry, Op, Response, Snapshot
from targets.leasekv.views import ProgressView, SightView

from .commit_wait import CommitWait
from .machine.machine import Machine

if TYPE_CHECKING:
    from targets.leasekv.messages import Key, Request

    from .machine.locks import Answer
    from .pending import PendingRead
    from .state import State


class Waiter(msgspec.Struct, frozen=True, gc=False):
    """A client that waits for its entry to be applied."""

    client: int
    id: int


class Writes:
    """Entries of this leadership that somebody waits for, and the state machine.

    ``due_ns`` is when committed entries that were put off are to be applied.
    """

    __slots__ = (
        "_delay_ns", "_due", "_moved_ns", "_reads", "_state", "_waiting", "due_ns", "machine", "told",
    )  # fmt: skip

    def __init__(self, state: State) -> None:
        self._state = state
        self._waiting: dict[int, Waiter] = {}
        self._reads: dict[int, PendingRead] = {}
        self._due: deque[tuple[int, int]] = deque()
        self._delay_ns = 0
        self._moved_ns = 0
        self.due_ns = FOREVER_NS
        self.machine = Machine(state.rules.fencing)
        self.told = CommitWait(state)

    def __len__(self) -> int:
        """Return how many clients wait for a write; who reads is in the table of reads."""
        return len(self._waiting) + len(self.told.answers)

    # Appending.

    def ask(self, client: int, request: Request) -> bool:
        """Append a client's write, or refuse it; return whether it was appended."""
        state = self._state
        if state.role is not Role.LEADER:
            self._refuse(client, request.id, Code.NOT_LEADER)
            return False
        if not self.open:
            self._refuse(client, request.id, Code.NOT_READY)
            return False
        if self.full():
            self._refuse(client, request.id, Code.OVERLOADED)
            return False
        self.append(request.op, request.key, request.value, Waiter(client, request.id))
        return True

    @property
    def open(self) -> bool:
        """Whether a leader appends what it is asked to."""
        state = self._state
        timeless = state.rules.stamps_writes and state.moment.span is None
        opening = not (state.rules.writes_at_once or state.may_read)
        return not (state.handover.target is not None or opening or timeless)

    def full(self) -> bool:
        """Whether too much is uncommitted for another entry."""
        state = self._state
        return state.log.last_index - state.commit_index >= state.config.limits.uncommitted_max

    def append(
        self, op: Op, key: Key = None, value: Any = None, waiter: Waiter | PendingRead | None = None
    ) -> int:
        """Append an entry of this leader's term and return its index."""
        state = self._state
        span = state.moment.span
        early_ns, late_ns = (None, None) if span is None else (span.earliest_ns, span.latest_ns)
        if late_ns is not None and state.rules.stamps_writes:
            late_ns = max(late_ns, (state.log.stamped_ns or 0) + 1)
        entry = Entry(state.log.last_index + 1, state.term, op, key, value, early_ns, late_ns)
        state.log.append(entry)
        state.out.store((entry,))
        if early_ns is not None and late_ns is not None:
            state.out.fact(Appended(entry.term, entry.index, key, early_ns, late_ns))
        if op is Op.CONFIG and state.members.take((entry,)):
            state.out.fact(state.members.fact(state.term))
        match waiter:
            case Waiter():
                self._waiting[entry.index] = waiter
            case None:
                pass
            case read:
                self._reads[entry.index] = read
        return entry.index

    def abandon(self) -> None:
        """Tell every client that nobody knows, leadership being over; reads are told elsewhere."""
        for waiter in self._waiting.values():
            self._refuse(waiter.client, waiter.id, Code.UNCERTAIN)
        self._waiting.clear()
        self._reads.clear()

    def forget_client(self, client: int) -> None:
        """Nobody hears the answers to ``client`` any more."""
        gone = [index for index, waiter in self._waiting.items() if waiter.client == client]
        for index in gone:
            del self._waiting[index]
        self.told.forget_client(client)

    def _refuse(self, client: int, request_id: int, code: Code) -> None:
        state = self._state
        state.out.fact(Refused(state.term, code.value))
        state.out.reply(client, Response(request_id, code, None, state.leader))

    # Applying.

    def _look_ahead(self) -> None:
        self.due_ns = self._due[0][0] if self._due else FOREVER_NS

    @property
    def stuck(self) -> bool:
        """Whether what is committed has waited to be applied for longer than the rules put up with."""
        if not self._due:
            return False
        state = self._state
        view = ProgressView(state.reading.mono_ns - self._moved_ns, state.config.election_ns)
        return not state.rules.makes_progress(view)

    def set_delay(self, delay_ns: int) -> None:
        """Apply this late from now on; what waits longer than that waits less."""
        self._delay_ns = delay_ns
        latest_ns = self._state.reading.mono_ns + delay_ns
        self._due = deque((min(due_ns, latest_ns), index) for due_ns, index in self._due)
        self._look_ahead()

    def committed(self) -> None:
        """Take note that the commit index has moved."""
        if not self._due:
            self._moved_ns = self._state.reading.mono_ns
        self._due.append((self._state.reading.mono_ns + self._delay_ns, self._state.commit_index))
        self._look_ahead()

    def install(self, snapshot: Snapshot) -> None:
        """Stand where a leader stood: everything up to its snapshot is committed and applied."""
        state = self._state
        self.machine.restore(snapshot.machine)
        state.commit_index = state.applied_index = snapshot.index
        self._due.clear()
        self._look_ahead()
        state.members.restart(snapshot.index, snapshot.membership)
        state.out.fact(state.members.fact(state.term))
        state.out.fact(Applied(state.term, snapshot.index, snapshot.term))

    def snapshot(self) -> Snapshot:
        """Return what has been applied so far."""
        state = self._state
        term = state.log.term_at(state.applied_index)
        assert term is not None, "what was applied is in the log or is where it begins"
        membership = state.members.at(state.applied_index)
        stamped_ns = state.log.stamped_ns
        return Snapshot(state.applied_index, term, membership, stamped_ns, self.machine.snapshot())

    def seen(self, key: Key) -> tuple[Any, int]:
        """Return the value of ``key`` as far as the rules let a read see, and how far that is."""
        state = self._state
        applied, log = state.applied_index, state.log
        until = state.rules.sees_until(SightView(applied, log.last_index))
        if until <= applied:
            return self.machine.read(key), applied
        return self.machine.foresee(key, map(log.entry, range(applied + 1, until + 1))), until

    def apply_due(self) -> list[tuple[PendingRead, Any]]:
        """Apply what is due; return the reads that went through the log, with what they found."""
        state = self._state
        first = state.applied_index + 1
        found: list[tuple[PendingRead, Any]] = []
        while self._due and self._due[0][0] <= state.reading.mono_ns:
            until = self._due.popleft()[1]
            self._moved_ns = state.reading.mono_ns
            for index in range(state.applied_index + 1, until + 1):
                self._apply(state.log.entry(index), found)
        self._look_ahead()
        self._tell_applied(first)
        return found

    def _tell_applied(self, first: int) -> None:
        """Write how far it is applied, and where each term in it begins and ends.

        Terms never fall along a log, so these places say the term of every entry.
        """
        state = self._state
        log, last = state.log, state.applied_index
        for index in range(first, last + 1):
            term = log.term_at(index) or 0
            if index == last or not log.term_at(index - 1) == term == log.term_at(index + 1):
                state.out.fact(Applied(state.term, index, term))

    def _apply(self, entry: Entry, found: list[tuple[PendingRead, Any]]) -> None:
        state = self._state
        answers = self.machine.apply(entry)
        state.applied_index = entry.index
        for fact in self.machine.told():
            state.out.fact(fact)
        for answer in answers:
            if (waiter := self._waiting.pop(answer.to, None)) is not None:
                self._answer(waiter, entry, answer)
            if (read := self._reads.pop(answer.to, None)) is not None:
                found.append((read, answer.value))

    def _answer(self, waiter: Waiter, entry: Entry, answer: Answer) -> None:
        """Tell a client what ``entry``, its own or a later one, has brought about for it."""
        state = self._state
        stamp_ns = entry.latest_ns if state.rules.stamps_writes and answer.code is None else None
        served = Served(None, state.term, None, None, entry.index, stamp_ns)
        response = Response(waiter.id, answer.code, answer.value, state.leader, served)
        if stamp_ns is None:
            state.out.reply(waiter.client, response)
        else:
            self.told.hold(stamp_ns, entry.index, waiter.client, response)
