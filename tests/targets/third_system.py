"""A third system, whole: what it takes to have one tested. Registers, spoken to in lines of JSON.

Its nodes are servers of this process that share one store, so mode ``strong`` is linearizable by
construction; in mode ``cached`` every node but the leader keeps what it has once read.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from nemesis_fake_cluster import FakeCluster

from checker.events import EventType
from targets.clock import Reading
from targets.cluster import ClockMode, NodeStatus, Role
from targets.request import RequestSession
from targets.session import Call, Completion
from targets.target import Mistake, Mode, Place, Setup, Target, UnfitError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LEADER = "n1"


class ThirdCluster(FakeCluster):
    """Three servers; nothing can be done to them."""

    def __init__(self, *, cached: bool) -> None:
        super().__init__()
        self._cached = cached
        self._store: dict[str, Any] = {}
        self._servers: dict[str, asyncio.Server] = {}
        self._dialed: list[asyncio.StreamWriter] = []

    def supports(self, primitive: object) -> str:
        return f"nobody can do {primitive} to servers of one process"

    async def start(self) -> None:
        for node in self.nodes:
            self._servers[node] = await asyncio.start_server(self._serving(node), "127.0.0.1", 0)

    async def stop(self) -> None:
        for server in self._servers.values():
            server.close()
        for writer in self._dialed:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._dialed), return_exceptions=True)

    def address(self, node: str) -> tuple[str, int]:
        host, port = self._servers[node].sockets[0].getsockname()
        return host, port

    async def status(self, node: str) -> NodeStatus:
        return NodeStatus(
            node=node,
            role=Role.LEADER if node == LEADER else Role.FOLLOWER,
            term=1,
            leader=LEADER,
            commit_index=0,
            applied_index=0,
            lease_remaining_ns=None,
            own=Reading(time.monotonic_ns(), time.time_ns()),
            true_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
        )

    def _serving(self, node: str) -> Any:
        kept: dict[str, Any] = {}
        reads = kept if self._cached and node != LEADER else self._store

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._dialed.append(writer)
            with contextlib.suppress(ConnectionError):  # whoever asked may leave without a word
                while line := await reader.readline():
                    asked = json.loads(line)
                    key, value = asked["key"], asked["value"]
                    done = True
                    match asked["f"]:
                        case "read":
                            value = reads.setdefault(key, self._store.get(key))
                        case "write":
                            self._store[key] = value
                        case "cas":
                            done = self._store.get(key) == value[0]
                            self._store[key] = value[1] if done else self._store.get(key)
                    writer.write(msgspec.json.encode({**asked, "value": value, "done": done}) + b"\n")

        return serve


class ThirdSpeech:
    """See `targets.request.Speech`."""

    def ask(self, call: Call, number: int) -> dict[str, Any]:
        return {"number": number, "f": call.f, "key": call.key, "value": call.value}

    def number(self, answer: dict[str, Any]) -> int:
        return int(answer["number"])

    def heard(self, call: Call, answer: dict[str, Any]) -> Completion:
        if not answer["done"]:
            return Completion(EventType.FAIL, call.value, "mismatch")
        return Completion(EventType.OK, answer["value"])


class Lines:
    """See `targets.session.Reader`."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, data: bytes) -> list[Any]:
        *lines, self._left = (self._left + data).split(b"\n")
        return [json.loads(line) for line in lines]


class ThirdClient:
    """See `targets.session.Client`."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def session(self) -> RequestSession:
        return RequestSession(
            ThirdSpeech(),
            read_timeout_ns=self._setup.read_timeout_ns,
            write_timeout_ns=self._setup.write_timeout_ns,
        )

    def reader(self) -> Lines:
        return Lines()

    def encode(self, message: dict[str, Any]) -> bytes:
        return msgspec.json.encode(message) + b"\n"


class Third:
    """See `targets.target.Target`."""

    name = "third"
    about = "registers in this very process"
    modes: Mapping[str, Mode] = MappingProxyType(
        {
            "strong": Mode(name="strong", about="one store for all"),
            "cached": Mode(name="cached", about="what a node has read, it keeps"),
        }
    )
    places: tuple[Place, ...] = (Place.LOCAL, Place.DOCKER)
    takes = frozenset({"read_timeout_ns"})
    mistakes: Mapping[str, Mistake] = MappingProxyType(
        {
            "torn": Mistake(  # nothing is aimed at it
                id="torn",
                sentence="It never happened.",
                policy="strong",
                rule="X1",
                also_off=(),
                nodes=3,
                places=(Place.DOCKER,),
                needs=(),
                drift_ppm=50_000,
                clock=ClockMode.NONE,
            )
        }
    )
    rules_off: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()

    def check(self, setup: Setup) -> None:
        if len(setup.node_names) != len(ThirdCluster(cached=False).nodes):
            raise UnfitError(f"it has three nodes, not {len(setup.node_names)}", key="nodes")

    def cluster(self, setup: Setup, run_dir: Path, *, gates: bool) -> ThirdCluster:
        assert run_dir.is_dir()
        assert not gates
        return ThirdCluster(cached=setup.policy == "cached")

    def client(self, setup: Setup) -> ThirdClient:
        return ThirdClient(setup)


THIRD: Target = Third()
