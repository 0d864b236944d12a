"""What a system adds to run in containers: how its nodes are launched, and how they are asked.

`DockerCluster` knows containers, networks and links; a `System` knows the program inside. Everything
here concerns one running cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.cluster import Address, ClockBend, NodeStatus, Primitive
    from targets.host.runtime import Runtime

    from .template import Service


class Mount(msgspec.Struct, frozen=True):
    """A file or folder of this host and where the node sees it."""

    host: Path
    inside: str


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What a node's container is created with besides its service in the compose file."""

    command: tuple[str, ...] | None = None
    environment: dict[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    resolves: dict[str, str] = {}
    """Names that this node resolves otherwise than its network would, to addresses."""


class System(Protocol):
    """One system's part of a cluster in containers."""

    @property
    def services(self) -> Mapping[str, Service]:
        """The service of every node, by the node's name, in order."""

    @property
    def client_port(self) -> int:
        """Where a node listens for clients."""

    @property
    def peer_port(self) -> int:
        """Where a node listens for its peers."""

    @property
    def one_way_dials(self) -> bool:
        """Whether what a node says to a peer travels only on connections that it dialed itself."""

    def prepare(self, runtime: Runtime) -> None:
        """Take the private directory of the run; called once, before anything else."""

    def launch(self, node: str, address: str, peers: Mapping[str, str]) -> Launch:
        """Return how ``node`` is created.

        ``address`` is the one to listen on for peers; ``peers`` says where each other node is found.
        """

    def before_start(self, node: str) -> None:
        """Write what has to be new at every start."""

    def after_start(self, node: str, pid: int | None) -> None:
        """Hear that a node's process has come up, with its pid on this host if it has one."""

    def unsupported(self, primitive: Primitive) -> str | None:
        """Return why this system cannot do what only it could do, None if it can or need not."""

    async def status(self, node: str, address: Address) -> NodeStatus | None:
        """Ask a node; None if it does not answer in time."""

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend a node's clocks, or raise `Unsupported`."""

    async def campaign(self, node: str) -> None:
        """Have a node campaign, or raise `Unsupported`."""

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Delay a node's applies, or raise `Unsupported`."""

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Delay a node's syncs, or raise `Unsupported`."""

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave a node's disk only so much room, or raise `Unsupported`."""

    def close(self) -> None:
        """Let go of every connection."""
