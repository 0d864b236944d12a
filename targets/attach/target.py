"""Somebody's own cluster as a target: containers that run already, and one file with a client.

See `targets.target`. All that is known of it beforehand is in the file, which is run to be read.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from targets.target import Mode, Place, Target

from .client import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.target import Mistake, Setup

    from .bridge import BridgeClient
    from .cluster import AttachedCluster


class Attached:
    """See `targets.target.Target`; its name is the file's path."""

    about = "your own"
    places: tuple[Place, ...] = (Place.DOCKER,)
    takes = frozenset({"compose", "containers"})
    mistakes: Mapping[str, Mistake] = MappingProxyType({})
    rules_off: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ("paused-leader",)

    def __init__(self, name: str) -> None:
        self.name = name
        self._client = load(Path(name))
        self.modes: Mapping[str, Mode] = {
            mode: Mode(name=mode, about=about) for mode, about in self._client.modes.items()
        }

    def check(self, setup: Setup) -> None:
        """Take every plan; whether there is such a cluster is seen at the start."""

    def cluster(self, setup: Setup, run_dir: Path, *, gates: bool) -> AttachedCluster:
        """Return the containers that are to be found; their links are cut by packet filter."""
        from .cluster import AttachedCluster  # noqa: PLC0415 - half a second

        del gates
        return AttachedCluster(
            self._client,
            setup.policy,
            run_dir,
            count=len(setup.node_names),
            containers=setup.containers,
            compose=None if setup.compose is None else Path(setup.compose),
        )

    def client(self, setup: Setup) -> BridgeClient:
        """Return what speaks with the client behind each node's bridge."""
        from .bridge import BridgeClient  # noqa: PLC0415 - half a second

        return BridgeClient(timeout_ns=setup.write_timeout_ns)


if TYPE_CHECKING:
    _is_a_target: type[Target] = Attached
