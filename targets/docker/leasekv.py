"""leasekv in containers: start files, evidence and admin sockets through a folder mounted in each node.

A node sees its folder under the same path for every node; the evidence is a single file mounted into it,
so that no node can write another's. Clocks bend by the image's libfaketime, whose control file is in the
folder; when a node took its start time is read from its own shared memory, through ``/proc``.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import ClockBend, ClockMode, NodeStatus, Primitive, TargetError, Unsupported
from targets.host.faketime import ERROR_NS_MAX
from targets.host.runtime import replace
from targets.leasekv import admin
from targets.leasekv.admin_client import AdminClient
from targets.leasekv.container import CLIENT_PORT, DATA, GIVEN, PEER_PORT
from targets.leasekv.place import NodePlace, Start

from .cluster import DockerCluster
from .faketime import ContainerClock
from .system import Launch, Mount
from .template import compose_file, parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from targets.cluster import Address
    from targets.host.runtime import Runtime
    from targets.leasekv.config import NodeConfig

INSIDE: Final = str(GIVEN.parent)
EVIDENCE: Final = f"{INSIDE}/evidence.jsonl"
ASK_S: Final = 0.25
NO_CLOCK: Final = "bending a clock needs its start, which only root on the engine's host can read"
TURN_S: Final = 2.0

ANYWHERE: Final = "0.0.0.0"  # noqa: S104 - inside a node's own namespace


class LeaseKvSystem:
    """See `targets.docker.system.System`."""

    def __init__(self, config: NodeConfig, run_dir: Path, *, clock: ClockMode = ClockMode.NONE) -> None:
        template = parse(compose_file().read_text())
        for node in config.nodes:
            if node not in template:
                raise ValueError(f"the compose file has no service {node!r}, only {', '.join(template)}")
        self.services = {node: template[node] for node in config.nodes}
        self.client_port = CLIENT_PORT
        self.peer_port = PEER_PORT
        self.one_way_dials = True
        self._config = config
        self._evidence = run_dir.resolve() / "evidence"  # the engine takes no relative path
        self._mode = clock
        self._no_clock: str | None = None
        self._cluster = ""
        self._folders: dict[str, Path] = {}
        self._addresses: dict[str, str] = {}
        self._peers: dict[str, Mapping[str, str]] = {}
        self._admin: dict[str, AdminClient] = {}
        self._clocks: dict[str, ContainerClock] = {}

    def prepare(self, runtime: Runtime) -> None:
        """Make every node's folder."""
        self._cluster = runtime.path.name
        self._evidence.mkdir(parents=True, exist_ok=True)
        for node in self.services:
            folder = runtime.directory(node)
            self._folders[node] = folder
            self._admin[node] = AdminClient(node, folder / "admin")
            self._clocks[node] = ContainerClock(folder, self._mode, inside=INSIDE)

    def launch(self, node: str, address: str, peers: Mapping[str, str]) -> Launch:
        """Return how a node is created: its folder and its evidence mounted, its clocks armed."""
        self._addresses[node] = address
        self._peers[node] = peers
        evidence = self._evidence / f"{node}.jsonl"
        evidence.touch()
        environment = self._clocks[node].environment()
        mounts = (Mount(self._folders[node], INSIDE), Mount(evidence, EVIDENCE))
        return Launch(environment=environment, mounts=mounts)

    def before_start(self, node: str) -> None:
        """Write the start file; the node compares its first true reading with the stamp in it."""
        self._admin[node].close()
        self._clocks[node].environment()
        place = NodePlace(
            cluster=self._cluster,
            peer_address=(self._addresses[node], PEER_PORT),
            client_address=(ANYWHERE, CLIENT_PORT),
            peers={peer: (address, PEER_PORT) for peer, address in self._peers[node].items()},
            data_dir=DATA,
            evidence=EVIDENCE,
            admin=f"{INSIDE}/admin",
            parent_pid=None,
            spawned_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
        )
        start = Start(config=msgspec.structs.replace(self._config, node=node), place=place)
        replace(self._folders[node] / GIVEN.name, msgspec.json.encode(start))

    def after_start(self, node: str, pid: int | None) -> None:
        """Take the start of a node's clocks from the process, where it can be looked into."""
        if self._mode is ClockMode.NONE:
            return
        if pid is None or os.geteuid() != 0:
            self._no_clock = NO_CLOCK
        else:
            self._clocks[node].started(pid)

    def unsupported(self, primitive: Primitive) -> str | None:
        """Return why clocks cannot be bent that way; the rest is in the node."""
        match primitive:
            case Primitive.CLOCK_RATE | Primitive.CLOCK_WALL if self._no_clock is not None:
                return self._no_clock
            case Primitive.CLOCK_RATE if self._mode is not ClockMode.RATE:
                return f"the clocks were armed for {self._mode.value}, not for rates"
            case Primitive.CLOCK_WALL if self._mode is not ClockMode.WALL:
                return f"the clocks were armed for {self._mode.value}, not for wall jumps"
            case _:
                return None

    async def status(self, node: str, address: Address) -> NodeStatus | None:
        """Ask on the admin socket: it does not run through the links."""
        del address
        return await self._admin[node].status(within_s=ASK_S)

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend; a node that can answer must show it, or the harness has failed."""
        clock = self._clocks[node]
        if self._no_clock is not None and bend != ClockBend():
            raise Unsupported(self._no_clock)
        clock.bend(bend)
        status = await self.status(node, ("", 0))
        if status is not None and (error_ns := clock.error_ns(status)) > ERROR_NS_MAX:
            raise TargetError(
                f"the clock of {node} was bent by {bend} but is {error_ns / 1e6:.1f} ms off"
            )

    async def campaign(self, node: str) -> None:
        """Ask the node to campaign, through its own vote rules."""
        await self._admin[node].turn(admin.Campaign(), within_s=TURN_S)

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Delay applies."""
        await self._admin[node].turn(admin.SetApplyDelay(delay_ns), within_s=TURN_S)

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Delay syncs."""
        await self._admin[node].turn(admin.SetSyncDelay(delay_ns), within_s=TURN_S)

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave its disk only so much room."""
        await self._admin[node].turn(admin.SetDiskRoom(room_bytes), within_s=TURN_S)

    def close(self) -> None:
        """Drop the admin connections."""
        for client in self._admin.values():
            client.close()


def leasekv_cluster(
    config: NodeConfig, run_dir: Path, *, clock: ClockMode = ClockMode.NONE, gates: bool = False
) -> DockerCluster:
    """Return a leasekv cluster in containers, not started; as `targets.local.cluster.LocalCluster`."""
    return DockerCluster(LeaseKvSystem(config, run_dir, clock=clock), run_dir, gates=gates)
