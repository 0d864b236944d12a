"""Changing who takes part, by the leader (L10): one change at a time, through a joint configuration.

No change begins before the leader has committed an entry of its own term, nor before the last change is
committed. When a joint configuration is committed its leader, whoever that is by then, appends the
incoming voters alone; when those are committed a leader that is not among them tells everybody so and
steps down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.cluster import Role
from targets.leasekv.membership import Membership
from targets.leasekv.messages import Op

if TYPE_CHECKING:
    from .replication import Replication
    from .state import State
    from .writes import Writes


class Change:
    """What a leader does about its configuration."""

    __slots__ = ("_replication", "_state", "_writes")

    def __init__(self, state: State, replication: Replication, writes: Writes) -> None:
        self._state = state
        self._replication = replication
        self._writes = writes

    def begin(self, voters: tuple[str, ...], learners: tuple[str, ...]) -> None:
        """Start going over to these; nothing happens where the rules forbid it."""
        state = self._state
        now = state.members.now
        known = set(state.config.nodes)
        settled = state.commit_index >= max(state.noop_index, state.members.index) and not now.incoming
        free = state.role is Role.LEADER and state.handover.target is None
        if not (settled and free and voters and known >= {*voters, *learners}):
            return
        learners = tuple(name for name in learners if name not in voters)
        if set(voters) == set(now.voters):
            self._append(Membership(now.voters, (), learners))
        else:
            self._append(Membership(now.voters, voters, learners))

    def committed(self) -> bool:
        """Go on after the commit index moved; return whether this leader has no part any more."""
        state = self._state
        now = state.members.now
        if state.members.index > state.commit_index or state.members.index < 1:
            return False
        if now.incoming:
            self._append(now.settled())
            return False
        if now.votes(state.config.node):
            return False
        self._replication.beat()  # so that the others learn that it is committed
        return True

    def _append(self, membership: Membership) -> None:
        self._writes.append(Op.CONFIG, None, membership.plain())
        self._replication.follow_members()
        self._replication.beat()  # whoever is new hears of it at once
