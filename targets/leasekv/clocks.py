"""A node's clocks, read together: its own pair, bracketed by the true clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from targets.clock import Reading

if TYPE_CHECKING:
    from collections.abc import Callable


class Stamp(msgspec.Struct, frozen=True, gc=False):
    """One instant on all clocks: ``own`` was read inside the closed interval ``true_ns``."""

    own: Reading
    true_ns: tuple[int, int]


class Clocks:
    """Reads them; the true clock is handed in, open and verified."""

    def __init__(self, true_now_ns: Callable[[], int]) -> None:
        self._true_now_ns = true_now_ns

    def mono_ns(self) -> int:
        """Read the own monotonic clock alone."""
        return time.monotonic_ns()

    def stamp(self) -> Stamp:
        """Read the own clocks between two readings of the true one."""
        before_ns = self._true_now_ns()
        own = Reading(self.mono_ns(), time.time_ns())
        return Stamp(own, (before_ns, self._true_now_ns()))
