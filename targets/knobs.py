"""What is asked of a running cluster's nodes themselves: the same wherever they run.

What lives here: that part of `targets.cluster.Cluster` which neither processes nor containers make a
difference to. A node that is gone or stopped cannot be asked; that is said before its system is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from .cluster import ClockBend, NodeStatus, ProcessState, Roster, Unsupported
from .system import NO_SUSPEND, bend_clock

if TYPE_CHECKING:
    from .system import System


class Knobs(ABC):
    """See the module; ``_system`` is who is asked."""

    _system: System

    @abstractmethod
    def state(self, node: str) -> ProcessState:
        """Read what a node's process does; raise `ValueError` if there is no such node."""

    @abstractmethod
    async def status(self, node: str) -> NodeStatus | None:
        """Ask a node about itself."""

    async def metrics(self, node: str) -> str | None:
        """See `targets.cluster.Metered`."""
        return await self._system.metrics(node) if self._awake(node) else None

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend a node's clocks from now on, also those of one that is not there."""
        self.state(node)
        await bend_clock(self._system, node, bend, ask=self.status)

    async def campaign(self, node: str) -> None:
        """Ask a node to campaign."""
        self._check_awake(node)
        await self._system.campaign(node)

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Make a node apply late."""
        self._check_awake(node)
        await self._system.set_apply_delay(node, delay_ns)

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Make a node's syncs late."""
        self._check_awake(node)
        await self._system.set_sync_delay(node, delay_ns)

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave a node's disk only so much room."""
        self._check_awake(node)
        await self._system.set_disk_room(node, room_bytes)

    async def hand_over(self, node: str, target: str) -> None:
        """Ask a node to hand leadership over."""
        self._check_awake(node)
        await self._system.hand_over(node, target)

    async def reconfigure(self, node: str, members: Roster) -> None:
        """Ask a node that leads to go over to other voters and learners."""
        self._check_awake(node)
        await self._system.reconfigure(node, members)

    async def restore_members(self) -> None:
        """Have whoever leads go back to the voters there were at first."""
        await self._system.restore_members()

    async def suspend(self, node: str) -> None:
        """Refuse: the host is the tester's own."""
        raise Unsupported(f"{node} cannot be suspended: {NO_SUSPEND}")

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        """Let a node hear its time service or not."""
        self._check_awake(node)
        await self._system.set_time_service(node, heard=heard)

    def _check_awake(self, node: str) -> None:
        """Raise `Unsupported` unless the node can hear."""
        if not self._awake(node):
            raise Unsupported(f"{node} is {self.state(node).value} and cannot be asked")

    def _awake(self, node: str) -> bool:
        return self.state(node) is ProcessState.RUNNING
