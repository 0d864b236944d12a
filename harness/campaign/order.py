"""Which run is next: pure, fed with what was started and what ended.

Without a budget every name has its first seed before any has its second: what is easy to find is found
early, and a campaign that is stopped has seen something of everything. With a budget a name's turn comes
after the time it has had: each is run once, in order, and then whoever had least is next, so that a row
of slow runs takes no more of the budget than a row of quick ones. What is under way counts as long as
such a run took before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .row import Job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .entries import Entry


class _Name:
    """What one name has had."""

    def __init__(self, entry: Entry, seeds: Iterator[int]) -> None:
        self.entry = entry
        self.seeds = seeds
        self.started = 0
        self.ended = 0
        self.spent_s = 0.0
        self.shown = False
        self.exhausted = False

    @property
    def charged_s(self) -> float:
        """Seconds it had, and those that what is under way will have taken."""
        mean_s = self.spent_s / self.ended if self.ended else 0.0
        return self.spent_s + mean_s * (self.started - self.ended)


class Order:
    """The runs of a campaign that are left.

    ``seeds`` are those of entries that have none of their own; they may be without end if there is a
    budget. ``until_violation`` leaves a name alone once it is shown.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        seeds: Sequence[int],
        *,
        by_time: bool = False,
        until_violation: bool = False,
    ) -> None:
        self._names = {entry.name: _Name(entry, iter(entry.seeds_of(seeds))) for entry in entries}
        self._by_time = by_time
        self._until_violation = until_violation
        self._done: set[tuple[str, int]] = set()

    def already(self, name: str, seed: int, seconds: float, *, violation: bool) -> None:
        """Take a run that ended before this campaign went on; call it before the first `next`."""
        self._done.add((name, seed))
        self._names[name].started += 1
        self.ended(name, seconds, violation=violation)

    def ended(self, name: str, seconds: float, *, violation: bool) -> None:
        """Take the end of a run."""
        told = self._names[name]
        told.ended += 1
        told.spent_s += seconds
        told.shown = told.shown or violation

    def next(self) -> Job | None:
        """Return the next run and count it as started; None if nothing is left."""
        while True:
            waiting = [name for name in self._names.values() if self._waits(name)]
            if not waiting:
                return None
            name = min(waiting, key=self._turn)
            seed = next((seed for seed in name.seeds if (name.entry.name, seed) not in self._done), None)
            if seed is None:
                name.exhausted = True
                continue
            name.started += 1
            return Job(name.entry, seed, first=not name.shown)

    def _waits(self, name: _Name) -> bool:
        return not name.exhausted and not (self._until_violation and name.shown)

    def _turn(self, name: _Name) -> tuple[float, ...]:
        """Return how much a name has had; among equals the first is next."""
        if not self._by_time:
            return (name.started,)
        return (min(name.started, 1), name.charged_s, name.started)
