"""Where one node lives: the addresses, files and parent that its start file gives it.

`NodeConfig` says how a node behaves and is the same in a simulator; a `NodePlace` says where its driver
finds the world. Both come in one JSON file, written anew for every start.
"""

from __future__ import annotations

from typing import Final

import msgspec

from targets.cluster import Address

from .config import NodeConfig

START_SCHEMA: Final = 1


class NodePlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The surroundings of one node.

    ``peers`` maps each peer's name to where to *dial* it, which is a link's proxy rather than the
    peer's own port. ``cluster`` is said in every hello: nodes of another run are not heard.
    ``parent_pid`` None means that nobody has to outlive the node (it is a container's first process).
    ``spawned_ns`` is CLOCK_MONOTONIC_RAW at the parent, just before the start. ``metrics_address`` is
    where a Prometheus may scrape the node, None for nowhere.
    """

    cluster: str
    peer_address: Address
    client_address: Address
    peers: dict[str, Address]
    data_dir: str
    evidence: str
    admin: str
    parent_pid: int | None
    spawned_ns: int
    metrics_address: Address | None = None


class Start(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a node is started with."""

    schema: int = START_SCHEMA
    config: NodeConfig
    place: NodePlace
