"""Who must have acknowledged: the voters of the configuration that a leader's log named (L3, L10).

A joint configuration needs a majority of either set. The leader's own entry counts as now; learners
count for nothing, and a leader that is on its way out backs nothing at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checker.evidence import Configured

NOW: Final = 1 << 62


class Electorate(msgspec.Struct, frozen=True):
    """The sets of which each must have a majority; ``incoming`` is empty unless they change."""

    voters: tuple[str, ...]
    incoming: tuple[str, ...] = ()

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """All of them."""
        return (self.voters, self.incoming) if self.incoming else (self.voters,)

    def backed(self, own: str, marks: Mapping[str, int]) -> int | None:
        """Return the newest instant that a majority of every set reaches, `NOW` if ``own`` suffices."""
        if own not in (self.incoming or self.voters):
            return None
        return backed(own, marks, self.sets)

    def agreed(self, own: str, peers: Iterable[str]) -> bool:
        """Tell whether ``own`` and ``peers`` are a majority of every set."""
        there = {own, *peers}
        return all(2 * len(there & set(voters)) > len(voters) for voters in self.sets)


def backed(own: str, marks: Mapping[str, int], sets: Iterable[tuple[str, ...]]) -> int | None:
    """Return the newest instant that a majority of each of ``sets`` reaches; None if one has none."""
    starts = [_of_one(own, marks, voters) for voters in sets]
    known = [start for start in starts if start is not None]
    return min(known) if starts and len(known) == len(starts) else None


def _of_one(own: str, marks: Mapping[str, int], voters: tuple[str, ...]) -> int | None:
    reached = [
        NOW if voter == own else marks[voter] for voter in voters if voter in marks or voter == own
    ]
    majority = len(voters) // 2 + 1
    return sorted(reached, reverse=True)[majority - 1] if len(reached) >= majority else None


def of(config: Configured) -> Electorate:
    """Return the electorate of a configuration."""
    return Electorate(config.voters, config.incoming)
