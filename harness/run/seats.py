"""The client seats: who has an operation in flight, what becomes of an answer, and who may go on.

What lives here: which process sits where, and how an operation ends. What never does: a phase, a fault,
a socket, a clock. A *seat* is a place at the cluster, taken by one process after another: a process
whose operation ended unknown is retired, and its seat goes on with a new one. A *probe* asks what the
nemesis wants to know, by a process that has no seat. What there is to do comes from a `Supply`.

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
from targets.session import Close, Completion, DeadlinePassed, Done, Session, SessionEffect

from .alarms import Alarms
from .ports import AddEvent, Failed, ForProcess
from .supply import Supply, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nemesis.ports import Probe
    from targets.session import SessionInput

    from .recorder import Recorder


class Client(msgspec.Struct, eq=False):
    """A seat at the cluster and the process that has it now; ``slot`` None is a probe's."""

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
        self._seated = [Client(recorder.new_process(), session(), slot) for slot in supply.slots]
        self._clients = {client.process: client for client in self._seated}
        self._alarms = Alarms()

    @property
    def wake_ns(self) -> int | None:
        """When to call `wake`; None while nobody waits for a time."""
        soonest, final_ns = self._alarms.soonest(), self._supply.final.due_ns
        if final_ns is not None and any(client.task is None for client in self._seated):
            return final_ns if soonest is None else min(soonest, final_ns)
        return soonest

    def renew(self) -> None:
        """Look at everybody again: what is handed out has changed."""
        for client in self._clients.values():
            self._set_alarm(client)

    def _set_alarm(self, client: Client) -> None:
        """Have a client looked at in time: at its deadline, or for its seat's next operation."""
        wake_ns = client.session.wake_ns
        if wake_ns is None:
            wake_ns = self._supply.due_ns(client.slot)
        self._alarms.set(client.process, wake_ns)

    # What happens.

    def wake(self, now_ns: int) -> Iterator[SeatEffect]:
        """Let everybody go on whose time has come."""
        for process in self._alarms.due(now_ns):
            client = self._clients[process]
            if client.session.wake_ns is None:
                yield from self._go_on(client, now_ns)
            else:
                yield from self._tell(client, DeadlinePassed(), now_ns)
        if self._supply.owed:
            yield from self.go_on(now_ns)

    def go_on(self, now_ns: int) -> Iterator[SeatEffect]:
        """Let everybody go on who is free, if there is something to do."""
        for client in self._seated:
            yield from self._go_on(client, now_ns)

    def tell(self, process: int, told: SessionInput, now_ns: int) -> Iterator[SeatEffect]:
        """Take what happened on a process's connection; nobody hears what comes after it has left."""
        client = self._clients.get(process)
        if client is not None:
            yield from self._tell(client, told, now_ns)

    def probe(self, asked: Probe, now_ns: int) -> Iterator[SeatEffect]:
        """Start a probe by a process that does nothing else, on an open connection if there is one.

        A node that comes out of a freeze takes what waits on its connections before it takes new ones;
        a probe that had to dial would come too late to see what the node believed at that instant.
        """
        task = self._supply.probe(asked)
        idle = (each for each in self._clients.values() if each.slot is None and each.task is None)
        client = next((each for each in idle if each.node == asked.node), None)
        if client is None:
            client = Client(self._recorder.new_process(), self._session(), None)
            self._clients[client.process] = client
        client.probe = asked.id
        yield from self._start(client, task, now_ns)

    def _go_on(self, client: Client, now_ns: int) -> Iterator[SeatEffect]:
        """Start the seat's next operation, if there is one and it is time."""
        if client.slot is None or client.task is not None:
            return
        try:
            task = self._supply.take(client.slot, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            yield from self._vacate(client, f"the workload broke: {error!r}", now_ns)
            return
        if task is not None:
            yield from self._start(client, task, now_ns)

    def _start(self, client: Client, task: Task, now_ns: int) -> Iterator[SeatEffect]:
        client.task, client.node, client.invoked_ns = task, task.node, now_ns
        call, node = task.call, task.node
        yield AddEvent(self._recorder.invoke(client.process, call, node=node, now_ns=now_ns))
        try:
            wanted = client.session.invoke(call, node, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            yield from self._vacate(client, f"the client broke at {call.f}: {error!r}", now_ns)
            return
        yield from self._perform(client, wanted, now_ns)

    def _tell(self, client: Client, told: SessionInput, now_ns: int) -> Iterator[SeatEffect]:
        try:
            wanted = client.session.step(told, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            broke = f"the client broke at {type(told).__name__}: {error!r}"
            yield from self._vacate(client, broke, now_ns)
            return
        yield from self._perform(client, wanted, now_ns)

    def _perform(
        self, client: Client, wanted: Iterable[SessionEffect], now_ns: int
    ) -> Iterator[SeatEffect]:
        for effect in wanted:
            if isinstance(effect, Done):
                yield from self._ended(client, effect.completion, now_ns)
            else:
                yield ForProcess(client.process, effect)
        if client.process in self._clients:
            self._set_alarm(client)

    # How operations end.

    def _ended(self, client: Client, completion: Completion, now_ns: int) -> Iterator[SeatEffect]:
        task, node = client.task, client.node
        if task is None:
            yield from self._vacate(client, "the client ended an operation it was not given", now_ns)
            return
        call = task.call
        yield AddEvent(self._recorder.complete(client.process, completion, node=node, now_ns=now_ns))
        client.task = None
        if completion.unexpected is not None:
            yield Failed(f"unexpected response of {node} to {call.f}: {completion.unexpected}")
        self._supply.ended(client.slot, task, completion, now_ns)
        if completion.type is EventType.INFO:
            yield from self._retire(client)
        term = completion.evidence.term if completion.evidence is not None else None
        told = Completed(call.f, call.key, completion.value, completion.type, node, term, client.probe)
        yield Ended(told, client.invoked_ns)
        yield from self._go_on(client, now_ns)

    def _retire(self, client: Client) -> Iterator[SeatEffect]:
        """Let the process go; its seat, if it has one, is taken by a new one."""
        yield self._leave(client)
        if client.slot is not None:
            client.process, client.session = self._recorder.new_process(), self._session()
            self._clients[client.process] = client

    def _leave(self, client: Client) -> ForProcess:
        del self._clients[client.process]
        self._alarms.set(client.process, None)
        return ForProcess(client.process, Close())

    def _vacate(self, client: Client, failure: str, now_ns: int) -> Iterator[SeatEffect]:
        """Leave a seat empty for good: its client or its workload raised."""
        yield Failed(failure)
        yield self._leave(client)
        if client in self._seated:
            self._seated.remove(client)
        if client.task is not None:
            call, client.task = client.task.call, None
            kind = EventType.FAIL if call.f == "read" else EventType.INFO
            completion, node = Completion(kind, call.value, "harness-failure"), client.node
            yield AddEvent(self._recorder.complete(client.process, completion, node=node, now_ns=now_ns))
