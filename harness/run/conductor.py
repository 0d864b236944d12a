"""The run as one pure machine: clients, workload, nemesis and recording rules, conducted.

What lives here: which phase the run is in, which client may go on, what becomes of every answer. What
never does: a socket, a file, a clock. A driver feeds `Conductor.step` with what happened and the time,
carries the effects out in the order given, and calls again with `WakeUp` once ``wake_ns`` is reached.
Two drivers can do that: asyncio on real processes, and a heap of virtual events in the simulator.

::

    WAIT_READY -> LOAD -> HEAL -> SETTLE -> DRAIN -> FINAL -> DONE
                             `--- cut short ---^  `-- cut short --^

The load goes on while faults are healed and while the cluster settles: how soon reads and writes come
back is part of what a run observes. DRAIN waits for what is in flight; FINAL reads every key at every
node. A run is *cut short* by an interruption or by something it cannot go on without.

Nothing that a session, the workload or the nemesis raises ends the run. The failure is kept, the seat
stays empty (a broken nemesis has its faults healed), the rest goes on and is checked. Such a run is a
harness failure, unless it proves a violation all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from checker.events import EventType
from nemesis.ports import (
    Completed,
    Happened,
    Heal,
    HealNow,
    Inject,
    NemesisEffect,
    NemesisInput,
    Note,
    Probe,
    StatusSeen,
)
from nemesis.ports import WakeUp as NemesisWakeUp
from targets.clock import MS
from targets.cluster import NodeStatus, Role
from targets.session import Call, Close, Completion, DeadlinePassed, Done, Session, SessionEffect

from .alarms import Alarms
from .final import FinalRead, FinalReads
from .orders import Orders, kind_of
from .ports import (
    AddEvent,
    Broken,
    ConductorEffect,
    ConductorInput,
    Finished,
    ForProcess,
    FromSession,
    Interrupt,
    NemesisMachine,
    NodeGone,
    Phase,
    PollStatus,
    Timing,
    WakeUp,
)
from .recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nemesis.faults import Fault

    from .generator import Generator
    from .script import Script

POLL_NS = 20 * MS
NEMESIS_REST_NS = MS
FAILURES_KEPT = 20
LOADED = (Phase.LOAD, Phase.HEAL, Phase.SETTLE)


class Client(msgspec.Struct, eq=False):
    """A seat at the cluster and the process that has it now; ``slot`` None is a probe's."""

    process: int
    session: Session
    slot: int | None
    node: str = ""
    call: Call | None = None
    invoked_ns: int = 0
    probe: int | None = None
    final: FinalRead | None = None


class Recovery(msgspec.Struct):
    """When the faults were gone, and when an operation begun after that first succeeded."""

    healed_ns: int | None = None
    read_ns: int | None = None
    write_ns: int | None = None


class Conductor:
    """See the module. ``failures`` and ``interrupted`` say why a run cannot pass, if so."""

    def __init__(
        self,
        nodes: Sequence[str],
        *,
        generator: Generator | Script,
        machine: NemesisMachine,
        session: Callable[[], Session],
        timing: Timing,
    ) -> None:
        self.phase = Phase.WAIT_READY
        self.failures: list[str] = []
        self.interrupted: str | None = None
        self.notes: list[tuple[int, Note]] = []
        self.recovery = Recovery()
        self.recorder = Recorder()
        self.load_ns: tuple[int, int] | None = None
        self.unread = 0
        self.unsettled = False
        self._orders = Orders()
        self._nodes = tuple(nodes)
        self._generator = generator
        self._machine: NemesisMachine | None = machine
        self._session = session
        self._timing = timing
        self._statuses: dict[str, tuple[int, NodeStatus]] = {}
        self._until_ns: int | None = None  # the bound of this phase; from the first step on
        self._poll_ns = 0
        self._nemesis_rests_ns = 0
        self._cut_short = False
        self._gone: set[str] = set()
        self._final = FinalReads((), (), 0)
        self._effects: list[ConductorEffect] = []
        seats = range(len(generator.seats))
        self._seated = [Client(self.recorder.new_process(), session(), slot) for slot in seats]
        self._clients = {client.process: client for client in self._seated}
        self._alarms = Alarms(self._alarm_ns)
        self._nemesis_wake_ns: int | None = None  # of the load

    @property
    def standing(self) -> dict[int, Fault]:
        """Faults ordered and not known to be healed."""
        return self._orders.standing

    @property
    def wake_ns(self) -> int | None:
        """When to feed `WakeUp`; None once the run is over."""
        if self.phase is Phase.DONE:
            return None
        soonest = self._poll_ns if self._until_ns is None else min(self._poll_ns, self._until_ns)
        for time_ns in (self._alarms.soonest(), self._nemesis_ns()):
            if time_ns is not None and time_ns < soonest:
                soonest = time_ns
        final_ns = self._final.due_ns if self.phase is Phase.FINAL else None
        if final_ns is not None and any(client.call is None for client in self._seated):
            soonest = min(soonest, final_ns)
        return soonest

    def _alarm_ns(self, process: int) -> int | None:
        """Return when this process has to be looked at: its deadline, or its seat's next operation."""
        client = self._clients.get(process)
        if client is None:
            return None
        wake_ns = client.session.wake_ns
        if wake_ns is None and client.slot is not None and self.phase in LOADED:
            return self._generator.due_ns(client.slot)
        return wake_ns

    def step(  # noqa: C901 - one case an input
        self, event: ConductorInput, now_ns: int
    ) -> list[ConductorEffect]:
        """Take what happened; return what to do, in order."""
        self._effects = []
        if self.phase is Phase.DONE:
            return self._effects
        if self._until_ns is None:
            self._until_ns = now_ns + self._timing.ready_max_ns
        match event:
            case FromSession(process, told):
                client = self._clients.get(process)
                if client is not None:
                    self._tell(client, told, now_ns)
            case WakeUp():
                self._wake(now_ns)
            case StatusSeen(status):
                self._statuses[status.node] = (now_ns, status)
                self._nemesis(event, now_ns)
            case Happened(number):
                self._remark(self._orders.kind(number), self._orders.happened(event), now_ns)
                self._nemesis(event, now_ns)
            case NodeGone(node):
                if node not in self._gone and not self._orders.down(node):
                    self._gone.add(node)
                    self._fail(f"{node} ended by itself; its log says why", now_ns, fatal=True)
            case Interrupt(reason):
                self.interrupted = self.interrupted or reason
                self._shorten(now_ns)
            case Broken(reason):
                self._fail(reason, now_ns, fatal=True)
        self._advance(now_ns)
        return self._effects

    # Phases.

    def _advance(self, now_ns: int) -> None:
        """Move on as far as the phase's condition or its bound allows."""
        before = None
        while before is not self.phase and self.phase is not Phase.DONE:
            before = self.phase
            assert self._until_ns is not None
            late = now_ns >= self._until_ns
            match self.phase:
                case Phase.WAIT_READY if self._agreed(since_ns=0):
                    self._begin_load(now_ns)
                case Phase.WAIT_READY if late:
                    self._fail(
                        "the cluster never became ready: no leader that every node follows", now_ns
                    )
                    self._finish()
                case Phase.LOAD if late:
                    self._begin_heal(now_ns)
                case Phase.HEAL if late or not self._healing():
                    self._begin_settle(now_ns, late=late)
                case Phase.SETTLE if late or self._settled(now_ns):
                    if late:
                        self.unsettled = True
                    self._enter(Phase.DRAIN, now_ns + self._timing.drain_max_ns)
                case Phase.DRAIN if late or not self.recorder.open:
                    self._begin_final(now_ns)
                case Phase.FINAL if late or not (len(self._final) or self.recorder.open):
                    self.unread = len(self._final) + self._final.given_up
                    self._finish()
                case _:
                    pass

    def _enter(self, phase: Phase, until_ns: int) -> None:
        self.phase, self._until_ns = phase, until_ns
        self._alarms.renew(self._clients)

    def _begin_load(self, now_ns: int) -> None:
        self._enter(Phase.LOAD, now_ns + self._timing.load_ns)
        self.load_ns = (now_ns, now_ns + self._timing.load_ns)
        self._generator.start(now_ns)
        self._alarms.renew(self._clients)
        self._nemesis(NemesisWakeUp(), now_ns)

    def _begin_heal(self, now_ns: int) -> None:
        if self.load_ns is not None:
            self.load_ns = (self.load_ns[0], now_ns)
        self._enter(Phase.HEAL, now_ns + self._timing.heal_max_ns)
        self._nemesis(HealNow(), now_ns)

    def _begin_settle(self, now_ns: int, *, late: bool) -> None:
        left = self._orders.standing
        if late or left:
            kinds = ", ".join(sorted({kind_of(fault) for fault in left.values()})) or "unreported"
            self._fail(f"not everything could be healed: {kinds}", now_ns)
        else:
            self.recovery.healed_ns = now_ns
        if self._cut_short:
            self._enter(Phase.DRAIN, now_ns + self._timing.drain_max_ns)
        else:
            self._enter(Phase.SETTLE, now_ns + self._timing.settle_max_ns)

    def _begin_final(self, now_ns: int) -> None:
        if self._cut_short:
            self._finish()
            return
        self._enter(Phase.FINAL, now_ns + self._timing.final_max_ns)
        self._final = FinalReads(self._generator.keys, self._nodes, now_ns)
        for client in self._seated:
            self._go_on(client, now_ns)

    def _finish(self) -> None:
        self.phase = Phase.DONE
        self._effects.append(Finished())

    def _shorten(self, now_ns: int) -> None:
        """End the run early, whatever phase it is in; heal all the same."""
        self._cut_short = True
        match self.phase:
            case Phase.WAIT_READY:
                self._finish()
            case Phase.LOAD:
                self._begin_heal(now_ns)
            case Phase.SETTLE | Phase.FINAL:
                self._final = FinalReads((), (), now_ns)
                self._enter(Phase.DRAIN, now_ns + self._timing.drain_max_ns)
            case _:
                pass

    def _agreed(self, *, since_ns: int) -> bool:
        """Whether every node named the same living leader of one term, in a status since then."""
        told = [status for at_ns, status in self._statuses.values() if at_ns >= since_ns]
        if len(told) < len(self._nodes):
            return False
        leaders = {(status.leader, status.term) for status in told}
        return len(leaders) == 1 and any(
            status.role is Role.LEADER and status.node == status.leader for status in told
        )

    def _healing(self) -> bool:
        return self._orders.pending or (self._machine is not None and not self._machine.done)

    def _settled(self, now_ns: int) -> bool:
        healed_ns = self.recovery.healed_ns
        if healed_ns is None or now_ns < healed_ns + self._timing.settle_min_ns:
            return False
        back = self.recovery.read_ns is not None and self.recovery.write_ns is not None
        return back and self._agreed(since_ns=healed_ns)

    # Clients.

    def _wake(self, now_ns: int) -> None:
        if now_ns >= self._poll_ns:
            self._poll_ns = now_ns + POLL_NS
            self._effects.append(PollStatus())
        for process in self._alarms.due(now_ns):
            client = self._clients[process]
            if client.session.wake_ns is None:
                self._go_on(client, now_ns)
            else:
                self._tell(client, DeadlinePassed(), now_ns)
        if self.phase is Phase.FINAL:
            for client in self._seated:
                self._go_on(client, now_ns)
        nemesis_ns = self._nemesis_ns()
        if nemesis_ns is not None and nemesis_ns <= now_ns:
            self._nemesis(NemesisWakeUp(), now_ns)
            self._nemesis_rests_ns = now_ns + NEMESIS_REST_NS

    def _go_on(self, client: Client, now_ns: int) -> None:
        """Start the seat's next operation, if there is one and it is time."""
        if client.slot is None or client.call is not None:
            return
        if self.phase in LOADED:
            if self._generator.due_ns(client.slot) <= now_ns:
                try:
                    call, node = self._generator.next(client.slot, now_ns)
                except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
                    self._vacate(client, f"the workload broke: {error!r}", now_ns)
                    return
                self._start(client, call, node, now_ns)
        elif self.phase is Phase.FINAL:
            read = self._final.take(now_ns)
            if read is not None:
                client.final = read
                self._start(client, read.call, read.node, now_ns)

    def _start(self, client: Client, call: Call, node: str, now_ns: int) -> None:
        client.call, client.node, client.invoked_ns = call, node, now_ns
        event = self.recorder.invoke(client.process, call, node=node, now_ns=now_ns)
        self._effects.append(AddEvent(event))
        try:
            wanted = client.session.invoke(call, node, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            self._vacate(client, f"the client broke at {call.f}: {error!r}", now_ns)
            return
        self._perform(client, wanted, now_ns)
        self._alarms.enter(client.process)

    def _tell(self, client: Client, told: Any, now_ns: int) -> None:
        try:
            wanted = client.session.step(told, now_ns)
        except Exception as error:  # noqa: BLE001 - isolated: the seat stays empty, the run fails
            self._vacate(client, f"the client broke at {type(told).__name__}: {error!r}", now_ns)
            return
        self._perform(client, wanted, now_ns)
        self._alarms.enter(client.process)

    def _perform(self, client: Client, wanted: Iterable[SessionEffect], now_ns: int) -> None:
        for effect in wanted:
            if isinstance(effect, Done):
                self._ended(client, effect.completion, now_ns)
            else:
                self._effects.append(ForProcess(client.process, effect))

    def _ended(self, client: Client, completion: Completion, now_ns: int) -> None:
        call, node = client.call, client.node
        if call is None:
            self._vacate(client, "the client ended an operation it was not given", now_ns)
            return
        event = self.recorder.complete(client.process, completion, node=node, now_ns=now_ns)
        self._effects.append(AddEvent(event))
        client.call = None
        if completion.unexpected is not None:
            self._fail(f"unexpected response of {node} to {call.f}: {completion.unexpected}", now_ns)
        if completion.type is EventType.OK:
            self._recover(call.f, client.invoked_ns, now_ns)
        self._generator.ended(client.slot, call, completion, now_ns)
        term = completion.evidence.term if completion.evidence is not None else None
        told = Completed(call.f, call.key, completion.value, completion.type, node, term, client.probe)
        if client.final is not None:
            read, client.final = client.final, None
            if completion.type is not EventType.OK:
                self._final.failed(read, now_ns)
        if completion.type is EventType.INFO:
            self._leave(client)
        if completion.type is EventType.INFO and client.slot is not None:
            client.process, client.session = self.recorder.new_process(), self._session()
            self._clients[client.process] = client
        self._nemesis(told, now_ns)  # not sooner: it may probe at once, and not by a retired process
        self._go_on(client, now_ns)

    def _recover(self, f: str, invoked_ns: int, now_ns: int) -> None:
        recovery = self.recovery
        if recovery.healed_ns is None or invoked_ns < recovery.healed_ns:
            return
        if f == "read":
            recovery.read_ns = recovery.read_ns or now_ns
        elif f in {"write", "cas"}:
            recovery.write_ns = recovery.write_ns or now_ns

    def _leave(self, client: Client) -> None:
        self._effects.append(ForProcess(client.process, Close()))
        del self._clients[client.process]

    def _vacate(self, client: Client, failure: str, now_ns: int) -> None:
        """Leave a seat empty for good: its client or its workload raised."""
        self._fail(failure, now_ns)
        self._leave(client)
        if client in self._seated:
            self._seated.remove(client)
        if client.call is not None:
            ended = EventType.FAIL if client.call.f == "read" else EventType.INFO
            completion = Completion(ended, client.call.value, "harness-failure")
            event = self.recorder.complete(client.process, completion, node=client.node, now_ns=now_ns)
            self._effects.append(AddEvent(event))
            client.call = None

    # Nemesis.

    def _nemesis_ns(self) -> int | None:
        """When to wake the nemesis; one that wants to be woken in the past gets some rest first."""
        if self._machine is None or self.load_ns is None:
            return None
        wake_ns = self._nemesis_wake_ns
        return None if wake_ns is None else max(wake_ns + self.load_ns[0], self._nemesis_rests_ns)

    def _nemesis(self, told: NemesisInput, now_ns: int) -> None:
        """Tell the nemesis; its times count from the start of the load."""
        if self._machine is None or self.load_ns is None:
            return
        try:
            wanted = tuple(self._machine.step(told, now_ns - self.load_ns[0]))
            self._nemesis_wake_ns = self._machine.wake_ns
        except Exception as error:  # noqa: BLE001 - isolated: its faults are healed, the run fails
            self._machine = None
            self._fail(f"the nemesis broke at {type(told).__name__}: {error!r}", now_ns)
            wanted = tuple(Heal(number, fault) for number, fault in self._orders.standing.items())
        for effect in wanted:
            self._order(effect, now_ns)

    def _order(self, effect: NemesisEffect, now_ns: int) -> None:
        match effect:
            case Inject(_, fault):
                roles = {node: status.role.value for node, (_, status) in self._statuses.items()}
                self._remark(kind_of(fault), self._orders.inject(effect, roles), now_ns)
                self._effects.append(effect)
            case Heal(_, fault):
                self._remark(kind_of(fault), self._orders.heal(effect), now_ns)
                self._effects.append(effect)
            case Probe(number, f, node, key):
                self._probe(number, self._generator.probe(f, key), node, now_ns)
            case Note(text, missed):
                self.notes.append((now_ns, effect))
                self._remark("note", {"text": text, "missed": missed}, now_ns)

    def _probe(self, number: int, call: Call, node: str, now_ns: int) -> None:
        """Start a probe by a process that does nothing else, on an open connection if there is one.

        A node that comes out of a freeze takes what waits on its connections before it takes new ones;
        a probe that had to dial would come too late to see what the node believed at that instant.
        """
        idle = (each for each in self._clients.values() if each.slot is None and each.call is None)
        client = next((each for each in idle if each.node == node), None)
        if client is None:
            client = Client(self.recorder.new_process(), self._session(), None)
            self._clients[client.process] = client
        client.probe = number
        self._start(client, call, node, now_ns)

    def _remark(self, f: str, value: dict[str, Any], now_ns: int) -> None:
        self._effects.append(AddEvent(self.recorder.nemesis(f, value, now_ns=now_ns)))

    def _fail(self, failure: str, now_ns: int, *, fatal: bool = False) -> None:
        """Keep a failure; ``fatal`` ends the run early."""
        if len(self.failures) < FAILURES_KEPT:
            self.failures.append(failure)
        if fatal:
            self._shorten(now_ns)
