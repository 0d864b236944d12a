"""A leader's watch over sessions: who has not been renewed for its time to live is proposed to end.

Every node applies the same renewals, but only a leader counts the time between them, on its monotonic
clock, and afresh from the start of its leadership: a session gains time by a change of leaders and never
loses any. The proposal names the renewal that it goes by, so that one which was renewed meanwhile stays:
see `machine.locks`. It is made with the heartbeats, once for every renewal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.cluster import Role
from targets.leasekv.messages import Op

if TYPE_CHECKING:
    from .state import State
    from .writes import Writes


class Sessions:
    """The watch of one node; ``_seen`` holds by session the last renewal and when it was first seen."""

    __slots__ = ("_proposed", "_seen", "_state", "_term", "_writes")

    def __init__(self, state: State, writes: Writes) -> None:
        self._state = state
        self._writes = writes
        self._term = 0
        self._seen: dict[str, tuple[int, int]] = {}
        self._proposed: dict[str, int] = {}

    def look(self) -> None:
        """Propose the end of every session that is over."""
        state, lives = self._state, self._writes.machine.locks.sessions
        if state.role is not Role.LEADER or not (self._writes.open and lives):
            return
        if self._term != state.term:
            self._term = state.term
            self._seen.clear()
            self._proposed.clear()
        now_ns = state.reading.mono_ns
        over = []
        for name, session in lives.items():
            seen = self._seen.get(name)
            if seen is None or seen[0] != session.renewed:
                self._seen[name] = (session.renewed, now_ns)
            elif now_ns - seen[1] >= session.ttl_ns and self._proposed.get(name) != session.renewed:
                over.append((name, session.renewed))
        for name in [name for name in self._seen if name not in lives]:
            del self._seen[name]
            self._proposed.pop(name, None)
        for name, renewed in over:
            if self._writes.full():
                break
            self._proposed[name] = renewed
            self._writes.append(Op.EXPIRE, value=[name, renewed])
