"""The conductor on real time: sockets, timers and the nemesis's means. Thin.

What lives here: carrying effects out and reporting what came of them. What never does: a decision
about the run. Connections are Protocols, not streams: a stream's reader is a task that runs one loop
turn later, after timers that came due meanwhile, and an operation would look longer than it was.

Everything that waits has a deadline of its own, the means of the nemesis included. Injections and heals
start in the order given, those of one fault one after the other.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from harness.bugs import traceback_of
from harness.store.errors import StoreError
from nemesis import means
from nemesis.ports import Happened, Heal, Inject, StatusSeen
from targets.cluster import ProcessState, TargetError
from targets.session import Answered, Close, Closed, Open, Opened, Refused, SessionInput, Transmit
from targets.trueclock import raw_ns

from .ports import (
    AddEvent,
    Broken,
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
    from collections.abc import Awaitable, Callable

    from harness.store.history import HistoryWriter
    from targets.cluster import Cluster, LinkState
    from targets.session import Client

    from .conductor import Conductor

CLOSE_MAX_S: Final = 10.0
EARLIEST_S: Final = 0.0002  # a timer is not armed closer than this: the loop has others to serve

log = logging.getLogger(__name__)


class Connection(asyncio.Protocol):
    """One process's connection; after `drop` nothing on it is heard."""

    def __init__(self, process: int, drive: Drive) -> None:
        self._process = process
        self._drive: Drive | None = drive
        self._now_ns = drive.now_ns
        self._reader = drive.client.reader()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Tell the session that it may send."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        if self._drive is None:
            transport.abort()
        else:
            self._drive.told(self._process, Opened())

    def data_received(self, data: bytes) -> None:
        """Stamp what came in, now that its last byte is here, and hand it on."""
        now_ns = self._now_ns()
        for message in self._reader.feed(data):
            if self._drive is not None:  # a session may leave at any message
                self._drive.told(self._process, Answered(message), now_ns)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the session, unless it was the one who left."""
        drive, self._drive = self._drive, None
        if drive is not None:
            drive.told(self._process, Closed(str(exc) if exc is not None else "closed by the other end"))

    def send(self, data: bytes) -> None:
        """Write a whole message; if the connection is gone, `connection_lost` is on its way."""
        if self._transport is not None:
            self._transport.write(data)

    def drop(self) -> None:
        """Leave at once."""
        self._drive = None
        if self._transport is not None:
            self._transport.abort()


class Drive:
    """Drives one conductor to its end."""

    def __init__(
        self,
        conductor: Conductor,
        cluster: Cluster,
        *,
        client: Client,
        history: HistoryWriter,
        origin_ns: int,
        peers: LinkState,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.client = client
        self._conductor = conductor
        self._cluster = cluster
        self._history = history
        self._origin_ns = origin_ns
        self._peers = peers
        self._story = Story(say)
        self._connections: dict[int, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._dials: dict[int, asyncio.Task[None]] = {}
        self._polled: set[str] = set()
        self._orders: dict[int, asyncio.Task[None]] = {}
        self._boots: dict[str, int] = {}
        self._boots_before: dict[int, dict[str, int]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0
        self._flushing = False
        self._finished = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def now_ns(self) -> int:
        """Return the time since the run's origin."""
        return raw_ns() - self._origin_ns

    async def run(self) -> None:
        """Return once the conductor has finished."""
        self._feed(WakeUp())
        try:
            await self._finished.wait()
        finally:
            await self._close()

    def signalled(self, count: int, name: str) -> None:
        """Take a signal: the first ends the run early, the second stops driving; the caller heals."""
        if count == 1:
            self._loop.call_soon_threadsafe(self._feed, Interrupt(name))
        else:
            self._loop.call_soon_threadsafe(self._finished.set)

    def told(self, process: int, event: SessionInput, now_ns: int | None = None) -> None:
        """Take what happened on a connection."""
        self._feed(FromSession(process, event), now_ns)

    def _feed(  # noqa: C901 - one case an effect
        self, event: ConductorInput, now_ns: int | None = None
    ) -> None:
        if self._finished.is_set():
            return
        for effect in self._conductor.step(event, self.now_ns() if now_ns is None else now_ns):
            match effect:
                case AddEvent(line):
                    self._history.add(line)
                    self._story.line(line)
                    if not self._flushing:
                        self._flushing = True
                        self._loop.call_soon(self._flush)
                case ForProcess(process, Transmit(message)):
                    connection = self._connections.get(process)
                    if connection is not None:
                        connection.send(self.client.encode(message))
                case ForProcess(process, Open(node)):
                    self._dials[process] = self._spawn(self._dial(process, node))
                case ForProcess(process, Close()):
                    self._drop(process)
                case PollStatus():
                    self._poll()
                case Inject() | Heal():
                    self._order(effect)
                case Finished():
                    self._finished.set()
        self._story.phase(self._conductor.phase, self.now_ns())
        self._arm()

    # Time.

    def _arm(self) -> None:
        wake_ns = self._conductor.wake_ns
        if wake_ns is None:
            return
        if self._timer is not None:
            if self._timer_ns <= wake_ns:
                return  # it fires earlier, and then looks again
            self._timer.cancel()
        self._timer_ns = wake_ns
        delay_s = max((wake_ns - self.now_ns()) / 1e9, EARLIEST_S)
        self._timer = self._loop.call_later(delay_s, self._woken)

    def _woken(self) -> None:
        self._timer = None
        wake_ns = self._conductor.wake_ns
        if wake_ns is not None and wake_ns <= self.now_ns():
            self._feed(WakeUp())
        else:
            self._arm()

    def _flush(self) -> None:
        self._flushing = False
        try:
            self._history.flush()
        except StoreError as error:
            log.error("event=history-broken error=%r", str(error))  # noqa: TRY400 - a full disk has no story
            self._feed(Broken(f"the history could not be written: {error}"))

    # Connections.

    async def _dial(self, process: int, node: str) -> None:
        host, port = self._cluster.address(node)
        connection = Connection(process, self)
        self._connections[process] = connection
        try:
            await self._loop.create_connection(lambda: connection, host, port)
        except OSError as error:
            if self._connections.get(process) is connection:
                del self._connections[process]
                self.told(process, Refused(error.strerror or str(error)))

    def _drop(self, process: int) -> None:
        dial = self._dials.pop(process, None)
        if dial is not None and not dial.done():
            dial.cancel()
        connection = self._connections.pop(process, None)
        if connection is not None:
            connection.drop()

    # Nodes.

    def _poll(self) -> None:
        for node in self._cluster.nodes:
            if node not in self._polled:
                self._polled.add(node)
                self._spawn(self._ask(node))

    async def _ask(self, node: str) -> None:
        try:
            status = await self._cluster.status(node)
        finally:
            self._polled.discard(node)
        if status is not None:
            if status.boot is not None:
                self._boots[node] = status.boot
            self._story.status(status, self.now_ns())
            self._feed(StatusSeen(status))
        elif self._cluster.state(node) is ProcessState.STOPPED:
            self._feed(NodeStopped(node))
        elif self._cluster.state(node) is ProcessState.GONE and not self._conductor.down(node):
            code = await self._cluster.exit_code(node)
            if self._cluster.state(node) is ProcessState.GONE:  # and was not started in the meantime
                self._feed(NodeGone(node, code))

    def _order(self, order: Inject | Heal) -> None:
        """Start an injection or a heal; the one before of the same fault comes first."""
        before = self._orders.get(order.id)
        self._orders[order.id] = self._spawn(self._carry_out(order, before))

    async def _carry_out(self, order: Inject | Heal, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        healing = isinstance(order, Heal)
        if healing:
            boots = self._boots_before.get(order.id, {})
            verification = await means.heal(self._cluster, order.fault, peers=self._peers, boots=boots)
        else:
            self._boots_before[order.id] = self._boots.copy()
            verification = await means.inject(self._cluster, order.fault)
        self._feed(Happened(order.id, verification, healed=healing))

    # Tasks.

    def _spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, TargetError):  # the target's own sentence
                self._feed(Broken(str(error)))
                return
            log.error("event=task-failed error=%r", error)
            broke = f"the driver broke: {error!r}"
            self._feed(Broken(broke, traceback=traceback_of(error)))

    async def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for process in tuple(self._connections):
            self._drop(process)
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_MAX_S)
