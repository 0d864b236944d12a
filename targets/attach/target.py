"""Somebody's own cluster as a target: containers that run already, and one file with a client.

See `targets.target`. All that is known of it beforehand is in the file, which is run to be read.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from targets.target import Mode, Place, Target, UnfitError

from .client import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.target import Mistake, Setup

    from .bridge import BridgeClient
    from .cluster import AttachedCluster


class Unrun:
    """See `targets.target.Target`; its name is the file's path.

    As much of it as is the same whatever stands in the file, which is not run: no cluster, no client.
    """

    about = "your own"
    places: tuple[Place, ...] = (Place.DOCKER,)
    takes = frozenset({"compose", "containers"})
    mistakes: Mapping[str, Mistake] = MappingProxyType({})
    rules_off: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ("paused-leader",)

    def __init__(self, name: str, modes: Mapping[str, str]) -> None:
        self.name = name
        self.modes: Mapping[str, Mode] = {
            mode: Mode(name=mode, about=about) for mode, about in modes.items()
        }

    def check(self, setup: Setup) -> None:
        """Want to be told which containers; whether they are there is seen at the start."""
        if not setup.containers and setup.compose is None:
            raise UnfitError(
                "say which containers: --compose with the file that they were started from, or their"
                " names under `containers` in a plan"
            )
        named, nodes = len(setup.containers), len(setup.node_names)
        if named not in (0, nodes):
            raise UnfitError(f"{named} containers are named for {nodes} nodes", key="nodes")

    def cluster(self, setup: Setup, run_dir: Path, *, gates: bool) -> AttachedCluster:
        """Refuse: what finds out who leads is in the file."""
        raise AssertionError(f"{self.name} was not run: no {setup.policy} ({gates}) in {run_dir}")

    def client(self, setup: Setup) -> BridgeClient:
        """Refuse likewise."""
        raise AssertionError(f"{self.name} was not run: no {setup.policy}")


class Attached(Unrun):
    """The whole of it; the file is run."""

    def __init__(self, name: str) -> None:
        self._client = load(Path(name))
        super().__init__(name, self._client.modes)

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
