"""Snapshots: letting go of a log's beginning, and taking over where a leader's log begins.

A node that has applied ``compact_entries`` since its last snapshot takes the next one by itself, whether
it leads or not, and keeps a short trail of entries before it for peers that lag a little. A snapshot is
stored with everything that follows it in the log, so that what was stored before is needed no more.

A leader's snapshot is taken only by who lacks it: a log that has its last entry has all of it, and goes
on as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.leasekv.ports import HardState

from .follower import answer_snapshot, has_all_of

if TYPE_CHECKING:
    from targets.leasekv.messages import Install, Snapshot

    from .state import State
    from .writes import Writes


class Compaction:
    """The snapshots of one node; the next is due once ``due_index`` is applied."""

    __slots__ = ("_state", "_writes", "due_index")

    def __init__(self, state: State, writes: Writes) -> None:
        self._state = state
        self._writes = writes
        self.due_index = state.log.offset + state.config.limits.compact_entries

    def compact(self) -> None:
        """Take a snapshot of what is applied."""
        state = self._state
        self._store(self._writes.snapshot())
        state.log.compact(state.applied_index - state.config.limits.trail_entries)

    def install(self, leader: str, message: Install) -> None:
        """Take a leader's snapshot, if this node lacks it, and answer."""
        state = self._state
        snapshot = message.snapshot
        if not has_all_of(state, snapshot):
            agreed = state.commit_index
            state.log.restart_after(snapshot, agreed=agreed)
            self._writes.install(snapshot)
            self._store(snapshot)
            state.log.writing(state.out.pending_seq, agreed + 1, snapshot.index)
        answer_snapshot(state, leader, message)

    def _store(self, snapshot: Snapshot) -> None:
        state = self._state
        self.due_index = snapshot.index + state.config.limits.compact_entries
        hard = state.rules.stored(HardState(state.term, state.voted_for))
        state.out.start_over(snapshot, hard, state.log.after(snapshot.index))
