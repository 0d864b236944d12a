"""What an episode is drawn from: one generator, and what the run allows.

Lengths are drawn as whole hundredths of an election timeout.
"""

from __future__ import annotations

import random

import msgspec

from nemesis.schedule import Span, TimeUnit
from targets.cluster import ClockMode


def elections(hundredths: int) -> Span:
    """Return a span of whole hundredths of an election timeout."""
    return Span(hundredths / 100, TimeUnit.ELECTIONS)


class Draw(msgspec.Struct, frozen=True):
    """What an episode draws from. ``families`` say which faults may be mixed in."""

    rng: random.Random
    nodes: int
    families: frozenset[str]
    clock: ClockMode

    def span(self, least: int, most: int) -> Span:
        """Draw a length, in hundredths of an election timeout."""
        return elections(self.rng.randint(least, most))

    def one_in(self, many: int) -> bool:
        """Draw one chance in so many."""
        return self.rng.randrange(many) == 0

    def follower(self) -> str:
        """Draw a follower."""
        return f"follower-{self.rng.randint(1, self.nodes - 1)}"

    def victim(self) -> str:
        """Draw the leader, or half as often a follower."""
        return self.follower() if self.one_in(3) else "leader"
