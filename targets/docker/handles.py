"""The handles of a cluster in containers, whoever made the containers.

Pause, kill, links, knobs and status are the same for a cluster that was made here and for one that was
found running; only how it starts, ends and starts again differs. What the engine's host being this one
gives (signals by pid, cuts inside namespaces) is offered only where it is so; `supports` says why not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from targets.cluster import (
    CLIENTS,
    Link,
    LinkState,
    NodeStatus,
    Primitive,
    ProcessState,
    TargetError,
    Unsupported,
)
from targets.host.gate import NO_SILENCE
from targets.knobs import Knobs
from targets.system import NO_SUSPEND

from . import netns, queues
from .container import NO_PID, Container

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from targets.host.gate import Port
    from targets.host.runtime import Runtime

    from .gates import GateLinks
    from .links import PacketLinks
    from .system import ContainerSystem

OF_LINKS: Final = frozenset(
    {Primitive.LINKS, Primitive.CLIENT_LINKS, Primitive.DELAY, Primitive.SILENCE}
)

READY_S: Final = 30.0
ASK_S: Final = 0.05
SIGNALS_FROM: Final = 128


class ContainerCluster(Knobs):
    """The parts of `targets.cluster.Cluster` that every cluster in containers has."""

    _system: ContainerSystem

    def __init__(self, system: ContainerSystem, *, gates: bool = False) -> None:
        self._system = system
        self._gates = gates
        self._runtime: Runtime | None = None
        self._links: PacketLinks | GateLinks | None = None
        self._containers: dict[str, Container] = {}
        self._refusing: Port | None = None

    @property
    def nodes(self) -> Sequence[str]:
        """Names of all nodes, in order."""
        return tuple(self._system.services)

    @property
    def images(self) -> Mapping[str, str]:
        """See `targets.cluster.Imaged`."""
        return {node: container.image for node, container in self._containers.items()}

    def supports(self, primitive: Primitive) -> str | None:
        """None if it can be done here and now, else the reason why not."""
        if primitive is Primitive.SILENCE and self._gates:
            return NO_SILENCE
        if primitive is Primitive.SUSPEND:
            return NO_SUSPEND
        if primitive in OF_LINKS:
            here = all(
                container.pid is not None for container in self._containers.values() if container.running
            )
            reason = netns.obstacle() if here else NO_PID
            if reason is None and primitive is Primitive.DELAY and not self._gates:
                return queues.obstacle()
            return reason
        return self._system.unsupported(primitive)

    @property
    def links(self) -> PacketLinks | GateLinks:
        """What cuts and delays the links of the running cluster."""
        self._check_started()
        assert self._links is not None
        return self._links

    @property
    def run(self) -> str:
        """The id that everything of the running cluster is named after."""
        self._check_started()
        assert self._runtime is not None
        return self._runtime.path.name

    def _check_started(self) -> None:
        if self._links is None:
            raise TargetError("the cluster has not been started, or was stopped")

    def container(self, name: str) -> Container:
        """Return a node's container; there are none before the start and after the end."""
        self._check_started()
        found = self._containers.get(name)
        if found is None:
            raise ValueError(f"there is no node {name!r}, only {', '.join(self._containers)}")
        return found

    def address(self, node: str) -> tuple[str, int]:
        """Return where clients dial a node, or where a far engine publishes it.

        A dead node's address is nobody's, and dialing it would hang; a port that refuses stands for it.
        """
        port = self._system.client_port
        container = self.container(node)
        if container.state() is ProcessState.GONE and self._refusing is not None:
            return self._refusing.address
        if container.far:
            published = container.published(port)
            if published is None:
                raise TargetError(f"{NO_PID}, and {node} publishes no port {port} there: publish it")
            return published
        return self.links.client_address(node)

    async def status(self, node: str) -> NodeStatus | None:
        """Ask the node; None if it does not answer in time."""
        if self.container(node).state() is not ProcessState.RUNNING:
            return None
        return await self._system.status(node, self.address(node))

    def state(self, node: str) -> ProcessState:
        """Return what the kernel says of the node's process."""
        return self.container(node).state()

    async def exit_code(self, node: str) -> int | None:
        """Return how a node's process ended, as the engine has it; it calls signals 128 and more."""
        try:
            code = await self.container(node).ended_with()
        except TargetError:
            return None  # an engine that is silent, or a container removed: gone is what is known
        return code if code is None or code <= SIGNALS_FROM else SIGNALS_FROM - code

    async def pause(self, node: str) -> None:
        """SIGSTOP, verified."""
        container = self.container(node)
        if container.state() is ProcessState.GONE:
            raise Unsupported(f"{node} is gone and cannot be paused")
        await container.pause()

    async def resume(self, node: str) -> None:
        """SIGCONT; nothing if the node runs or is gone."""
        await self.container(node).resume()

    async def kill(self, node: str) -> None:
        """SIGKILL; dialers are refused from now on."""
        await self.container(node).kill()
        self.links.detach(node)

    def set_link(self, link: Link, state: LinkState) -> None:
        """Put a directed link into a state, at once."""
        self._of(link).set(link, state)

    def link_state(self, link: Link) -> LinkState:
        """Read back the state of a link."""
        return self._of(link).state(link)

    def _of(self, link: Link) -> PacketLinks | GateLinks:
        """Return what cuts a link, if there is such a link and it can be cut here."""
        known = {*self.nodes, CLIENTS}
        if not {link.source, link.target} <= known or link.source == link.target:
            raise ValueError(f"there is no link from {link.source!r} to {link.target!r}")
        reason = self.supports(Primitive.LINKS)
        if reason is not None:
            raise Unsupported(reason)
        return self.links

    def _silence(self, node: str) -> str:
        """Return where to read why a node does not answer."""
        del node
        return "its log says why"

    async def _until_answer(self, node: str) -> None:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + READY_S
        container = self.container(node)
        while await self.status(node) is None:
            if container.state() is ProcessState.GONE:
                code = await container.learnt_end()
                how = "ended" if code is None else f"ended with code {code}"
                raise TargetError(f"{node} {how} as it started: {await container.last_words()}")
            if loop.time() > deadline_s:
                raise TargetError(f"{node} did not answer within {READY_S:g} s; {self._silence(node)}")
            await asyncio.sleep(ASK_S)
        self._system.after_start(node, container.pid)
