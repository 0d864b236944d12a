"""What a search for a linearization brings back."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple


class Spent(NamedTuple):
    """What a search has spent since it last said so.

    ``position`` is that of the first operation not taken in the present configuration; ``remembered``
    counts the configurations that it holds on to, which is what its memory goes into.
    """

    configurations: int
    position: int
    remembered: int


Searching = Generator[Spent, None, "Found"]
"""A search under way. It yields now and then, so that whoever drives it can look at the budget, or at
another key; it returns what it found."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A linearization (``order``, positions of operations), or None and which could not come in time."""

    order: list[int] | None
    stuck: int | None = None


@dataclass(kw_only=True)
class Deepest:
    """The furthest return any branch has come to, and whose it is."""

    stamp: int = -1
    depth: int = -1
    blocked: int = -1

    def reach(self, stamp: int, depth: int, blocked: int) -> None:
        """Note that a branch of ``depth`` operations ends before ``blocked`` returns.

        Of several operations that return at one ``stamp`` the one that the deepest branch misses counts.
        """
        if stamp > self.stamp or (
            stamp == self.stamp and blocked != self.blocked and depth > self.depth
        ):
            self.stamp, self.depth, self.blocked = stamp, depth, blocked


def unwind(trail: Any) -> list[int]:
    """Return the positions along ``trail``, a chain of (position, what came before)."""
    order = []
    while trail is not None:
        position, trail = trail
        order.append(position)
    order.reverse()
    return order
