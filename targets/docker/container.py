"""One node as a container: freeze, thaw, kill, start, and what the kernel says of its processes.

Signals go to the host's pids of the container's processes, not through the daemon: 0.05 ms instead
of 20, from outside (STOP sent from inside its own pid namespace is ignored by process 1), and still
possible when the daemon is not. A kill goes to the first one, with which all others end; stopped is a
container when every process of it is. A pid that the daemon names is believed only if the process it
names is in this container's control group: with a remote engine it would be some innocent process here.

Where there is no host pid, or not one that this user may signal, freezing goes through the daemon's
freezer, and what needs the pid says so.
Nothing about a container is remembered over a restart: pid, namespace and address are read anew. One
that somebody else started again in the meantime, a restart policy for instance, is taken as it is.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any, Final

import docker.errors

from targets.cluster import ProcessState, TargetError
from targets.host import procfs
from targets.host.until import until

from . import processes
from .engine import CALL_S, EngineRefusedError

if TYPE_CHECKING:
    from .engine import Engine

STOP_S: Final = 2.0
EXIT_S: Final = 10.0
LEARN_S: Final = 1.0
ASK_S: Final = 0.05

LOOPBACK: Final = "127.0.0.1"
ANY: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - what a port is published on

NO_PID: Final = "the engine's host is another machine than this one"


class ContainerGoneError(TargetError):
    """Somebody removed the container."""


class Container:
    """A handle of a container that exists, running or not; call `refresh` before anything else."""

    def __init__(self, engine: Engine, node: str, container_id: str) -> None:
        self.node = node
        self.id = container_id
        self._engine = engine
        self._group: processes.Group | None = None
        self._seen: dict[str, Any] = {}

    async def refresh(self) -> None:
        """Read the container anew; raise `TargetError` if there is none any more."""
        self._seen = await self._inspect()
        pid = self._seen["State"]["Pid"]
        self._group = processes.group_of(pid, self.id) if pid else None

    async def _inspect(self) -> dict[str, Any]:
        try:
            return await self._engine.call(
                f"describe {self.node}", lambda client: _described(client.api.inspect_container(self.id))
            )
        except docker.errors.NotFound as error:
            raise ContainerGoneError(f"{self.node}: its container {self.id[:12]} is gone") from error

    async def ended_with(self) -> int | None:
        """Return the code the engine has for its end, None if it knows of none; no `refresh`."""
        seen = await self._inspect()
        return None if seen["State"]["Running"] else int(seen["State"]["ExitCode"])

    async def learnt_end(self) -> int | None:
        """Return the same of one that is gone, when the engine has learnt of it; None if it does not."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + LEARN_S
        code = await self.ended_with()
        while code is None and loop.time() < deadline_s:
            await asyncio.sleep(ASK_S)
            code = await self.ended_with()
        return code

    @property
    def running(self) -> bool:
        """Whether the daemon said, at the last `refresh`, that it runs."""
        return bool(self._seen["State"]["Running"])

    @property
    def image(self) -> str:
        """The digest of the image it was made from, as of the last `refresh`."""
        return str(self._seen["Image"])

    @property
    def pid(self) -> int | None:
        """The first process's pid on this host; None if it does not run, or not here."""
        return None if self._group is None else self._group.first.pid

    @property
    def identity(self) -> procfs.Identity | None:
        """The first process for good."""
        return None if self._group is None else self._group.first

    def addresses(self) -> dict[str, tuple[str, str]]:
        """Return its IPv4 address and gateway in each of its networks, by the network's name."""
        return {
            name: (said["IPAddress"], said["Gateway"])
            for name, said in self._networks().items()
            if said["IPAddress"]
        }

    def speaks_ipv6(self) -> bool:
        """Whether it has an IPv6 address that others may reach it at."""
        return any(said.get("GlobalIPv6Address") for said in self._networks().values())

    def _networks(self) -> dict[str, Any]:
        return dict(self._seen["NetworkSettings"]["Networks"])

    @property
    def far(self) -> bool:
        """Whether it runs on another machine than this one, as of the last `refresh`."""
        return self.running and self._group is None

    def published(self, port: int) -> tuple[str, int] | None:
        """Return where a port of it is published on the engine's host, None if it is not."""
        bound = self._seen["NetworkSettings"]["Ports"].get(f"{port}/tcp") or []
        if not bound:
            return None
        host = bound[0]["HostIp"]
        return (self._engine.host or LOOPBACK) if host in ANY else host, int(bound[0]["HostPort"])

    def state(self) -> ProcessState:
        """Return what the kernel says now; without a host pid, what the daemon said last."""
        if self._group is not None:
            return self._group.state()
        if not self._seen["State"]["Running"] or self._seen["State"]["Pid"] == 0:
            return ProcessState.GONE
        return ProcessState.STOPPED if self._seen["State"]["Paused"] else ProcessState.RUNNING

    async def pause(self) -> None:
        """Freeze it; return once every process is stopped. Nothing if it is stopped already."""
        if self._group is not None and self._group.obeys():
            await until(
                ProcessState.STOPPED,
                self.state,
                name=self.node,
                verb="stop",
                within_s=STOP_S,
                pressing=self._group.stop,
            )
        elif self.state() is not ProcessState.STOPPED:
            await self._tell("freeze", lambda client: client.api.pause(self.id))

    async def resume(self) -> None:
        """Let it go on; nothing if it runs or is gone."""
        if self._group is not None and self._group.obeys():
            self._group.resume()
        if self._frozen():
            await self._tell("thaw", lambda client: client.api.unpause(self.id))

    def _frozen(self) -> bool:
        """Whether the engine's freezer holds it, whoever asked for that."""
        if self._group is not None:
            return self._group.frozen()
        return self.state() is ProcessState.STOPPED

    async def kill(self) -> None:
        """SIGKILL; return once it is dead. The daemon may learn of it a little later."""
        if self._group is not None and self._group.obeys():
            procfs.send(self._group.first, signal.SIGKILL)
            await until(ProcessState.GONE, self.state, name=self.node, verb="die", within_s=EXIT_S)
        else:
            await self._tell("kill", lambda client: client.api.kill(self.id))

    async def start(self) -> None:
        """Start it, or start it again; it comes with a new pid and a new network namespace.

        One that somebody else has started again since the last `refresh` is left running.
        """
        if not await self._came_back():
            await self._tell("start", lambda client: client.api.start(self.id))
        await self._known()

    async def _known(self) -> None:
        """Give an engine of this host the time to learn that what it started has ended at once.

        Until then it names a pid that is nobody's here, as one on another machine does for good.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + LEARN_S
        while self.far and self._engine.host is None and loop.time() < deadline_s:
            await asyncio.sleep(ASK_S)
            await self.refresh()

    async def log(self, *, bytes_max: int, deadline_s: float = CALL_S) -> bytes:
        """Return the end of what it said, ``bytes_max`` at most; `TargetError` if it cannot be had."""
        lines = bytes_max // 80
        try:
            said = await self._engine.call(
                f"hand over the log of {self.node}",
                lambda client: client.api.logs(self.id, stdout=True, stderr=True, tail=lines),
                deadline_s=deadline_s,
            )
        except (
            EngineRefusedError,
            docker.errors.NotFound,
        ) as error:  # a driver that keeps none, for one
            raise TargetError(f"the engine has no log of {self.node}: {error.explanation}") from error
        return bytes(said)[-bytes_max:]

    async def last_words(self) -> str:
        """Return the end of what it said, for a message; or why there is none to be had."""
        try:
            said = await self.log(bytes_max=2000)
        except TargetError as error:
            return str(error)
        return said.decode(errors="replace").strip()[-800:]

    async def _tell(self, verb: str, action: Any) -> None:
        try:
            await self._engine.call(f"{verb} {self.node}", action)
        except docker.errors.NotFound:
            pass  # gone is as good as thawed or killed; `refresh` says so where it is not
        except EngineRefusedError as error:
            raise TargetError(f"the engine would not {verb} {self.node}: {error.explanation}") from error
        await self.refresh()

    async def _came_back(self) -> bool:
        """Wait until the engine knows of its end; return whether it runs again after all."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + EXIT_S
        before = self.identity
        await self.refresh()
        while self.running:
            if self.identity not in (None, before):
                return True
            if loop.time() > deadline_s:
                raise TargetError(f"{self.node} is to be started but the engine calls it running")
            await asyncio.sleep(ASK_S)
            await self.refresh()
        return False


def _described(said: Any) -> dict[str, Any]:
    """Return a container's description; KeyError or TypeError if it lacks what is read of it."""
    state = said["State"]
    for key in ("Running", "Paused", "Pid", "ExitCode"):
        state[key]
    said["Image"], said["NetworkSettings"]["Networks"]  # as above
    return dict(said)
