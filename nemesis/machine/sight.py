"""What the nemesis knows of the cluster: the latest status of each node, and how old it is.

Nodes are seen through their own words, some tens of milliseconds late, and not at all while they are
frozen or dead. So nothing here is taken for true for longer than its age allows, and a leader is
somebody who said so lately.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import NodeStatus, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from targets.cluster import Roster

FRESH_E: Final = 0.3
"""A status older than this many election timeouts says nothing about the present."""

CAUGHT_UP_E: Final = 0.4
"""A follower is caught up if it knows as committed what its leader had committed this long before:
a follower hears of a commit with the next heartbeat only."""

LEASELESS_E: Final = 1.0
"""Where no lease was ever shown, a leader of this long shows none at all (its policy has none)."""

COMMITS_MAX: Final = 4_000


class Seen(msgspec.Struct, frozen=True):
    """A status and when it came in, on the harness's clock."""

    status: NodeStatus
    at_ns: int

    @property
    def lease_ends_ns(self) -> int | None:
        """When the lease that it shows ends, to within a clock bend and a message."""
        left_ns = self.status.lease_remaining_ns
        return None if left_ns is None or left_ns <= 0 else self.at_ns + left_ns


class Sight:
    """The latest status of every node."""

    def __init__(self, nodes: Sequence[str], *, election_ns: int) -> None:
        self._nodes = tuple(nodes)
        self._fresh_ns = round(FRESH_E * election_ns)
        self._caught_up_ns = round(CAUGHT_UP_E * election_ns)
        self._leaseless_ns = round(LEASELESS_E * election_ns)
        self._seen: dict[str, Seen] = {}
        self._commits: dict[str, deque[tuple[int, int]]] = {}
        self._leads: dict[str, tuple[int, int]] = {}
        self._leases_are_shown = False
        self._first: Roster | None = None

    def see(self, status: NodeStatus, now_ns: int) -> None:
        """Take a node's word for its state now."""
        if status.node not in self._nodes:
            return
        self._seen[status.node] = Seen(status, now_ns)
        if status.role is Role.LEADER and self._first is None:
            self._first = status.members
        self._leases_are_shown |= self._seen[status.node].lease_ends_ns is not None
        commits = self._commits.setdefault(status.node, deque(maxlen=COMMITS_MAX))
        commits.append((now_ns, status.commit_index))
        while now_ns - commits[0][0] > 2 * self._caught_up_ns:
            commits.popleft()
        if status.role is not Role.LEADER:
            self._leads.pop(status.node, None)
        elif self._leads.get(status.node, (-1, 0))[0] != status.term:
            self._leads[status.node] = (status.term, now_ns)

    def seen(self, node: str) -> Seen | None:
        """Return the latest status of a node, however old."""
        return self._seen.get(node)

    def leaders(self, now_ns: int) -> tuple[Seen, ...]:
        """Return who said lately that it leads, in the order of the nodes."""
        return tuple(seen for seen in self._lately(now_ns) if seen.status.role is Role.LEADER)

    def newer_leader(self, term: int, now_ns: int) -> Seen | None:
        """Return the leader of the highest term above ``term``, if somebody said lately to be one."""
        newest = None
        for node in self._nodes:
            seen = self._seen.get(node)
            if seen is None or seen.status.role is not Role.LEADER or seen.status.term <= term:
                continue
            if now_ns - seen.at_ns <= self._fresh_ns:
                newest, term = seen, seen.status.term
        return newest

    def stable(self, now_ns: int) -> bool:
        """Whether one leader leads, and all others that have a part follow it and are caught up.

        Those are the members that were seen at first: a change that is still being undone is not over.
        """
        lately, leaders = self._lately(now_ns), self.leaders(now_ns)
        if len(lately) != len(self._nodes) or len(leaders) != 1:
            return False
        leader = leaders[0].status
        if leader.members != self._first:
            return False
        if leaders[0].lease_ends_ns is None:
            leads_ns = now_ns - self._leads[leader.node][1]
            if self._leases_are_shown or leads_ns < self._leaseless_ns:
                return False
        return all(
            seen.status.term == leader.term
            and seen.status.leader == leader.node
            and seen.status.commit_index >= self._committed_before(leader.node, seen.at_ns)
            for seen in lately
            if seen.status.node != leader.node and leader.expects(seen.status.node)
        )

    def _lately(self, now_ns: int) -> list[Seen]:
        """Return the fresh statuses, in the order of the nodes."""
        known = [self._seen[node] for node in self._nodes if node in self._seen]
        return [seen for seen in known if now_ns - seen.at_ns <= self._fresh_ns]

    def _committed_before(self, node: str, at_ns: int) -> int:
        """Return what a node had committed long enough before ``at_ns`` for others to have heard."""
        heard_by_ns = at_ns - self._caught_up_ns
        return max(
            (index for when_ns, index in self._commits[node] if when_ns <= heard_by_ns), default=0
        )
