"""From a conflict of zones to the operations that prove it.

A cluster speaks through few operations: its writer, the read that returned first, the read that was
called last; a chain through all its writers up to the last that matters. What is picked here is already
small and already proves it; shrinking then leaves out what is not needed after all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.values import tag
from checker.zones.decide import Conflict, Wrong
from checker.zones.lower import Code

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from checker.zones.lower import Lowered


class Picks:
    """The operations of some values: writer, first and last of those that saw it, by position."""

    def __init__(self, lowered: Lowered) -> None:
        self.codes = lowered.codes
        self.writer: dict[Hashable, int] = {}
        self.old: dict[Hashable, Hashable] = {}
        self.new: dict[int, Hashable] = {}
        self.taken: dict[Hashable, list[int]] = {}
        self.first: dict[Hashable, int] = {}
        self.last: dict[Hashable, int] = {}
        for i, (code, value) in enumerate(zip(lowered.codes, lowered.values, strict=True)):
            match code:
                case Code.READ:
                    self._saw(lowered, i, tag(value))
                case Code.WRITE | Code.MAYBE_WRITE:
                    self.writer[tag(value)] = i
                case Code.CAS | Code.MAYBE_CAS:
                    old, new = map(tag, value)
                    if old != new:
                        self.writer[new] = i
                        self.old[new] = old
                        self.new[i] = new
                        self.taken.setdefault(old, []).append(i)
                    elif code == Code.CAS:
                        self._saw(lowered, i, old)
                case _:
                    pass

    def _saw(self, lowered: Lowered, i: int, value: Hashable) -> None:
        if value not in self.first or lowered.returns[i] < lowered.returns[self.first[value]]:
            self.first[value] = i
        if value not in self.last or lowered.calls[i] > lowered.calls[self.last[value]]:
            self.last[value] = i

    def back(self, value: Hashable) -> Iterator[Hashable]:
        """Yield ``value`` and those before it in its chain of cas, the first last."""
        met: set[Hashable] = set()
        while value not in met:
            met.add(value)
            yield value
            value = self.old.get(value, value)

    def ranks(self) -> dict[Hashable, int]:
        """Return how many values come before each in its chain."""
        found: dict[Hashable, int] = {}
        for value in self.writer:
            line = []
            for each in self.back(value):
                if each in found:
                    break
                line.append(each)
            below = found.get(self.old.get(line[-1]), -1) if line else -1
            found.update((each, at) for at, each in enumerate(reversed(line), below + 1))
        return found

    def taker(self, value: Hashable) -> int | None:
        """Return a cas that took ``value``, one that certainly happened if there is one."""
        takers = self.taken.get(value, [])
        return min(
            takers,
            key=lambda i: (self.codes[i] != Code.CAS, self.new[i] not in self.first),
            default=None,
        )

    def of(self, value: Hashable) -> set[int]:
        """Return the positions that speak for ``value``, and for its having been written at all."""
        found: set[int] = set()
        met: set[Hashable] = set()
        while value not in met:
            met.add(value)
            found.update(
                picks[value] for picks in (self.writer, self.first, self.last) if value in picks
            )
            writer, taker = self.writer.get(value), self.taker(value)
            if (
                value in self.first
                or writer is None
                or self.codes[writer] not in IS_UNKNOWN
                or taker is None
            ):
                break
            found.add(taker)
            value = self.new[taker]
        return found


IS_UNKNOWN = frozenset({Code.MAYBE_WRITE, Code.MAYBE_CAS})


def certificate(lowered: Lowered, conflict: Conflict) -> list[int]:
    """Return positions in ``lowered``, in order, that are likely to be impossible by themselves."""
    picks = Picks(lowered)
    found = set(conflict.failed)
    done: set[Hashable] = set()
    for value in conflict.values[: len(conflict.clusters)]:
        for before in picks.back(value):
            if before in done:
                break
            done.add(before)
            found |= picks.of(before)
    if conflict.wrong is Wrong.UNWRITTEN:
        for value in conflict.values[len(conflict.clusters) :]:
            saw = picks.first.get(value, picks.taker(value))
            found |= set() if saw is None else {saw}
    if conflict.wrong is Wrong.HELD:
        taker = picks.taker(conflict.values[0])
        found |= set() if taker is None else {taker} | picks.of(picks.new[taker])
    return sorted(found)
