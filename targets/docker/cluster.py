"""A cluster in containers: one network namespace a node, made from the compose file's services.

Everything made for a run carries its labels and lies on one network of its own, so two runs live side by
side and a heal finds what a dead one left. Nodes have addresses that are chosen here and stay the same
over a restart; clients on this host dial them directly, without a published port in between, so what
is measured is the node, and a daemon that dies takes nothing along.

    create, nothing runs -> start each: start file, container, namespace, links -> wait for answers

What the engine's host being this one gives (signals by pid, cuts inside namespaces, clocks) is offered
only where it is so; `supports` says why not otherwise.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from targets.cluster import (
    CLIENTS,
    ClockBend,
    Link,
    LinkState,
    NodeStatus,
    Primitive,
    ProcessState,
    TargetError,
    Unsupported,
)
from targets.local import faketime
from targets.local.gate import Port
from targets.local.runtime import Runtime

from . import netns, project
from .container import NO_PID, Container
from .engine import Engine
from .gates import GateLinks
from .links import NO_DELAY, PacketLinks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .system import System

READY_S: Final = 30.0
ASK_S: Final = 0.05
LOG_BYTES_MAX: Final = 20 * 1024 * 1024

log = logging.getLogger(__name__)


class DockerCluster:
    """See `targets.cluster.Cluster`.

    With ``gates`` links run through the harness (`targets.docker.gates`), which can delay them and hold
    them for as long as it likes; without, they are cut by packet filter inside the namespaces.
    """

    def __init__(self, system: System, run_dir: Path, *, gates: bool = False) -> None:
        self._system = system
        self._run_dir = run_dir
        self._gates = gates
        self._engine: Engine | None = None
        self._runtime: Runtime | None = None
        self._links: PacketLinks | GateLinks | None = None
        self._containers: dict[str, Container] = {}
        self._refusing: Port | None = None

    @property
    def nodes(self) -> Sequence[str]:
        """Names of all nodes, in order."""
        return tuple(self._system.services)

    def supports(self, primitive: Primitive) -> str | None:
        """None if it can be done here and now, else the reason why not."""
        if primitive is Primitive.DELAY and not self._gates:
            return NO_DELAY
        if primitive in {Primitive.LINKS, Primitive.CLIENT_LINKS, Primitive.DELAY}:
            here = all(
                container.pid is not None for container in self._containers.values() if container.running
            )
            return netns.obstacle() if here else NO_PID
        return self._system.unsupported(primitive)

    async def start(self) -> None:
        """Create and start everything; raise `TargetError` if a node does not answer in time."""
        if faketime.preloaded():
            raise TargetError(
                "the harness runs under libfaketime itself: its clock would be worth nothing"
            )
        self._engine = await Engine.connect()
        self._runtime = Runtime(self._run_dir.name)
        run = self._runtime.path.name
        self._links = links = self._make_links(run)
        self._refusing = Port()
        try:
            self._system.prepare(self._runtime)
            made = await project.network(self._engine, self._system, run=run, name=self._run_dir.name)
            links.know(made.addresses)
            for node, service in self._system.services.items():
                launch = self._system.launch(node, made.addresses[node], links.peers(node))
                self._containers[node] = await project.container(self._engine, made, service, launch)
            await asyncio.gather(*(self._start_node(node) for node in self.nodes))
            links.keep()
            await asyncio.gather(*(self._until_answer(node) for node in self.nodes))
        except BaseException:
            await self.stop()
            raise

    def _make_links(self, run: str) -> PacketLinks | GateLinks:
        if not self._gates:
            return PacketLinks(run, self._system)
        if (reason := netns.obstacle()) is not None:
            raise TargetError(f"there can be no gates here: {reason}")
        return GateLinks(self._system)

    async def stop(self) -> None:
        """Heal, keep the logs, remove everything. Idempotent; safe half-started."""
        if self._engine is None or self._runtime is None or self._links is None:
            return
        await self._links.close()
        self._system.close()
        if self._refusing is not None:
            self._refusing.close()
        for node, container in self._containers.items():
            await self._keep_log(node, container)
        left = await project.remove(self._engine, self._runtime.path.name)
        self._engine.close()
        if left:
            raise TargetError(f"the engine did not remove {', '.join(left)}; `lantern heal` tries again")
        self._runtime.remove()
        self._engine = self._runtime = self._links = None
        self._containers = {}

    def _running(self) -> PacketLinks | GateLinks:
        if self._links is None:
            raise TargetError("the cluster has not been started, or was stopped")
        return self._links

    def _node(self, name: str) -> Container:
        self._running()
        found = self._containers.get(name)
        if found is None:
            raise ValueError(f"there is no node {name!r}, only {', '.join(self._containers)}")
        return found

    def address(self, node: str) -> tuple[str, int]:
        """Return where clients dial a node, or where a far engine publishes it.

        A dead node's address is nobody's, and dialing it would hang; a port that refuses stands for it.
        """
        container = self._node(node)
        if container.state() is ProcessState.GONE and self._refusing is not None:
            return self._refusing.address
        if container.pid is None and (published := container.published(self._system.client_port)):
            return published
        return self._running().client_address(node)

    async def status(self, node: str) -> NodeStatus | None:
        """Ask the node; None if it does not answer in time."""
        if self._node(node).state() is not ProcessState.RUNNING:
            return None
        return await self._system.status(node, self.address(node))

    def state(self, node: str) -> ProcessState:
        """Return what the kernel says of the node's process."""
        return self._node(node).state()

    async def pause(self, node: str) -> None:
        """SIGSTOP, verified."""
        container = self._node(node)
        if container.state() is ProcessState.GONE:
            raise Unsupported(f"{node} is gone and cannot be paused")
        await container.pause()

    async def resume(self, node: str) -> None:
        """SIGCONT; nothing if the node runs or is gone."""
        await self._node(node).resume()

    async def kill(self, node: str) -> None:
        """SIGKILL; dialers are refused from now on."""
        await self._node(node).kill()
        self._running().detach(node)

    async def restart(self, node: str) -> None:
        """Start a killed node again with its volume; its links are as they were before."""
        if self.state(node) is ProcessState.GONE:
            await self._start_node(node)
            await self._until_answer(node)

    def set_link(self, link: Link, state: LinkState) -> None:
        """Put a directed link into a state, at once."""
        self._of(link).set(link, state)

    def link_state(self, link: Link) -> LinkState:
        """Read back the state of a link."""
        return self._of(link).state(link)

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend a node's clocks from now on."""
        await self._system.bend_clock(node, bend)

    async def campaign(self, node: str) -> None:
        """Ask the node to campaign now."""
        self._check_awake(node)
        await self._system.campaign(node)

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Make the node apply entries late."""
        self._check_awake(node)
        await self._system.set_apply_delay(node, delay_ns)

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Make the node's syncs late."""
        self._check_awake(node)
        await self._system.set_sync_delay(node, delay_ns)

    def _check_awake(self, node: str) -> None:
        if (state := self.state(node)) is not ProcessState.RUNNING:
            raise Unsupported(f"{node} is {state.value} and cannot be asked")

    def _of(self, link: Link) -> PacketLinks | GateLinks:
        """Return what cuts a link, if there is such a link and it can be cut here."""
        known = {*self.nodes, CLIENTS}
        if not {link.source, link.target} <= known or link.source == link.target:
            raise ValueError(f"there is no link from {link.source!r} to {link.target!r}")
        reason = self.supports(Primitive.LINKS)
        if reason is not None:
            raise Unsupported(reason)
        return self._running()

    async def _start_node(self, node: str) -> None:
        container = self._node(node)
        self._system.before_start(node)
        await container.start()
        if container.pid is not None and netns.obstacle() is None:
            self._running().attach(node, container.pid)

    async def _until_answer(self, node: str) -> None:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + READY_S
        container = self._node(node)
        while await self.status(node) is None:
            if container.state() is ProcessState.GONE:
                await container.refresh()
                last = (await container.log(bytes_max=2000)).decode(errors="replace").strip()
                raise TargetError(
                    f"{node} ended with code {container.exit_code} as it started: {last[-800:]}"
                )
            if loop.time() > deadline_s:
                raise TargetError(f"{node} did not answer within {READY_S:g} s; its log says why")
            await asyncio.sleep(ASK_S)
        self._system.after_start(node, container.pid)

    async def _keep_log(self, node: str, container: Container) -> None:
        """Keep the end of a node's log; a log that cannot be had changes no verdict."""
        try:
            kept = self._run_dir / "logs" / f"{node}.log"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(await container.log(bytes_max=LOG_BYTES_MAX))
        except (TargetError, OSError) as error:
            log.warning("event=log-lost node=%s error=%r", node, str(error))
