"""One leasekv node as the first process of a container.

A harness mounts a start file; it is then started with that. `docker compose up` has none to give (a
start file is written anew for every start), so here one is made from the container's environment:

    LEASEKV_NODE      this node's name, which the others resolve
    LEASEKV_NODES     all names, comma separated, in order
    LEASEKV_POLICY    how reads are served; lease-renew if it is not given

Its metrics are on port 7002, at /metrics. The node runs in this very process: what is paused and killed
as the container's process 1 is the node.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from targets import trueclock

from . import node
from .config import ConfigError, NodeConfig
from .place import NodePlace, Start

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_PORT: Final = 7000
PEER_PORT: Final = 7001
METRICS_PORT: Final = 7002
DATA: Final = "/var/lib/leasekv"
GIVEN: Final = Path("/run/lantern/start.json")
MADE: Final = Path("/tmp/start.json")  # noqa: S108 - the container's own, a tmpfs


def start_from(environment: Mapping[str, str], *, spawned_ns: int) -> Start:
    """Return what the environment says; raise `ConfigError` naming what it lacks."""
    name = environment.get("LEASEKV_NODE", "")
    names = tuple(filter(None, environment.get("LEASEKV_NODES", "").split(",")))
    if not name or not names:
        raise ConfigError(f"without {GIVEN} a node needs LEASEKV_NODE and LEASEKV_NODES")
    config = NodeConfig(node=name, nodes=names, policy=environment.get("LEASEKV_POLICY", "lease-renew"))
    place = NodePlace(
        cluster="compose",
        peer_address=("0.0.0.0", PEER_PORT),  # noqa: S104 - a container's own namespace
        client_address=("0.0.0.0", CLIENT_PORT),  # noqa: S104
        peers={peer: (peer, PEER_PORT) for peer in names if peer != name},
        data_dir=DATA,
        evidence=f"{DATA}/evidence.jsonl",
        admin=f"{DATA}/admin.sock",
        parent_pid=None,
        spawned_ns=spawned_ns,
        metrics_address=("0.0.0.0", METRICS_PORT),  # noqa: S104
    )
    return Start(config=config, place=place)


def main() -> int:
    """Serve with the start file that is there, or with one made from the environment."""
    if GIVEN.exists():
        return node.main([str(GIVEN)])
    try:
        start = start_from(os.environ, spawned_ns=trueclock.open_clock()())
    except (ConfigError, trueclock.ClockError) as error:
        print(f"leasekv: {error}", file=sys.stderr)  # noqa: T201 - nothing to log with yet
        return node.EXIT_CONFIG
    MADE.write_bytes(msgspec.json.encode(start))
    return node.main([str(MADE)])


if __name__ == "__main__":
    raise SystemExit(main())
