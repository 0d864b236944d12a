"""A leasekv cluster as processes on loopback: no root, no container, nothing installed.

The harness's own process is the network: every directed link runs through a gate in its event loop, so
a cut takes hold between two bytes, with no packet filter. What was started is written down in a private
runtime directory before anyone can forget it. Everything asked about a node is read afresh.

All of it belongs to the thread that starts it: nodes die with that thread, and gates live in its loop.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import (
    ClockBend,
    ClockMode,
    Link,
    LinkState,
    NodeStatus,
    Primitive,
    ProcessState,
    Silenced,
    TargetError,
    Unsupported,
)
from targets.host import faketime
from targets.host.faketime import ControlFile
from targets.host.gate import Port
from targets.host.runtime import Runtime, replace
from targets.leasekv import admin
from targets.leasekv.admin_client import AdminClient
from targets.leasekv.place import NodePlace, Start

from .links import Links
from .process import NodeProcess, environment, python

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence
    from pathlib import Path

    from targets.cluster import Address
    from targets.leasekv.config import NodeConfig

NO_SILENCE: Final = "links run through gates, which acknowledge what they keep"
READY_S: Final = 30.0
STATUS_S: Final = 0.5
KNOB_S: Final = 2.0
PROBE_S: Final = 0.02
LOG_TAIL: Final = 20

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")


class LocalNode:
    """One node: where it lives, and its process while there is one."""

    def __init__(self, config: NodeConfig, runtime: Runtime, run_dir: Path, mode: ClockMode) -> None:
        self.name = config.node
        self.log = run_dir / "logs" / f"{self.name}.log"
        self.peer_port = Port()
        self.client_port = Port()
        self.admin = AdminClient(self.name, runtime.admin_socket(self.name))
        self.clock = ControlFile(runtime.directory("clock", self.name), mode)
        self.process: NodeProcess | None = None
        self._config = config
        self._runtime = runtime
        self._evidence = run_dir.absolute() / "evidence" / f"{self.name}.jsonl"  # a node runs elsewhere
        self._data = runtime.directory("data", self.name)

    def spawn(self, peers: dict[str, tuple[str, int]]) -> None:
        """Start the process and write it down."""
        env = environment(self.clock.environment())
        place = NodePlace(
            cluster=self._runtime.path.name,
            peer_address=self.peer_port.address,
            client_address=self.client_port.address,
            peers=peers,
            data_dir=str(self._data),
            evidence=str(self._evidence),
            admin=str(self._runtime.admin_socket(self.name)),
            parent_pid=os.getpid(),
            spawned_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
        )
        start = self._runtime.path / f"{self.name}.json"
        replace(start, msgspec.json.encode(Start(config=self._config, place=place)))
        command = python("targets.leasekv.node", str(start))
        self.process = NodeProcess(self.name, command, env=env, cwd=self._runtime.path, log=self.log)
        self._runtime.record(self.name, self.process.identity)

    def state(self) -> ProcessState:
        """Read what the process does."""
        return ProcessState.GONE if self.process is None else self.process.state()

    async def status(self) -> NodeStatus | None:
        """Ask the node; None if it does not answer."""
        if self.state() is not ProcessState.RUNNING:
            return None
        return await self.admin.status(within_s=STATUS_S)

    async def until_ready(self) -> None:
        """Wait until the node answers, and see that its clocks are what they should be."""
        deadline_s = time.monotonic() + READY_S
        before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        while (status := await self.status()) is None:
            if self.process is not None and (code := self.process.exit_code) is not None:
                raise TargetError(
                    f"{self.name} ended with code {code} as it started: {self.last_words()}"
                )
            if time.monotonic() > deadline_s:
                raise TargetError(
                    f"{self.name} did not answer within {READY_S:g} s of its start: {self.last_words()}"
                )
            await asyncio.sleep(PROBE_S)
        assert self.process is not None
        self.clock.started(self.process.identity.pid)
        if not before_ns <= status.true_ns <= time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW):
            raise TargetError(f"{self.name} does not read the true clock: it says {status.true_ns} ns")

    def last_words(self) -> str:
        """Return the last line of the node's log and then its end, as the last part of a message."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        last = next((line for line in reversed(lines) if line.strip()), "its log is empty")
        told = "\n".join(f"  {line}" for line in lines[-LOG_TAIL:]) or "  (nothing)"
        return f"{last}\nThe end of {self.log}:\n{told}"

    async def ask(self, question: admin.Ask) -> None:
        """Have the node do something; `Unsupported` if it cannot hear, ``TimeoutError`` if unsure."""
        if self.state() is not ProcessState.RUNNING:
            raise Unsupported(f"{self.name} is {self.state().value} and cannot be asked")
        await self.admin.turn(question, within_s=KNOB_S)

    async def end(self) -> None:
        """Kill and reap the process, and remove what the preload left."""
        process = self.process
        self.admin.close()
        if process is not None:
            await process.kill()
            faketime.sweep(process.identity.pid)
            self.process = None  # not sooner: what does not die is still there for the next `end`

    def close(self) -> None:
        """Give the ports back."""
        self.peer_port.close()
        self.client_port.close()


async def _all(work: Iterable[Coroutine[None, None, None]]) -> None:
    """Wait for all of it; the first failure stops the rest and is raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class LocalCluster:
    """See `targets.cluster.Cluster`.

    ``config`` is every node's, its ``node`` apart. Evidence and logs go into ``run_dir``; data, sockets
    and clocks into a private directory that is gone after `stop`; with ``keep`` the data is copied to
    ``data/`` in ``run_dir`` before that.
    """

    def __init__(
        self,
        config: NodeConfig,
        run_dir: Path,
        *,
        clock: ClockMode = ClockMode.NONE,
        keep: bool = False,
    ) -> None:
        for name in config.nodes:
            if not _NAME.fullmatch(name):
                raise ValueError(f"a node cannot be called {name!r}: letters, digits, - and _ only")
        self._config = config
        self._run_dir = run_dir
        self._mode = clock
        self._keep = keep
        self._runtime: Runtime | None = None
        self._links: Links | None = None
        self._nodes: dict[str, LocalNode] = {}

    @property
    def nodes(self) -> Sequence[str]:
        """Names of all nodes, in order."""
        return self._config.nodes

    def supports(self, primitive: Primitive) -> str | None:
        """Return why a primitive cannot be had here, None if it can."""
        match primitive:
            case Primitive.CLOCK_WALL | Primitive.CLOCK_RATE:
                wanted = ClockMode.WALL if primitive is Primitive.CLOCK_WALL else ClockMode.RATE
                if self._mode is wanted:
                    return faketime.unavailable(wanted)
                return f"the clocks were armed for {self._mode.value}, not for {wanted.value}"
            case Primitive.SILENCE:
                return NO_SILENCE
            case _:
                return None

    async def start(self) -> None:
        """Start every node at once and wait until each answers."""
        if faketime.preloaded():
            raise TargetError(
                "the harness runs under libfaketime itself: its clock would be worth nothing"
            )
        try:
            for part in ("evidence", "logs"):
                (self._run_dir / part).mkdir(parents=True, exist_ok=True)
            self._runtime = Runtime(self._run_dir.name)
            for name in self.nodes:
                config = msgspec.structs.replace(self._config, node=name)
                self._nodes[name] = LocalNode(config, self._runtime, self._run_dir, self._mode)
            self._links = Links(
                self.nodes,
                peer_addresses={name: node.peer_port.address for name, node in self._nodes.items()},
                client_addresses={name: node.client_port.address for name, node in self._nodes.items()},
            )
            for name in self.nodes:
                self._spawn(name)
            await _all(node.until_ready() for node in self._nodes.values())
        except BaseException as error:
            try:
                await self.stop()
            except TargetError as left:
                error.add_note(str(left))
            if isinstance(error, OSError):
                raise TargetError(f"the cluster could not be set up: {error}") from error
            raise

    def _spawn(self, name: str) -> None:
        links = self._running()
        self._nodes[name].spawn(links.peer_addresses(name))
        links.set_up(name, up=True)

    async def stop(self) -> None:
        """End everything and remove it; nothing if there is nothing."""
        ended = await asyncio.gather(
            *(node.end() for node in self._nodes.values()), return_exceptions=True
        )
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

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend a node's clocks; one that can answer must show it, or the harness has failed."""
        found = self._node(node)
        found.clock.bend(bend)
        status = await found.status()
        if status is not None and (error_ns := found.clock.error_ns(status)) > faketime.ERROR_NS_MAX:
            raise TargetError(
                f"the clock of {node} was bent by {bend} but is {error_ns / 1e6:.1f} ms off that"
            )

    async def campaign(self, node: str) -> None:
        """Ask a node to campaign."""
        await self._node(node).ask(admin.Campaign())

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Make a node apply late."""
        await self._node(node).ask(admin.SetApplyDelay(delay_ns))

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Make a node's syncs late."""
        await self._node(node).ask(admin.SetSyncDelay(delay_ns))

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave a node's disk only so much room."""
        await self._node(node).ask(admin.SetDiskRoom(room_bytes))
