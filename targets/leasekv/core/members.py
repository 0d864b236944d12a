"""The configurations of one node's log.

The newest in the log is in force, committed or not. An entry that is cut off the log takes its
configuration with it: the one before is in force again. So those before are remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.evidence import Configured
from targets.cluster import Roster
from targets.leasekv.membership import Membership
from targets.leasekv.messages import Op

if TYPE_CHECKING:
    from collections.abc import Iterable

    from targets.leasekv.messages import Entry


class Members:
    """Who takes part by this log. ``first`` is what it began with, ``others`` are all but this node.

    ``told`` is what is in force, for whoever asks the node about itself.
    """

    __slots__ = ("_history", "first", "index", "now", "others", "own", "told")

    def __init__(self, own: str, base: Membership, index: int) -> None:
        self.own = own
        self.first = base
        self.restart(index, base)

    def restart(self, index: int, base: Membership) -> None:
        """Begin with what was in force at ``index``."""
        self._history = [(index, base)]
        self._look()

    def take(self, entries: Iterable[Entry]) -> bool:
        """Follow the log, of which ``entries`` are the new end; return whether anything changed."""
        before = self.now
        for place, entry in enumerate(entries):
            if place == 0:
                while self._history[-1][0] >= entry.index and len(self._history) > 1:
                    self._history.pop()
            if entry.op is Op.CONFIG:
                self._history.append((entry.index, msgspec.convert(entry.value, Membership)))
        self._look()
        return self.now != before

    def at(self, index: int) -> Membership:
        """Return what was in force when the log ended with ``index``."""
        return next(one for first, one in reversed(self._history) if first <= index)

    def stands(self, committed: int) -> bool:
        """Tell whether this node may campaign, its commit index being that.

        Who votes may. So may who is on its way out, until that is known to be committed: it can have the
        only log that wins, while voters with an older one still ask for its vote. It counts for nothing.
        """
        if self.now.votes(self.own):
            return True
        return self.index > committed and self.at(self.index - 1).votes(self.own)

    def fact(self, term: int) -> Configured:
        """Return what is in force, as evidence."""
        now = self.now
        return Configured(term, self.index, now.voters, now.incoming, now.learners)

    def _look(self) -> None:
        self.index, self.now = self._history[-1]
        self.others = tuple(name for name in self.now.members if name != self.own)
        self.told = Roster(self.now.voters, self.now.incoming, self.now.learners)
