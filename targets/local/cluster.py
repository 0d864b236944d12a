"""A cluster as processes on loopback: no root, no container, nothing installed.

The harness's own process is the network: every directed link runs through a gate in its event loop, so
a cut takes hold between two bytes, with no packet filter. What was started is written down in a private
runtime directory before anyone can forget it. Everything asked about a node is read afresh. What is run,
and how it is asked, is the `ProcessSystem`'s.

All of it belongs to the thread that starts it: nodes die with that thread, and gates live in its loop.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Final

from targets.cluster import (
    Link,
    LinkState,
    NodeStatus,
    Primitive,
    ProcessState,
    Silenced,
    TargetError,
    Unsupported,
)
from targets.host.gate import NO_SILENCE
from targets.host.heal import heal
from targets.host.runtime import Runtime
from targets.host.starting import require_true_clock, wholly
from targets.knobs import Knobs
from targets.system import NO_SUSPEND

from .links import Links
from .node import LocalNode

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence
    from pathlib import Path

    from targets.cluster import Address

    from .system import ProcessSystem

log: Final = logging.getLogger(__name__)

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
_ITS_OWN: Final = frozenset(
    {Primitive.PAUSE, Primitive.KILL, Primitive.LINKS, Primitive.CLIENT_LINKS, Primitive.DELAY}
)


async def _all(work: Iterable[Coroutine[None, None, None]]) -> None:
    """Wait for all of it; the first failure stops the rest and is raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class LocalCluster(Knobs):
    """See `targets.cluster.Cluster`.

    Logs go into ``run_dir``; data, sockets and clocks into a private directory that is gone after
    `stop`; with ``keep`` the data is copied to ``data/`` in ``run_dir`` before that.
    """

    _system: ProcessSystem

    def __init__(self, system: ProcessSystem, run_dir: Path, *, keep: bool = False) -> None:
        for name in system.nodes:
            if not _NAME.fullmatch(name):
                raise ValueError(f"a node cannot be called {name!r}: letters, digits, - and _ only")
        self._system = system
        self._run_dir = run_dir
        self._keep = keep
        self._runtime: Runtime | None = None
        self._links: Links | None = None
        self._nodes: dict[str, LocalNode] = {}

    @property
    def nodes(self) -> Sequence[str]:
        """Names of all nodes, in order."""
        return self._system.nodes

    def supports(self, primitive: Primitive) -> str | None:
        """Return why a primitive cannot be had here, None if it can."""
        if primitive is Primitive.SILENCE:
            return NO_SILENCE
        if primitive is Primitive.SUSPEND:
            return NO_SUSPEND
        return None if primitive in _ITS_OWN else self._system.unsupported(primitive)

    async def start(self) -> None:
        """Undo what dead runs left, start every node at once and wait until each answers."""
        require_true_clock()
        for healed in heal():
            for what in (*healed.done, *healed.failed):
                log.info("event=healed run=%s what=%r", healed.run, what)
        try:
            async with wholly(self.stop):
                self._set_up()
                for name in self.nodes:
                    self._spawn(name)
                await _all(node.until_ready() for node in self._nodes.values())
        except OSError as error:
            raise TargetError(f"the cluster could not be set up: {error}") from error

    def _set_up(self) -> None:
        logs = self._run_dir / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        self._runtime = Runtime(self._run_dir.name)
        self._system.prepare(self._runtime)
        for name in self.nodes:
            told = logs / f"{name}.log"
            self._nodes[name] = LocalNode(name, self._system, self._runtime, log=told)
        self._links = Links(
            self.nodes,
            one_way_dials=self._system.one_way_dials,
            peer_addresses={name: node.peer_port.address for name, node in self._nodes.items()},
            client_addresses={name: node.client_port.address for name, node in self._nodes.items()},
        )

    def _spawn(self, name: str) -> None:
        links = self._running()
        self._nodes[name].spawn(links.peer_addresses(name))
        links.set_up(name, up=True)

    async def stop(self) -> None:
        """End everything and remove it; nothing if there is nothing."""
        ended = await asyncio.gather(
            *(node.end() for node in self._nodes.values()), return_exceptions=True
        )
        self._system.close()
        if self._links is not None:
            self._links.close()
        for node in self._nodes.values():
            node.close()
        await asyncio.sleep(0)  # transports that were aborted close in the loop's next turn
        failed = [each for each in ended if isinstance(each, BaseException)]
        if failed:
            raise failed[0]  # what is left is left written down, for a heal
        runtime = self._runtime
        self._nodes, self._links, self._runtime = {}, None, None
        if runtime is None:
            return
        try:
            if self._keep:
                runtime.copy("data", self._run_dir / "data")
        except OSError as error:  # shutil.Error is one
            raise TargetError(f"what the nodes had on disk could not be kept: {error}") from error
        finally:
            runtime.remove()

    def _running(self) -> Links:
        if self._links is None:
            raise TargetError("the cluster has not been started, or was stopped")
        return self._links

    def _node(self, name: str) -> LocalNode:
        self._running()
        node = self._nodes.get(name)
        if node is None:
            raise ValueError(f"there is no node {name!r}, only {', '.join(self.nodes)}")
        return node

    def address(self, node: str) -> Address:
        """Return where clients dial a node."""
        return self._running().client_address(node)

    async def status(self, node: str) -> NodeStatus | None:
        """Ask a node about itself."""
        return await self._node(node).status()

    def state(self, node: str) -> ProcessState:
        """Read what a node's process does."""
        return self._node(node).state()

    async def exit_code(self, node: str) -> int | None:
        """Return how a node's process ended."""
        process = self._node(node).process
        return None if process is None else process.exit_code

    async def pause(self, node: str) -> None:
        """Stop a node's process; return once all of it stands."""
        process = self._node(node).process
        if process is None or process.state() is ProcessState.GONE:
            raise Unsupported(f"{node} is gone and cannot be paused")
        await process.pause()

    async def resume(self, node: str) -> None:
        """Let a node's process go on."""
        process = self._node(node).process
        if process is not None:
            process.resume()

    async def kill(self, node: str) -> None:
        """Kill a node's process; dialers are refused from now on."""
        found = self._node(node)
        self._running().set_up(node, up=False)
        await found.end()

    async def restart(self, node: str) -> None:
        """Start a node that is gone on the data it had; a node that is there is left alone."""
        found = self._node(node)
        if found.state() is ProcessState.GONE:
            await found.end()
            self._spawn(node)
            await found.until_ready()

    def set_link(self, link: Link, state: LinkState) -> None:
        """Put a directed link into a state, at once."""
        if isinstance(state, Silenced):
            raise Unsupported(NO_SILENCE)
        self._running().turn(link, state)

    def link_state(self, link: Link) -> LinkState:
        """Read a link's state back."""
        return self._running().state(link)
