"""Stacks whose values are put in once: decided in n log n, by nesting.

In a linearization of a stack two stays are apart, or one lies within the other. A value without a core
(see `stays`) can come and go in one instant, and never matters. Of the others take those whose cores
hang together, from L, the earliest end of a push, to R, the latest beginning of a pop. Together they
fill the time from L to R, so one of them lies beneath all others: it was pushed by L, and is popped
after R. Hence

    one of them has its push called by L and its pop returned from R on

or no order fits. *Which* of several such is taken for the lowest does not matter: in any linearization
it could be brought down, its push first and its pop last, for all other pushes can wait until L, and
all other pops can happen by R. What is left falls into groups of its own, each within [L, R] and apart
from the others; the same goes for each of them. An answer "empty" fits where no core is, as in `bag`.

That is quick because groups are looked at from left to right. Their L only grows, so values become fit
to be lowest as L passes the call of their push, once and for all (`_Best` finds the one that is popped
last); and how many cores cover each place falls as values are taken away, so each gap opens once
(`_Cover` finds the gaps).

A group without a lowest value is its own proof, and a chain of overlapping cores from its first push to
its last pop is enough of it.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from checker.direct.bag import PUT, TAKEN, at_once, free_instants
from checker.direct.stays import Stay, cover, gather, not_empty, positions, runs
from checker.direct.verdict import Direct, Impossible, Ordered
from checker.values import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.part import Part

_FAR = 1 << 60


def decide(part: Part) -> Direct:
    """Return the decision for a stack that starts empty."""
    stays = gather(part)
    if stays is None or isinstance(stays, Impossible):
        return stays
    covered = runs(stays.counting)
    held = sorted((stay for stay in stays.counting if stay.has_core), key=lambda each: each.put_return)
    nested = _Nesting(held).nest()
    wrong = (
        not_empty(covered, part, stays.empties)
        if isinstance(nested, _Nested)
        else _ungrounded(part, nested)
    )
    if wrong is not None:
        return wrong if stays.sure else None
    assert isinstance(nested, _Nested)
    timed = nested.events
    timed.extend(free_instants(part, covered, stays.empties))
    for stay in stays.counting:
        if not stay.has_core:
            timed.extend(at_once(stay))
    timed.sort()
    return Ordered([i for *_, i in timed])


class _Nested(NamedTuple):
    """When each push and pop takes effect: (instant, what comes first then, order, position)."""

    events: list[tuple[int, int, int, int]]


class _Nesting:
    """Stays with cores, in the order in which their pushes ended, on the way to being nested."""

    def __init__(self, held: Sequence[Stay]) -> None:
        self.held = held
        self.pushed = [stay.put_return for stay in held]
        self.popped = [stay.take_call for stay in held]
        self.alive = [True] * len(held)
        self.lowest = _Best([stay.take_return for stay in held])
        self.last = _Best(self.popped)
        for at in range(len(held)):
            self.last.admit(at)
        self.to_come = sorted(range(len(held)), key=lambda at: held[at].put_call, reverse=True)
        self.reach = [bisect_left(self.pushed, popped) for popped in self.popped]
        self.cover, self.gaps = self._covered()

    def _covered(self) -> tuple[_Cover, list[int]]:
        """Return how many cores cover the end of each push, and where none does."""
        steps = [0] * (len(self.held) + 1)
        for at, end in enumerate(self.reach):
            if at + 1 < end:
                steps[at + 1] += 1
                steps[end] -= 1
        counts: list[int] = []
        total = 0
        for step in steps[:-1]:
            total += step
            counts.append(total)
        return _Cover(counts), [at for at, count in enumerate(counts) if not count]

    def nest(self) -> _Nested | list[Stay]:
        """Return the nesting, or a group of which none can be lowest."""
        events: list[tuple[int, int, int, int]] = []
        ends = [*self.gaps[1:], *[len(self.held)] * bool(self.gaps)]
        to_do: list[tuple[int, int, int]] = [
            (first, end, -1) for first, end in zip(reversed(self.gaps), reversed(ends), strict=True)
        ]
        while to_do:
            first, end, popping = to_do.pop()
            if popping >= 0:
                self._pop(events, popping, first)
                continue
            while first < end and not self.alive[first]:
                first += 1
            if first == end:
                continue
            since, until = self.pushed[first], self.popped[self.last.of(first, end)]
            while self.to_come and self.held[self.to_come[-1]].put_call <= since:
                self.lowest.admit(self.to_come.pop())
            lowest = self.lowest.of(first, end)
            if lowest < 0 or self.held[lowest].take_return < until:
                return [self.held[at] for at in range(first, end) if self.alive[at]]
            events.append((since, PUT, len(events), self.held[lowest].put))
            to_do.append((until, 0, lowest))
            gaps = [first, *self._take_away(lowest)]
            ends = [*gaps[1:], end]
            to_do.extend((a, b, -1) for a, b in zip(reversed(gaps), reversed(ends), strict=True))
        return _Nested(events)

    def _pop(self, events: list[tuple[int, int, int, int]], at: int, instant: int) -> None:
        take = self.held[at].take
        if take >= 0:
            events.append((instant, TAKEN, len(events), take))

    def _take_away(self, at: int) -> list[int]:
        """Leave out a value that lies beneath the rest of its group; return where that falls apart."""
        self.alive[at] = False
        self.lowest.dismiss(at)
        self.last.dismiss(at)
        return self.cover.lift(at + 1, self.reach[at])


class _Best:
    """Of the places admitted, the one with the greatest stamp in any range: a tree of maxima."""

    def __init__(self, stamps: Sequence[int]) -> None:
        self.by_rank = sorted(range(len(stamps)), key=stamps.__getitem__)
        self.rank = [0] * len(stamps)
        for rank, place in enumerate(self.by_rank):
            self.rank[place] = rank
        self.size = len(stamps)
        self.top = [-1] * (2 * self.size)

    def admit(self, place: int) -> None:
        """Let ``place`` be found."""
        rank, at, top = self.rank[place], place + self.size, self.top
        while at and top[at] < rank:
            top[at] = rank
            at >>= 1

    def dismiss(self, place: int) -> None:
        """Let ``place`` be found no more."""
        at, top = place + self.size, self.top
        top[at] = -1
        while at > 1:
            at >>= 1
            top[at] = max(top[2 * at], top[2 * at + 1])

    def of(self, first: int, end: int) -> int:
        """Return the place, from ``first`` to before ``end``; -1 if none there was admitted."""
        best, top = -1, self.top
        first += self.size
        end += self.size
        while first < end:
            if first & 1:
                best = max(best, top[first])
                first += 1
            if end & 1:
                end -= 1
                best = max(best, top[end])
            first >>= 1
            end >>= 1
        return -1 if best < 0 else self.by_rank[best]


class _Cover:
    """How many cores cover each place; tells once of each place that no longer is: a tree of minima.

    ``least[node]`` is the least count below ``node``, not counting what was taken from nodes above it.
    """

    def __init__(self, counts: Sequence[int]) -> None:
        self.size = 1 << max(0, len(counts) - 1).bit_length()
        self.least = [_FAR] * (2 * self.size)
        self.shift = [0] * (2 * self.size)
        for at, count in enumerate(counts, self.size):
            self.least[at] = count or _FAR
        for at in range(self.size - 1, 0, -1):
            self.least[at] = min(self.least[2 * at], self.least[2 * at + 1])

    def lift(self, first: int, end: int) -> list[int]:
        """Take one from the counts from ``first`` to before ``end``; return where none is left."""
        opened: list[int] = []
        if first < end:
            self._lift(1, 0, self.size, first=first, end=end)
            if self.least[1] <= 0:
                self._open(1, 0, self.size, 0, opened)
        return opened

    def _lift(self, node: int, left: int, right: int, *, first: int, end: int) -> None:
        least, shift = self.least, self.shift
        if first <= left and right <= end:
            least[node] -= 1
            shift[node] -= 1
            return
        middle = (left + right) // 2
        if first < middle:
            self._lift(2 * node, left, middle, first=first, end=end)
        if end > middle:
            self._lift(2 * node + 1, middle, right, first=first, end=end)
        least[node] = min(least[2 * node], least[2 * node + 1]) + shift[node]

    def _open(self, node: int, left: int, right: int, above: int, opened: list[int]) -> None:
        least = self.least
        if least[node] + above > 0:
            return
        if right - left == 1:
            opened.append(left)
            least[node] = _FAR
            return
        above += self.shift[node]
        middle = (left + right) // 2
        self._open(2 * node, left, middle, above, opened)
        self._open(2 * node + 1, middle, right, above, opened)
        least[node] = min(least[2 * node], least[2 * node + 1]) + self.shift[node]


def _ungrounded(part: Part, group: list[Stay]) -> Impossible:
    """Return what proves that no value of ``group`` can have lain beneath the others."""
    since, until = group[0].put_return, max(stay.take_call for stay in group)
    head = max((stay for stay in group if stay.put_return == since), key=lambda stay: stay.take_call)
    spans = [(stay.put_return, stay.take_call, stay) for stay in group]
    chain = [head, *cover(spans, head.take_call, until - 1)]
    names = [show(part.operations[stay.put].value) for stay in chain]
    if len(names) == 2:
        why = f"came out from under {names[1]}, which was pushed later and popped later"
    else:
        why = f"fits no nesting: none of {', '.join(names)} can have lain beneath the others"
    return Impossible(positions(chain), head.take, why)
