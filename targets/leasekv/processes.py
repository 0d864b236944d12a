"""leasekv as processes: a start file, an admin socket and a clock's control file for each node."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from targets.cluster import ClockMode
from targets.host import faketime
from targets.host.faketime import ControlFile
from targets.host.runtime import replace
from targets.local.cluster import LocalCluster
from targets.local.process import python
from targets.local.system import Launch
from targets.trueclock import raw_ns

from .admin_client import AdminClient
from .place import NodePlace
from .system import LeaseKvSystem

if TYPE_CHECKING:
    from pathlib import Path

    from targets.host.runtime import Runtime
    from targets.local.system import Home

    from .config import NodeConfig


class LeaseKvProcesses(LeaseKvSystem):
    """See `targets.local.system.ProcessSystem`. Evidence goes into ``run_dir``."""

    def __init__(self, config: NodeConfig, run_dir: Path, *, clock: ClockMode) -> None:
        super().__init__(config, clock=clock)
        self.nodes = config.nodes
        self._evidence = run_dir.absolute() / "evidence"  # a node runs elsewhere
        self._runtime: Runtime | None = None
        if clock is not ClockMode.NONE:
            self._no_clock = faketime.unavailable(clock)

    def prepare(self, runtime: Runtime) -> None:
        """Make every node's clock and the client of its admin socket."""
        self._runtime = runtime
        self._evidence.mkdir(parents=True, exist_ok=True)
        for node in self.nodes:
            self._admin[node] = AdminClient(node, runtime.admin_socket(node))
            self._clocks[node] = ControlFile(runtime.directory("clock", node), self._mode)

    def launch(self, node: str, home: Home) -> Launch:
        """Write the start file and return the command that reads it."""
        runtime = self._runtime
        assert runtime is not None, "prepare comes first"
        self._admin[node].close()
        environment = self._clocks[node].environment()
        place = NodePlace(
            cluster=runtime.path.name,
            peer_address=home.peer,
            client_address=home.client,
            peers=home.peers,
            data_dir=str(home.data),
            evidence=str(self._evidence / f"{node}.jsonl"),
            admin=str(runtime.admin_socket(node)),
            parent_pid=os.getpid(),
            spawned_ns=raw_ns(),
        )
        start = runtime.path / f"{node}.json"
        replace(start, self._start_file(node, place))
        return Launch(command=python("targets.leasekv.node", str(start)), environment=environment)


def leasekv_cluster(
    config: NodeConfig, run_dir: Path, *, clock: ClockMode = ClockMode.NONE, keep: bool = False
) -> LocalCluster:
    """Return a leasekv cluster of processes, not started; ``config`` is every node's."""
    return LocalCluster(LeaseKvProcesses(config, run_dir, clock=clock), run_dir, keep=keep)
