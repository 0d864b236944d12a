"""leasekv in containers: start files, evidence and admin sockets through a folder mounted in each node.

A node sees its folder under the same path for every node; the evidence is a single file mounted into it,
so that no node can write another's. Its data is on a disk of its own, which can be full. Clocks bend by
the image's libfaketime, whose control file is in the folder; when a node took its start time is read
from its own shared memory, through ``/proc``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from targets.cluster import ClockMode, Primitive, Unsupported
from targets.docker.cluster import DockerCluster
from targets.docker.faketime import ContainerClock
from targets.docker.system import Launch, Mount
from targets.docker.template import compose_file, parse
from targets.host.disk import Disk
from targets.host.runtime import replace
from targets.trueclock import raw_ns

from .admin_client import AdminClient
from .container import CLIENT_PORT, DATA, GIVEN, PEER_PORT
from .place import NodePlace
from .system import LeaseKvSystem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.host.runtime import Runtime

    from .config import NodeConfig

INSIDE: Final = str(GIVEN.parent)
EVIDENCE: Final = f"{INSIDE}/evidence.jsonl"
NO_CLOCK: Final = "bending a clock needs its start, which only root on the engine's host can read"

ANYWHERE: Final = "0.0.0.0"  # noqa: S104 - inside a node's own namespace


class LeaseKvContainers(LeaseKvSystem):
    """See `targets.docker.system.ContainerSystem`."""

    def __init__(self, config: NodeConfig, run_dir: Path, *, clock: ClockMode = ClockMode.NONE) -> None:
        template = parse(compose_file().read_text())
        for node in config.nodes:
            if node not in template:
                raise ValueError(f"the compose file has no service {node!r}, only {', '.join(template)}")
        self.services = {node: template[node] for node in config.nodes}
        super().__init__(config, clock=clock)
        self.client_port = CLIENT_PORT
        self.peer_port = PEER_PORT
        self._evidence = run_dir.resolve() / "evidence"  # the engine takes no relative path
        self._cluster = ""
        self._folders: dict[str, Path] = {}
        self._addresses: dict[str, str] = {}
        self._peers: dict[str, Mapping[str, str]] = {}
        self._no_disk: str | None = None
        self._disks: dict[str, Disk] = {}

    def prepare(self, runtime: Runtime) -> None:
        """Make every node's folder."""
        self._cluster = runtime.path.name
        self._evidence.mkdir(parents=True, exist_ok=True)
        for node in self.services:
            folder = runtime.directory(node)
            self._folders[node] = folder
            self._admin[node] = AdminClient(node, folder / "admin")
            self._clocks[node] = ContainerClock(folder, self._mode, inside=INSIDE)
            try:
                self._disks[node] = Disk(runtime.directory(f"{node}-disk"))
            except OSError as error:
                self._no_disk = f"a disk that can be full has to be mounted, which needs root ({error})"

    def launch(self, node: str, address: str, peers: Mapping[str, str]) -> Launch:
        """Return how a node is created: its folder and its evidence mounted, its clocks armed."""
        self._addresses[node] = address
        self._peers[node] = peers
        evidence = self._evidence / f"{node}.jsonl"
        evidence.touch()
        environment = self._clocks[node].environment()
        disk = self._disks.get(node)
        data = () if disk is None else (Mount(disk.path, DATA),)
        mounts = (Mount(self._folders[node], INSIDE), Mount(evidence, EVIDENCE), *data)
        return Launch(environment=environment, mounts=mounts)

    def before_start(self, node: str) -> None:
        """Write the start file; the node compares its first true reading with the stamp in it."""
        self._admin[node].close()
        if (disk := self._disks.get(node)) is not None:
            disk.set_room(None)
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
            spawned_ns=raw_ns(),
        )
        replace(self._folders[node] / GIVEN.name, self._start_file(node, place))

    def after_start(self, node: str, pid: int | None) -> None:
        """Look into the process: whether its disk is ours, and when its clocks started."""
        disk = self._disks.get(node)
        if disk is not None and (pid is None or not disk.is_at(Path(f"/proc/{pid}/root{DATA}"))):
            self._no_disk = "the engine lives among other mounts than this harness"
        if self._mode is not ClockMode.NONE and (pid is None or os.geteuid() != 0):
            self._no_clock = NO_CLOCK
        else:
            super().after_start(node, pid)

    def unsupported(self, primitive: Primitive) -> str | None:
        """Return why a disk cannot be full, or a clock not be bent that way; the rest is in the node."""
        if primitive is Primitive.DISK_ROOM:
            return self._no_disk
        return super().unsupported(primitive)

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave its disk only so much room: a write for which there is none fails with ENOSPC."""
        if self._no_disk is not None:
            raise Unsupported(self._no_disk)
        self._disks[node].set_room(room_bytes)

    def close(self) -> None:
        """Drop the admin connections, and the disks: nodes that are still there keep theirs.

        An evidence file is made before its node is: of one that never wrote, none is left.
        """
        super().close()
        for evidence in self._evidence.glob("*.jsonl"):
            if evidence.stat().st_size == 0:
                evidence.unlink()
        for disk in self._disks.values():
            disk.remove()


def leasekv_cluster(
    config: NodeConfig, run_dir: Path, *, clock: ClockMode = ClockMode.NONE, gates: bool = False
) -> DockerCluster:
    """Return a leasekv cluster in containers, not started; as `processes` does."""
    return DockerCluster(LeaseKvContainers(config, run_dir, clock=clock), run_dir, gates=gates)
