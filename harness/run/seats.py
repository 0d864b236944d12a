"""The client seats: who has an operation in flight, what becomes of an answer, and who may go on.

What lives here: which process sits where, and how an operation ends. What never does: a phase, a fault,
a socket, a clock. A *seat* is a place at the cluster, taken by one process after another: a process
whose operation ended unknown is retired, and its seat goes on with a new one. A *probe* asks what the
nemesis wants to know, from a seat at which nothing else is done. What there is to do comes from a
`Supply`.

Every call returns its effects as they come about: they are to be carried out one by one, before the
next is asked for. What is done about an `Ended` (the nemesis may probe at once) comes before what its
seat does next, in the history too.

A session or a workload that raises leaves its seat empty for good; the others go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.events import EventType
from nemesis.ports import Completed
from targets.session import Answered, Close, Completion, DeadlinePassed, Done, Session, SessionEffect

from .alarms import Alarms
from .ports import AddEvent, Failed, ForProcess
from .supply import Supply, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nemesis.ports import Probe
    from targets.session import SessionInput

    from .recorder import Recorder


class Seat(msgspec.Struct, eq=False):
    """A place at the cluster and the process that has it now; ``slot`` None is one that only probes."""

    process: int
    session: Session
    slot: int | None
    node: str = ""
    task: Task | None = None
    invoked_ns: int = 0
    probe: int | None = None


class Ended(msgspec.Struct, frozen=True):
    """An operation invoked at ``invoked_ns`` ended."""

    completed: Completed
    invoked_ns: int


SeatEffect = ForProcess | AddEvent | Ended | Failed


class Seats:
    """See the module."""

    def __init__(self, supply: Supply, *, session: Callable[[], Session], recorder: Recorder) -> None:
        self._supply = supply
        self._session = session
        self._recorder = recorder
        self._seated = [Seat(recorder.new_process(), session(), slot) for slot in supply.slots]
        self._by_process = {seat.process: seat for seat in self._seated}
        self._alarms = Alarms()

    @property
    def wake_ns(self) -> int | None:
        """When to call `wake`; None while nobody waits for a time."""
        soonest, final_ns = self._alarms.soonest(), self._supply.final.due_ns
        if final_ns is not None and any(seat.task is None for seat in self._seated):
            return final_ns if soonest is None else min(soonest, final_ns)
        return soonest

    def renew(self) -> None:
        """Look at everybody again: what is handed out has changed."""
        for seat in self._by_process.values():
            self._set_alarm(seat)

    def _set_alarm(self, seat: Seat) -> None:
        """Have a seat looked at in time: at its deadline, or for its next operation."""
        wake_ns = seat.session.wake_ns
        if wake_ns is None:
            wake_ns = self._supply.due_ns(seat.slot)
        self._alarms.set(seat.process, wake_ns)

    # What happens.

    def wake(self, now_ns: int) -> Iterator[SeatEffect]:
        """Let everybody go on whose time has come."""
        for process in self._alarms.due(now_ns):
            seat = self._by_process[process]
            if seat.session.wake_ns is None:
                yield from self._go_on(seat, now_ns)
            else:
                yield from self._tell(seat, DeadlinePassed(), now_ns)
        if self._supply.owed:
            yield from self.go_on(now_ns)

    def go_on(self, now_ns: int) -> Iterator[SeatEffect]:
        """Let everybody go on who is free, if there is something to do."""
        for seat in self._seated:
            yield from self._go_on(seat, now_ns)

    def tell(self, process: int, told: SessionInput, now_ns: int) -> Iterator[SeatEffect]:
        """Take what happened on a process's connection; nobody hears what comes after it has left."""
        seat = self._by_process.get(process)
        if seat is not None:
            yield from self._tell(seat, told, now_ns)

    def probe(self, asked: Probe, now_ns: int) -> Iterator[SeatEffect]:
        """Start a probe by a process that does nothing else, on an open connection if there is one.

        A node that comes out of a freeze takes what waits on its connections before it takes new ones;
        a probe that had to dial would come too late to see what the node believed at that instant.
        """
        task = self._supply.probe(asked)
        idle = (each for each in self._by_process.values() if each.slot is None and each.task is None)
        seat = next((each for each in idle if each.node == asked.node), None)
        if seat is None:
            seat = Seat(self._recorder.new_process(), self._session(), None)
            self._by_process[seat.process] = seat
        seat.probe = asked.id
        yield from self._start(seat, task, now_ns)

    def _go_on(self, seat: Seat, now_ns: int) -> Iterator[SeatEffect]:
        """Start the seat's next operation, if there is one and it is time."""
        if seat.slot is None or seat.task is not None:
            return
        try:
            task = self._supply.take(seat.slot, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            yield from self._vacate(seat, "the workload broke", now_ns, error)
            return
        if task is not None:
            yield from self._start(seat, task, now_ns)

    def _start(self, seat: Seat, task: Task, now_ns: int) -> Iterator[SeatEffect]:
        seat.task, seat.node, seat.invoked_ns = task, task.node, now_ns
        call, node = task.call, task.node
        yield AddEvent(self._recorder.invoke(seat.process, call, node=node, now_ns=now_ns))
        try:
            wanted = seat.session.invoke(call, node, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            yield from self._vacate(seat, f"the client broke at {call.f}", now_ns, error)
            return
        yield from self._perform(seat, wanted, now_ns)

    def _tell(self, seat: Seat, told: SessionInput, now_ns: int) -> Iterator[SeatEffect]:
        if isinstance(told, Answered):
            self._supply.final.heard(seat.node)
        try:
            wanted = seat.session.step(told, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            yield from self._vacate(seat, f"the client broke at {type(told).__name__}", now_ns, error)
            return
        yield from self._perform(seat, wanted, now_ns)

    def _perform(self, seat: Seat, wanted: Iterable[SessionEffect], now_ns: int) -> Iterator[SeatEffect]:
        for effect in wanted:
            if isinstance(effect, Done):
                yield from self._ended(seat, effect.completion, now_ns)
            else:
                yield ForProcess(seat.process, effect)
        if seat.process in self._by_process:
            self._set_alarm(seat)

    # How operations end.

    def _ended(self, seat: Seat, completion: Completion, now_ns: int) -> Iterator[SeatEffect]:
        task, node = seat.task, seat.node
        if task is None:
            yield from self._vacate(seat, "the client ended an operation it was not given", now_ns)
            return
        call = task.call
        yield AddEvent(self._recorder.complete(seat.process, completion, node=node, now_ns=now_ns))
        seat.task = None
        if completion.unexpected is not None:
            what = f"unexpected response of {node} to {call.f}: {completion.unexpected}"
            yield Failed(what, kind=f"unexpected response to {call.f}")
        self._supply.ended(seat.slot, task, completion, now_ns)
        if completion.type is EventType.INFO:
            yield from self._retire(seat)
        term = completion.evidence.term if completion.evidence is not None else None
        told = Completed(call.f, call.key, completion.value, completion.type, node, term, seat.probe)
        yield Ended(told, seat.invoked_ns)
        yield from self._go_on(seat, now_ns)

    def _retire(self, seat: Seat) -> Iterator[SeatEffect]:
        """Let the process go; its seat, if it has one, is taken by a new one."""
        yield self._leave(seat)
        if seat.slot is not None:
            seat.process, seat.session = self._recorder.new_process(), self._session()
            self._by_process[seat.process] = seat

    def _leave(self, seat: Seat) -> ForProcess:
        del self._by_process[seat.process]
        self._alarms.set(seat.process, None)
        return ForProcess(seat.process, Close())

    def _vacate(
        self, seat: Seat, failure: str, now_ns: int, error: Exception | None = None
    ) -> Iterator[SeatEffect]:
        """Leave a seat empty for good: its client or its workload raised, or is not to be followed."""
        if error is None:
            yield Failed(failure)
        else:
            yield Failed(f"{failure}: {error!r}", bug=error)
        yield self._leave(seat)
        if seat in self._seated:
            self._seated.remove(seat)
        if seat.task is not None:
            call, seat.task = seat.task.call, None
            kind = EventType.FAIL if call.f == "read" else EventType.INFO
            completion, node = Completion(kind, call.value, "harness-failure"), seat.node
            yield AddEvent(self._recorder.complete(seat.process, completion, node=node, now_ns=now_ns))
