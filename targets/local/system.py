"""What a system adds to run as processes on this host: the command line of a node.

`LocalCluster` gives each node two ports, a data directory, and for every peer the address of the link
that leads there; a `ProcessSystem` says what is run with them. So another system is a class of a few
lines: `targets.system.PlainSystem`, ``nodes``, `launch` and ``status``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from targets.cluster import Address
from targets.system import System

if TYPE_CHECKING:
    from collections.abc import Sequence


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """Where one node lives.

    It listens for clients and peers on ``client`` and ``peer``, and dials each of its ``peers`` at the
    address of the link to it, never at the peer's own. ``data`` is kept over a restart.
    """

    client: Address
    peer: Address
    peers: dict[str, Address]
    data: Path


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What is run: a command, without a shell, and what its environment holds besides the usual.

    A process that does not die with its parent by itself is to be `targets.local.tether.tethered`.
    """

    command: tuple[str, ...]
    environment: dict[str, str] = {}


class ProcessSystem(System, Protocol):
    """One system's part of a cluster of processes."""

    @property
    def nodes(self) -> Sequence[str]:
        """Names of all nodes, in order."""

    def launch(self, node: str, home: Home) -> Launch:
        """Return how ``node`` is started; called, and written anew what has to be, at every start."""
