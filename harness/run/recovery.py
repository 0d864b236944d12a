"""What a run knows of the cluster's health: who leads, and since when it is well again.

Pure bookkeeping for the phases: a run starts once all agree on a leader, and is settled once they agree
again after the heal and reads and writes begun after it have succeeded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.events import EventType
from targets.cluster import NodeStatus, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nemesis.ports import Completed


class Recovery:
    """When the faults were gone, and when an operation begun after that first succeeded."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.healed_ns: int | None = None
        self.read_ns: int | None = None
        self.write_ns: int | None = None
        self._nodes = tuple(nodes)
        self._statuses: dict[str, tuple[int, NodeStatus]] = {}

    @property
    def roles(self) -> dict[str, str]:
        """What every node last took itself for."""
        return {node: status.role.value for node, (_, status) in self._statuses.items()}

    @property
    def taking_part(self) -> tuple[str, ...]:
        """The nodes that have a part in the cluster, as its latest leader knows it."""
        told = [status for _, status in self._statuses.values()]
        leaders = [status for status in told if status.role is Role.LEADER]
        leader = max(leaders, key=lambda status: status.term, default=None)
        return tuple(node for node in self._nodes if leader is None or leader.expects(node))

    def see(self, status: NodeStatus, now_ns: int) -> None:
        """Take a node's word."""
        self._statuses[status.node] = (now_ns, status)

    def agreed(self, *, since_ns: int) -> bool:
        """Whether all that have a part named one living leader of one term, in a status since then."""
        told = [status for at_ns, status in self._statuses.values() if at_ns >= since_ns]
        if len(told) < len(self._nodes):
            return False
        return any(
            leader.role is Role.LEADER
            and all(
                (status.leader, status.term) == (leader.node, leader.term)
                for status in told
                if leader.expects(status.node)
            )
            for leader in told
        )

    def healed(self, now_ns: int) -> None:
        """Note that every fault is gone."""
        self.healed_ns = now_ns

    def ended(self, completed: Completed, *, invoked_ns: int, now_ns: int) -> None:
        """Take the end of an operation."""
        if completed.type is not EventType.OK or self.healed_ns is None or invoked_ns < self.healed_ns:
            return
        if completed.f == "read":
            self.read_ns = self.read_ns or now_ns
        elif completed.f in {"write", "cas"}:
            self.write_ns = self.write_ns or now_ns

    def settled(self, now_ns: int, *, least_ns: int) -> bool:
        """Whether the heal was ``least_ns`` ago at least, and all is well again."""
        if self.healed_ns is None or now_ns < self.healed_ns + least_ns:
            return False
        back = self.read_ns is not None and self.write_ns is not None
        return back and self.agreed(since_ns=self.healed_ns)
