"""A cluster in containers: one network namespace a node, made from the compose file's services.

Everything made for a run carries its labels and lies on one network of its own, so two runs live side by
side and a heal finds what a dead one left. Nodes have addresses that are chosen here and stay the same
over a restart; clients on this host dial them directly, without a published port in between, so what
is measured is the node, and a daemon that dies takes nothing along.

    create, nothing runs -> start each: start file, container, namespace, links -> wait for answers

Whatever happens, `stop` tries every way: an engine that does not answer any more is told so by killing
the nodes from outside, and what it kept is left to `lantern heal`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Final

from targets.cluster import ProcessState, TargetError
from targets.host import procfs
from targets.host.gate import Port
from targets.host.heal import CONTAINERS
from targets.host.runtime import Runtime
from targets.host.starting import require_true_clock, wholly

from . import netns, processes, project
from .container import NO_PID
from .engine import Engine
from .gates import GateLinks
from .handles import ContainerCluster
from .links import PacketLinks

if TYPE_CHECKING:
    from pathlib import Path

    from .system import ContainerSystem

LOG_BYTES_MAX: Final = 16 << 20
LOG_S: Final = 5.0
LATE_START_S: Final = 1.5
LOOK_S: Final = 0.1

log = logging.getLogger(__name__)


class DockerCluster(ContainerCluster):
    """See `targets.cluster.Cluster`.

    With ``gates`` links run through the harness (`targets.docker.gates`), which can delay them and hold
    them for as long as it likes; without, they are cut by packet filter inside the namespaces.
    """

    def __init__(self, system: ContainerSystem, run_dir: Path, *, gates: bool = False) -> None:
        super().__init__(system, gates=gates)
        self._run_dir = run_dir
        self._mounting = False
        self._engine: Engine | None = None

    async def start(self) -> None:
        """Create and start everything; raise `TargetError` if a node does not answer in time."""
        require_true_clock()
        if self._gates and (reason := netns.obstacle()) is not None:
            raise TargetError(f"there can be no gates here: {reason}")
        self._engine = await Engine.connect()
        async with wholly(self.stop):
            self._runtime = Runtime(self._run_dir.name)
            run = self._runtime.path.name
            (self._runtime.path / CONTAINERS).touch()
            # In a far node's namespace nothing can listen, and its peers would be sought in vain.
            self._gates = self._gates and self._engine.host is None
            links = GateLinks(self._system) if self._gates else PacketLinks(run, self._system)
            self._links = links
            self._refusing = Port()
            self._system.prepare(self._runtime)
            made = await project.network(self._engine, self._system, run=run, name=self._run_dir.name)
            links.know(made.addresses)
            for node, service in self._system.services.items():
                launch = self._system.launch(node, made.addresses[node], links.peers(node))
                self._mounting |= bool(launch.mounts)
                self._containers[node] = await project.container(self._engine, made, service, launch)
            await asyncio.gather(*(self._start_node(node) for node in self.nodes))
            links.keep()
            await asyncio.gather(*(self._until_answer(node) for node in self.nodes))

    async def stop(self) -> None:
        """Heal, keep the logs, remove everything. Idempotent; safe half-started."""
        engine, runtime = self._engine, self._runtime
        if engine is None:
            return
        try:
            if self._links is not None:
                await self._links.close()
            if self._refusing is not None:
                self._refusing.close()
            if runtime is not None:
                await self._keep_logs()
                await _remove(engine, runtime.path.name)
                self._system.close()  # while a start may be under way the engine makes what is not there
                runtime.remove()
        except TargetError as error:
            await self._kill_all()
            self._system.close()
            raise TargetError(f"{error}; `lantern heal` tries again") from error
        finally:
            engine.close()
            self._engine = self._runtime = self._links = None
            self._containers = {}

    async def restart(self, node: str) -> None:
        """Start a killed node again with its volume; its links are as they were before."""
        if self.state(node) is ProcessState.GONE:
            await self._start_node(node)
            await self._until_answer(node)

    async def _start_node(self, node: str) -> None:
        container = self.container(node)
        self._system.before_start(node)
        await container.start()
        if container.far and self._mounting:
            raise TargetError(f"{NO_PID}, and what {node} is started with lies on this one: run it here")
        if container.pid is not None and netns.obstacle() is None:
            self.links.attach(node, container.pid)

    async def _kill_all(self) -> None:
        """Kill the nodes without the engine; one that it was just told to start comes a little later."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + LATE_START_S
        while loop.time() < deadline_s:
            for container in self._containers.values():
                for who in processes.found(container.id):
                    procfs.send(who, signal.SIGKILL)
            await asyncio.sleep(LOOK_S)

    async def _keep_logs(self) -> None:
        """Keep the end of every node's log; a log that cannot be had changes no verdict."""
        folder = self._run_dir / "logs"
        for node, container in self._containers.items():
            try:
                folder.mkdir(parents=True, exist_ok=True)
                said = await container.log(bytes_max=LOG_BYTES_MAX, deadline_s=LOG_S)
                (folder / f"{node}.log").write_bytes(said)
            except (TargetError, OSError) as error:
                log.warning("event=log-lost node=%s error=%r", node, str(error))


async def _remove(engine: Engine, run: str) -> None:
    if left := await project.remove(engine, run):
        raise TargetError(f"the engine did not remove {', '.join(left)}")
