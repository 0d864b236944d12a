"""The conductor in virtual time: the heap's counterpart of `drive_asyncio`. Thin.

What lives here: carrying effects out on a `SimCluster` and reporting what came of them. What never does:
a decision about the run. The conductor, its sessions, the workload and the nemesis are the same as on
processes; so is what an effect means:

* a status is asked for and told at once; a node that does not run does not answer;
* an injection happens at once and is reported right after it, in the order given;
* a message is handed over as the value it is: nothing is encoded that nobody reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.events import NEMESIS
from nemesis.ports import Happened, Heal, Inject, StatusSeen
from targets.clock import FOREVER_NS
from targets.cluster import ProcessState
from targets.session import Close, Open, SessionInput, Transmit

from . import means_heap
from .ports import (
    AddEvent,
    ConductorInput,
    Finished,
    ForProcess,
    FromSession,
    Interrupt,
    NodeGone,
    NodeStopped,
    PollStatus,
    WakeUp,
)
from .story import Story

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.events import Event
    from targets.cluster import LinkState
    from targets.sim.cluster import SimCluster
    from targets.sim.heap import Heap

    from .conductor import Conductor

_WAKE_UP: Final = WakeUp()


class Drive:
    """Drives one conductor to its end. ``events`` is the history."""

    def __init__(
        self,
        conductor: Conductor,
        cluster: SimCluster,
        heap: Heap,
        *,
        peers: LinkState,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.events: list[Event] = []
        self._conductor = conductor
        self._cluster = cluster
        self._heap = heap
        self._peers = peers
        self._story = Story(say)
        self._connections: dict[int, int] = {}
        self._wanted_ns: int | None = None
        self._wake_ns = -1
        self._finished = False
        self._signal: tuple[int, str] | None = None

    def run(self) -> None:
        """Return once the conductor has finished; it bounds every wait itself."""
        self._feed(_WAKE_UP)
        ended = not self._heap.run_while(self._going, until_ns=FOREVER_NS)
        assert not ended, "a conductor that is not done has a time to wake up at"

    def signalled(self, count: int, name: str) -> None:
        """Take a signal: the first ends the run early, the second stops driving.

        It may come in the middle of anything, so it is only noted here, and heard between two events.
        """
        self._signal = (count, name)

    def _going(self) -> bool:
        if self._signal is not None:
            (count, name), self._signal = self._signal, None
            if count == 1:
                self._feed(Interrupt(name))
            else:
                self._finished = True
        return not self._finished

    def _feed(self, event: ConductorInput) -> None:
        self._step(event)
        self._arm()

    def _step(self, event: ConductorInput) -> None:
        if self._finished:
            return
        conductor = self._conductor
        for effect in conductor.step(event, self._heap.now_ns):
            match effect:
                case AddEvent():
                    line = effect.event
                    self.events.append(line)
                    if line.process == NEMESIS:
                        self._story.line(line)
                case ForProcess():
                    self._perform(effect.process, effect.effect)
                case PollStatus():
                    self._heap.at(self._heap.now_ns, self._poll)
                case Inject() | Heal():
                    self._order(effect)
                case Finished():
                    self._finished = True
        self._story.phase(conductor.phase, self._heap.now_ns)

    # Time.

    def _arm(self) -> None:
        """See to it that the conductor is woken when it wants to be, after what it has just been fed."""
        self._wanted_ns = self._conductor.wake_ns
        self._set_alarm()

    def _set_alarm(self) -> None:
        if self._wanted_ns is None:
            return
        now_ns = self._heap.now_ns
        due_ns = max(self._wanted_ns, now_ns + 1)
        if self._wake_ns <= now_ns or due_ns < self._wake_ns:
            self._wake_ns = due_ns
            self._heap.at(due_ns, self._woken, due_ns)

    def _woken(self, due_ns: int) -> None:
        if due_ns != self._wake_ns:
            return  # an earlier one took its place
        self._wake_ns = -1
        if self._wanted_ns is not None and self._wanted_ns <= due_ns:
            self._feed(_WAKE_UP)
        else:
            self._set_alarm()

    # Connections.

    def _perform(self, process: int, effect: Transmit | Open | Close) -> None:
        match effect:
            case Transmit():
                number = self._connections.get(process)
                if number is not None:
                    self._cluster.ask(number, effect.message)
            case Open(node):
                self._dial(process, node)
            case Close():
                self._drop(process)

    def _dial(self, process: int, node: str) -> None:
        def told(event: SessionInput) -> None:
            if self._connections.get(process) == number:
                self._feed(FromSession(process, event))

        number = self._connections[process] = self._cluster.dial(node, told)

    def _drop(self, process: int) -> None:
        number = self._connections.pop(process, None)
        if number is not None:
            self._cluster.hang_up(number)

    # Nodes.

    def _poll(self) -> None:
        for node in self._cluster.nodes:
            status = self._cluster.status(node)
            if status is not None:
                self._story.status(status, self._heap.now_ns)
                self._step(StatusSeen(status))
            elif self._cluster.state(node) is ProcessState.GONE:
                self._step(NodeGone(node))
            elif self._cluster.state(node) is ProcessState.STOPPED:
                self._step(NodeStopped(node))
        self._arm()

    def _order(self, order: Inject | Heal) -> None:
        healing = isinstance(order, Heal)
        if healing:
            verification = means_heap.heal(self._cluster, order.fault, peers=self._peers)
        else:
            verification = means_heap.inject(self._cluster, order.fault)
        self._heap.at(self._heap.now_ns, self._feed, Happened(order.id, verification, healed=healing))
