"""What a node knows of the leases that earlier leaders may still be serving from.

Where voting is free, nothing keeps a new leader from being elected while an old one's lease is alive. So
the new one waits: every round it hears tells a node how long, on its own clock, its leader may go on
serving at most; a voter says with its vote what is left of the longest; and the winner commits nothing
before all that it was told, and what it knows itself, has passed. A majority that voted and a majority
that acknowledged the old lease share a node, so none is overlooked. A node that has lived before cannot
know whom it had heard, and reckons with a leader it had heard just before it died.

Instants are on this node's monotonic clock. Where promises keep leases apart the rules reckon with
nothing, and none of this has any effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.leasekv.views import OldLease

if TYPE_CHECKING:
    from .state import State

FORGOTTEN = ""
"""Stands for whoever led when this node last lived."""


class OldLeases:
    """Until when whom; and until when this node, should it win, has to wait."""

    __slots__ = ("_reckoned_ns", "_state", "_told_ns", "_until_ns")

    def __init__(self, state: State, *, brand_new: bool) -> None:
        self._state = state
        self._reckoned_ns = state.rules.reckoned_ns(state.config.bounds)
        self._told_ns = state.reading.mono_ns
        self._until_ns: dict[str, int] = {}
        if not brand_new:
            self.heard(FORGOTTEN)

    def heard(self, leader: str) -> None:
        """Reckon with ``leader``, of which a round has just arrived."""
        if self._reckoned_ns:
            self._until_ns[leader] = self._state.reading.mono_ns + self._reckoned_ns

    def left_ns(self, candidate: str) -> int:
        """Return what may be left of the longest lease of anybody but ``candidate``."""
        ends = (until_ns for leader, until_ns in self._until_ns.items() if leader != candidate)
        return max(0, max(ends, default=0) - self._state.reading.mono_ns)

    def told(self, left_ns: int) -> None:
        """Take what a voter says is left; its clock may have run slower than this one will."""
        state = self._state
        wait_ns = state.rules.wait_ns(OldLease(left_ns, state.config.drift_ppm))
        self._told_ns = max(self._told_ns, state.reading.mono_ns + wait_ns)

    def waited_out_ns(self) -> int:
        """Return when the last of them is over, for a node that takes up leadership now."""
        self.told(self.left_ns(self._state.config.node))
        return self._told_ns
