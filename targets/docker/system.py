"""What a system adds to run in containers: its services in a compose file, and how they are launched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from targets.system import PlainSystem, System

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .template import Service


class Mount(msgspec.Struct, frozen=True):
    """A file or folder of this host and where the node sees it."""

    host: Path
    inside: str


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What a node's container is created with besides its service in the compose file.

    Something mounted where the service has a volume takes that volume's place.
    """

    command: tuple[str, ...] | None = None
    environment: dict[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    resolves: dict[str, str] = {}
    """Names that this node resolves otherwise than its network would, to addresses."""


class ContainerSystem(System, Protocol):
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

    def launch(self, node: str, address: str, peers: Mapping[str, str]) -> Launch:
        """Return how ``node`` is created.

        ``address`` is the one to listen on for peers; ``peers`` says where each other node is found.
        """

    def before_start(self, node: str) -> None:
        """Write what has to be new at every start."""


class PlainContainers(PlainSystem):
    """The parts of a `ContainerSystem` that one without knobs need not have."""

    def before_start(self, node: str) -> None:
        """Need nothing new for a start."""
