"""What every kind of cluster owes its users (`targets.cluster.Cluster`), one suite for all: the kinds.

The suite speaks of a *stage*: a cluster, its true time, and clients that dial its nodes. On processes
and containers that time is the host's and clients have sockets. In the simulator time passes while
somebody sleeps or waits for an answer, and no sooner: `AwaitedCluster` makes the plain calls of
`SimCluster` awaitable, which is all that an asyncio suite wants of it.

Elections are short here, so that a test takes a second; nothing of the suite says anything about leases.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from targets.clock import MS, SECOND
from targets.cluster import ClockMode, Role, TargetError, Unsupported
from targets.leasekv import containers, processes, wire
from targets.leasekv.config import NodeConfig
from targets.leasekv.messages import Op, Request, Response
from targets.session import Answered, Closed, Opened, Refused, SessionInput
from targets.sim.cluster import EPOCH_NS, NO_FULL_DISK, SimCluster
from targets.sim.heap import Heap
from targets.sim.weather import Weather

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from targets.cluster import (
        ClockBend,
        Cluster,
        Link,
        LinkState,
        NodeStatus,
        Primitive,
        ProcessState,
        Roster,
    )

NAMES: Final = ("n1", "n2", "n3")
SHORT: Final = NodeConfig(
    node="n1",
    nodes=NAMES,
    election_ns=300 * MS,
    election_jitter_ns=150 * MS,
    heartbeat_ns=40 * MS,
)
PATIENT: Final = NodeConfig(node="n1", nodes=NAMES, election_ns=5_000 * MS, heartbeat_ns=500 * MS)


class Client(ABC):
    """The plainest client: sends requests, gives answers in the order they came."""

    def __init__(self) -> None:
        self._last = 0

    def send(self, op: Op, key: str, value: Any = None) -> None:
        self._last += 1
        self._transmit(Request(self._last, op, key, value))

    async def ask(self, op: Op, key: str, value: Any = None) -> Response:
        self.send(op, key, value)
        return await self.answer()

    @abstractmethod
    def _transmit(self, request: Request) -> None: ...

    @abstractmethod
    async def answer(self, within_s: float = 5.0) -> Response:
        """Return the next answer; raise ``TimeoutError``, or ``ConnectionError`` if it is reset."""

    @abstractmethod
    def close(self) -> None: ...


class Stage(ABC):
    """A cluster in its time."""

    cluster: Cluster

    @abstractmethod
    def now_ns(self) -> int:
        """Return the true time: the clock that `NodeStatus.true_ns` is read from."""

    @abstractmethod
    def wall_ns(self) -> int:
        """Return what a wall clock shows that nobody has bent."""

    @abstractmethod
    async def sleep(self, duration_s: float) -> None: ...

    @abstractmethod
    async def dial(self, node: str) -> Client:
        """Connect to a node; raise ``ConnectionRefusedError``."""

    def others(self, node: str) -> list[str]:
        return [name for name in self.cluster.nodes if name != node]

    async def statuses(self, within_s: float = 10.0) -> AsyncIterator[dict[str, NodeStatus]]:
        """Ask all nodes again and again until the time is up."""
        end_ns = self.now_ns() + round(within_s * SECOND)
        while self.now_ns() < end_ns:
            found = [await self.cluster.status(name) for name in self.cluster.nodes]
            yield {status.node: status for status in found if status is not None}
            await self.sleep(0.01)

    async def leader(self) -> str:
        """Return the node that leads and has committed an entry of its own."""
        async for found in self.statuses():
            for status in found.values():
                if status.role is Role.LEADER and status.commit_index:
                    return status.node
        raise AssertionError("no leader in time")

    async def status(self, node: str) -> NodeStatus:
        status = await self.cluster.status(node)
        assert status is not None
        return status


# Processes and containers.


class SocketClient(Client):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__()
        self._reader = reader
        self._writer = writer
        self._decoder = wire.response_decoder()
        self._answers: list[Response] = []

    def _transmit(self, request: Request) -> None:
        self._writer.write(wire.encode(request))

    async def answer(self, within_s: float = 5.0) -> Response:
        async with asyncio.timeout(within_s):
            while not self._answers:
                data = await self._reader.read(1 << 16)
                if not data:
                    raise ConnectionResetError
                self._answers += self._decoder.feed(data)
        return self._answers.pop(0)

    def close(self) -> None:
        self._writer.transport.abort()


class HostStage(Stage):
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def now_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def wall_ns(self) -> int:
        return time.time_ns()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)

    async def dial(self, node: str) -> Client:
        return SocketClient(*await asyncio.open_connection(*self.cluster.address(node)))


# The simulator.


class AwaitedCluster:
    """See `targets.cluster.Cluster`: every call is the simulator's own, done when it returns."""

    def __init__(self, simulated: SimCluster) -> None:
        self.simulated = simulated

    @property
    def nodes(self) -> Sequence[str]:
        return self.simulated.nodes

    def supports(self, primitive: Primitive) -> str | None:
        return self.simulated.supports(primitive)

    async def start(self) -> None:
        self.simulated.start()

    async def stop(self) -> None:
        for node in self.nodes:
            self.simulated.kill(node)

    def address(self, node: str) -> tuple[str, int]:
        raise TargetError(f"{node} has no address: it is dialled by name")

    async def status(self, node: str) -> NodeStatus | None:
        return self.simulated.status(node)

    def state(self, node: str) -> ProcessState:
        return self.simulated.state(node)

    async def exit_code(self, node: str) -> int | None:
        assert node in self.nodes
        return None

    async def pause(self, node: str) -> None:
        self.simulated.pause(node)

    async def resume(self, node: str) -> None:
        self.simulated.resume(node)

    async def kill(self, node: str) -> None:
        self.simulated.kill(node)

    async def restart(self, node: str) -> None:
        self.simulated.restart(node)

    def set_link(self, link: Link, state: LinkState) -> None:
        self.simulated.set_link(link, state)

    def link_state(self, link: Link) -> LinkState:
        return self.simulated.link_state(link)

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        self.simulated.bend_clock(node, bend)

    async def campaign(self, node: str) -> None:
        self.simulated.campaign(node)

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        self.simulated.set_apply_delay(node, delay_ns)

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        self.simulated.set_sync_delay(node, delay_ns)

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        raise Unsupported(f"{node} cannot be left {room_bytes} bytes: {NO_FULL_DISK}")

    async def suspend(self, node: str) -> None:
        self.simulated.suspend(node)

    async def hand_over(self, node: str, target: str) -> None:
        self.simulated.hand_over(node, target)

    async def reconfigure(self, node: str, members: Roster) -> None:
        self.simulated.reconfigure(node, members)

    async def restore_members(self) -> None:
        self.simulated.restore_members()

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        self.simulated.set_time_service(node, heard=heard)


class SimClient(Client):
    def __init__(self, cluster: SimCluster, heap: Heap, node: str) -> None:
        super().__init__()
        self._cluster = cluster
        self._heap = heap
        self._heard: list[SessionInput] = []
        self._number = cluster.dial(node, self._heard.append)

    def _transmit(self, request: Request) -> None:
        self._cluster.ask(self._number, request)

    def next(self, within_s: float) -> SessionInput:
        """Let time pass until the connection says something."""
        until_ns = self._heap.now_ns + round(within_s * SECOND)
        if not self._heap.run_while(lambda: not self._heard, until_ns=until_ns):
            self._heap.run_until(until_ns)
            raise TimeoutError
        return self._heard.pop(0)

    async def answer(self, within_s: float = 5.0) -> Response:
        match self.next(within_s):
            case Answered(Response() as response):
                return response
            case Closed(reason):
                raise ConnectionResetError(reason)
            case other:
                raise AssertionError(other)

    def close(self) -> None:
        self._cluster.hang_up(self._number)


class SimStage(Stage):
    def __init__(self, config: NodeConfig) -> None:
        self._heap = Heap()
        self._simulated = SimCluster(config, Weather(), self._heap)
        self.cluster = AwaitedCluster(self._simulated)

    def now_ns(self) -> int:
        return self._heap.now_ns

    def wall_ns(self) -> int:
        return EPOCH_NS + self._heap.now_ns

    async def sleep(self, duration_s: float) -> None:
        self._heap.run_until(self._heap.now_ns + round(duration_s * SECOND))

    async def dial(self, node: str) -> Client:
        client = SimClient(self._simulated, self._heap, node)
        match client.next(within_s=1.0):
            case Opened():
                return client
            case Refused(reason):
                raise ConnectionRefusedError(reason)
            case other:
                raise AssertionError(other)


# All of them.


@dataclass(frozen=True)
class Kind:
    """A way to make a cluster that is not started yet.

    ``children`` is how many processes of ours it runs, ``on_host`` whether nodes are the host's at all;
    ``kept`` is what lies in the run directory when it is over.
    """

    stage: Callable[[NodeConfig, Path, ClockMode], Stage]
    children: int = 0
    on_host: bool = True
    kept: frozenset[str] = frozenset(f"{name}.{kind}" for name in NAMES for kind in ("jsonl", "log"))


def _simulated(config: NodeConfig, _run_dir: Path, _clock: ClockMode) -> Stage:
    return SimStage(config)  # every clock can be bent there


def _local(config: NodeConfig, run_dir: Path, clock: ClockMode) -> Stage:
    return HostStage(processes.leasekv_cluster(config, run_dir, clock=clock))


def _docker(config: NodeConfig, run_dir: Path, clock: ClockMode, *, gates: bool) -> Stage:
    return HostStage(containers.leasekv_cluster(config, run_dir, clock=clock, gates=gates))


KINDS: Final = {
    "sim": Kind(_simulated, on_host=False, kept=frozenset()),
    "local": Kind(_local, children=len(NAMES)),
    "docker": Kind(partial(_docker, gates=False)),
    "docker-gates": Kind(partial(_docker, gates=True)),
}

_MARKS: Final = {name: [pytest.mark.processes] if kind.on_host else [] for name, kind in KINDS.items()}

ALL: Final = [pytest.param(name, marks=marks) for name, marks in _MARKS.items()]

IN_MINUTES: Final = [*ALL[:-1], pytest.param("docker-gates", marks=[pytest.mark.soak])]
"""Gates differ in links alone: what has nothing to do with links is tested with them by `make soak`."""

about_links = pytest.mark.parametrize("kind", ALL, indirect=True)
on_the_host = pytest.mark.parametrize("kind", IN_MINUTES[1:], indirect=True)


class Started:
    """Starts clusters in a loop and ends them, whatever the test does."""

    def __init__(self, kind: Kind, run_dir: Path) -> None:
        self._kind = kind
        self._run_dir = run_dir

    def __call__(
        self,
        work: Callable[[Stage], Awaitable[None]],
        *,
        config: NodeConfig = SHORT,
        clock: ClockMode = ClockMode.NONE,
    ) -> None:
        async def run() -> None:
            stage = self._kind.stage(config, self._run_dir, clock)
            await stage.cluster.start()
            try:
                await work(stage)
            finally:
                await stage.cluster.stop()

        asyncio.run(run())
