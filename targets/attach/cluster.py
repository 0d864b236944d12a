"""Somebody's own cluster, found running: faults are made on its containers, and all is left as found.

Only the containers named are touched. What is needed to leave them as they were found is written to the
private runtime directory before the first fault, so that `lantern heal` can do it for a harness that was
killed: continue what is stopped, remove the run's packet filter table, start what ran and runs no more.

Nodes are called n1, n2, ... in the order of the containers.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from targets.clock import Reading
from targets.cluster import CLIENTS, NodeStatus, Primitive, ProcessState, Role, TargetError
from targets.docker import netns
from targets.docker.container import NO_PID, Container, ContainerGoneError
from targets.docker.engine import Engine
from targets.docker.handles import OF_LINKS, ContainerCluster
from targets.docker.links import PacketLinks
from targets.docker.system import PlainContainers
from targets.docker.template import Service
from targets.host.gate import Port
from targets.host.runtime import Runtime
from targets.host.starting import wholly
from targets.trueclock import raw_ns

from . import found as finding
from . import record
from .aside import Aside
from .bridge import Bridge
from .calling import Raised, call, made
from .client import Definite
from .words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from targets.cluster import Address
    from targets.docker.gates import GateLinks
    from targets.docker.system import Launch

    from .client import Client

ASK_S: Final = 0.3
OPEN_S: Final = 10.0


class AttachedSystem(PlainContainers):
    """What is known of a system through somebody's client."""

    def __init__(self, client: type[Client], mode: str, count: int) -> None:
        names = [f"n{number}" for number in range(1, count + 1)]
        self.services = {name: Service(name=name, image="") for name in names}
        self.client_port = client.port
        self.peer_port = client.port
        self.aside = Aside()
        """Where the client runs."""
        self._client = client
        self._mode = mode
        self._asked: dict[str, Client] = {}
        self._turns = {name: asyncio.Lock() for name in names}
        self.trouble: dict[str, str] = {}
        """What somebody's client last raised when a node was asked."""
        self._leader_by_term: dict[int, str] = {}  # of the last leader that was asked

    def launch(self, node: str, address: str, peers: object) -> Launch:
        """Refuse: nothing is launched here."""
        raise AssertionError(f"{node} was found at {address}, not made ({peers!r})")

    async def status(self, node: str, address: Address) -> NodeStatus | None:
        """Ask a node whether it leads, on a connection kept for that.

        A node that does not follows whoever said that it leads in the same term. Raises `TargetError`
        if the client lets nobody else in any more.
        """
        self.aside.check()
        try:
            leads, term = await self.aside.run(self._leading(node, address), ASK_S)
        except (Definite, Raised) as error:
            self.trouble[node] = str(error)
            return None
        except TimeoutError:
            self.trouble[node] = f"nothing within {ASK_S:g} s"
            return None
        if leads:
            self._leader_by_term = {term: node}
        return NodeStatus(
            node=node,
            role=Role.LEADER if leads else Role.FOLLOWER,
            term=term,
            leader=self._leader_by_term.get(term),
            commit_index=0,
            applied_index=0,
            lease_remaining_ns=None,
            own=Reading(time.monotonic_ns(), time.time_ns()),
            true_ns=raw_ns(),
        )

    async def _leading(self, node: str, address: Address) -> tuple[bool, int]:
        """Return whether a node leads, and in which term. Runs aside.

        Several may ask at once; somebody's client is asked one thing at a time.
        """
        async with self._turns[node]:
            try:
                client = self._asked.get(node)
                if client is None:
                    client = self._asked[node] = made(partial(self._client, self._mode))
                    await call("connect", client.connect(*address))
                return _as_leadership(await call("leading", client.leading()))
            except BaseException:
                await self.forget(node)
                raise

    async def drop(self, node: str) -> None:
        """Forget the connection to a node that cannot answer."""
        if node in self._asked:
            with contextlib.suppress(TimeoutError):
                await self.aside.run(self.forget(node), 2 * ASK_S)

    async def forget(self, node: str) -> None:
        """Drop the connection that a node is asked on. Runs aside."""
        client = self._asked.pop(node, None)
        if client is not None:
            with contextlib.suppress(Definite, Raised, TimeoutError):  # it is dropped either way
                async with asyncio.timeout(ASK_S):
                    await call("close", client.close())


class AttachedCluster(ContainerCluster):
    """See `targets.cluster.Cluster`. See `targets.attach.found` for ``containers`` and ``compose``."""

    def __init__(
        self,
        client: type[Client],
        mode: str,
        run_dir: Path,
        *,
        count: int,
        containers: Sequence[str] = (),
        compose: Path | None = None,
    ) -> None:
        self._attached = AttachedSystem(client, mode, count)
        super().__init__(self._attached)
        self._run_dir = run_dir
        self._names = tuple(containers)
        self._compose = compose
        self.known_as: dict[str, str] = {}
        """See `targets.cluster.Found`."""
        self._engine: Engine | None = None
        self._bridges = {
            node: Bridge(
                partial(client, mode), partial(self._attached.aside.back, partial(self._dialed, node))
            )
            for node in self.nodes
        }

    async def start(self) -> None:
        """Find the containers and see that each runs and answers; nothing is started."""
        self._engine = await Engine.connect()
        self._runtime = Runtime(self._run_dir.name)
        self._refusing = Port()
        self._links = PacketLinks(self._runtime.path.name, self._attached)
        async with wholly(self.stop):
            found = await self._find(self._engine)
            held = record.holders(self._runtime)
            for node, one in zip(self.nodes, found, strict=True):
                self._containers[node] = await _running(self._engine, node, one, held.get(one.id))
                self.known_as[node] = one.name
            record.save(self._runtime, self._containers)
            record.check_alone(self._runtime)
            if (reason := self._obstacle()) is None:
                self._links.know(self._addresses())
                for node, container in self._containers.items():
                    self._attach(node, container)
                self._links.keep()
            elif reason != NO_PID:
                self._links.know(self._addresses())
            await self._attached.aside.run(self._open_bridges(self._runtime.path.name), OPEN_S)
            await asyncio.gather(*(self._until_answer(node) for node in self.nodes))

    async def stop(self) -> None:
        """Leave every container as it was found. Idempotent; safe half-started."""
        engine, runtime, links = self._engine, self._runtime, self._links
        if engine is None or runtime is None or links is None:
            return
        try:
            left = await self._leave(links)
            if left:
                left.append("`lantern heal` tries again")  # of what is left, and left written down
            else:
                runtime.remove()
            if (stuck := await self._attached.aside.end(self._farewell())) is not None:
                left.append(stuck)
            if left:
                raise TargetError("; ".join(left))
        finally:
            if self._refusing is not None:
                self._refusing.close()
            engine.close()
            self._engine = self._runtime = self._links = None
            self._containers = {}

    async def _open_bridges(self, space: str) -> None:
        """Begin to listen. Runs aside."""
        for bridge in self._bridges.values():
            await bridge.open(space)

    async def _farewell(self) -> None:
        """Drop every connection of the client's. Runs aside."""
        await asyncio.gather(*(bridge.close() for bridge in self._bridges.values()))
        await asyncio.gather(*(self._attached.forget(node) for node in self.nodes))

    async def _leave(self, links: PacketLinks | GateLinks) -> list[str]:
        """Leave everything as it was found; what goes wrong with one part keeps no other from it."""
        left: list[str] = []
        try:
            await links.close()
        except TargetError as error:
            left.append(str(error))
        for container in self._containers.values():
            try:
                await container.resume()
                if container.state() is ProcessState.GONE:
                    await container.start()
            except ContainerGoneError:
                continue  # its owner removed it
            except TargetError as error:
                left.append(str(error))
        return left

    def address(self, node: str) -> Address:
        """Return where the harness dials: the node's bridge, at which somebody's client talks."""
        self.container(node)
        return self._bridges[node].listening

    async def status(self, node: str) -> NodeStatus | None:
        """Ask the node; None if it does not answer in time."""
        if self.container(node).state() is not ProcessState.RUNNING:
            await self._attached.drop(node)
            return None
        return await self._attached.status(node, self._dialed(node))

    async def restart(self, node: str) -> None:
        """Start a node again; it may have come back with another address."""
        container = self.container(node)
        if self.state(node) is ProcessState.GONE:
            await container.start()
            if self._obstacle() is None and isinstance(self._links, PacketLinks):
                self._links.know(self._addresses())
                self._attach(node, container)
            await self._until_answer(node)

    def _dialed(self, node: str) -> Address:
        """Return where a client of somebody's reaches the node itself."""
        return super().address(node)

    def _silence(self, node: str) -> str:
        said = self._attached.trouble.get(node)
        return "your client says no more" if said is None else f"your client says: {said}"

    def _obstacle(self) -> str | None:
        here = all(container.pid is not None for container in self._containers.values())
        return netns.obstacle() if here else NO_PID

    def _attach(self, node: str, container: Container) -> None:
        if container.pid is not None and self._links is not None:
            self._links.attach(node, container.pid)

    def supports(self, primitive: Primitive) -> str | None:
        """See `ContainerCluster`; what may go round a cut is not cut."""
        return (self._way_round() if primitive in OF_LINKS else None) or super().supports(primitive)

    def _way_round(self) -> str | None:
        """Return over which other way than one network's IPv4 the containers may speak."""
        _, shared = self._shared()
        if len(shared) > 1:
            return f"the containers share the networks {', '.join(shared)}, and a cut is of one"
        if any(container.speaks_ipv6() for container in self._containers.values()):
            return "the containers have IPv6 addresses, and a cut is of IPv4"
        return None

    def _shared(self) -> tuple[dict[str, dict[str, tuple[str, str]]], list[str]]:
        """Return every container's addresses by network, and the networks of all of them."""
        seen = {node: container.addresses() for node, container in self._containers.items()}
        return seen, sorted(set.intersection(*map(set, seen.values()))) if seen else []

    def _addresses(self) -> dict[str, str]:
        """Return everybody's address in a network that all the containers share."""
        seen, shared = self._shared()
        if not shared:
            raise TargetError("the containers share no network, so no link between them can be cut")
        name = shared[0]
        gateway = next(iter(seen.values()))[name][1]
        return {CLIENTS: gateway, **{node: networks[name][0] for node, networks in seen.items()}}

    async def _find(self, engine: Engine) -> tuple[finding.Found, ...]:
        if self._compose is None:
            found = await finding.by_name(engine, self._names)
        else:
            found = await finding.by_compose(engine, self._compose, self._names)
        if len(found) != len(self.nodes):
            raise TargetError(
                f"there are {len(found)} containers, and the plan has {len(self.nodes)} nodes: say"
                f" --nodes {len(found)}, or name those to test under `containers` in a plan, of"
                f" {', '.join(one.name for one in found)}"
            )
        return found


def _as_leadership(answer: Any) -> tuple[bool, int]:
    match answer:
        case (bool(leads), int(term)) if not isinstance(term, bool):
            return leads, int.__index__(term)
        case _:
            raise Raised(
                f"TypeError: leading returned {shown(answer)}, not whether the node leads and its term"
            )


async def _running(
    engine: Engine, node: str, found: finding.Found, holder: record.Holder | None
) -> Container:
    container = Container(engine, node, found.id)
    await container.refresh()
    state = container.state()
    if state is ProcessState.RUNNING:
        return container
    if state is ProcessState.GONE:
        how, remedy = "does not run", "start your cluster first, or name the containers to test"
    else:
        how, remedy = "is paused", "`docker unpause` it, or continue its processes"
    if holder is not None and holder.live:
        remedy = f"run {holder.run} of Lantern makes faults on it, so wait for its end"
    elif holder is not None:
        remedy = f"run {holder.run} of Lantern left it so and is dead, so `lantern heal`"
    raise TargetError(f"{found.name} {how}: {remedy}")
