"""One node of a cluster of processes: where it lives, and its process while there is one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from targets.cluster import NodeStatus, ProcessState, TargetError
from targets.host import faketime
from targets.host.gate import Port
from targets.trueclock import raw_ns

from .process import NodeProcess, environment
from .system import Home

if TYPE_CHECKING:
    from pathlib import Path

    from targets.cluster import Address
    from targets.host.runtime import Runtime

    from .system import ProcessSystem

READY_S: Final = 30.0
PROBE_S: Final = 0.02
LOG_TAIL: Final = 20


class LocalNode:
    """See the module. ``name`` is the node's, ``log`` where it tells its story."""

    def __init__(self, name: str, system: ProcessSystem, runtime: Runtime, *, log: Path) -> None:
        self.name = name
        self.log = log
        self.peer_port = Port()
        self.client_port = Port()
        self.process: NodeProcess | None = None
        self._system = system
        self._runtime = runtime
        self._data = runtime.directory("data", name)

    def spawn(self, peers: dict[str, Address]) -> None:
        """Start the process and write it down."""
        home = Home(
            client=self.client_port.address, peer=self.peer_port.address, peers=peers, data=self._data
        )
        launch = self._system.launch(self.name, home)
        self.process = NodeProcess(
            self.name,
            launch.command,
            env=environment(launch.environment),
            cwd=self._runtime.path,
            log=self.log,
        )
        self._runtime.record(self.name, self.process.identity)

    def state(self) -> ProcessState:
        """Read what the process does."""
        return ProcessState.GONE if self.process is None else self.process.state()

    async def status(self) -> NodeStatus | None:
        """Ask the node; None if it does not answer."""
        if self.state() is not ProcessState.RUNNING:
            return None
        return await self._system.status(self.name, self.client_port.address)

    async def until_ready(self) -> None:
        """Wait until the node answers, and see that its clocks are what they should be."""
        deadline_s = time.monotonic() + READY_S
        before_ns = raw_ns()
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
        self._system.after_start(self.name, self.process.identity.pid)
        if not before_ns <= status.true_ns <= raw_ns():
            raise TargetError(f"{self.name} does not read the true clock: it says {status.true_ns} ns")

    def last_words(self) -> str:
        """Return the last line of the node's log and then its end, as the last part of a message."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        last = next((line for line in reversed(lines) if line.strip()), "its log is empty")
        told = "\n".join(f"  {line}" for line in lines[-LOG_TAIL:]) or "  (nothing)"
        return f"{last}\nThe end of {self.log}:\n{told}"

    async def end(self) -> None:
        """Kill and reap the process, and remove what a preload left."""
        process = self.process
        if process is not None:
            await process.kill()
            faketime.sweep(process.identity.pid)
            self.process = None  # not sooner: what does not die is still there for the next `end`

    def close(self) -> None:
        """Give the ports back."""
        self.peer_port.close()
        self.client_port.close()
