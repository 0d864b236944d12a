"""A value seen after it was gone for certain: found in one pass, where a search would try every order.

Whoever sees a value sees what a writer left there, the last before it. Something that showed another
value (it read, wrote or took one) and began after one observer had ended, and ended before the next one
began, stands between the two in every order: the next one needs a *writer of its own*. That writer was
called by the time this observer returned, and did not return before anything was called that showed
another value and had itself returned when this observer was called.

So each value has observers that need a writer each, one after the other, and windows that only move on.
Of several writers that would do for one window the one that returns first is the one to use up: it is
the first that is of no use any more. Where none is left no order fits, whatever else happened.

That is a part of what makes an order impossible, no more; but where values repeat it is nearly all that
nodes do wrong which answer with what they once held.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import compress
from typing import TYPE_CHECKING, Final

from checker.operations import NEVER
from checker.zones.lower import IS_WRITER, Code, mask

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.zones.lower import Sided

_IS_SEEING: Final = mask(Code.READ, Code.CAS)
_IS_SHOWING: Final = mask(Code.READ, Code.WRITE, Code.CAS)
_CAS: Final = int(Code.CAS)
_EVER: Final = -NEVER
_TWO: Final = object()
"""What a cas shows: it saw one value and left another, so beside every value it shows another one."""


class _Value:
    """The writers of one value, in call order: which may still be used, by their returns, as a heap.

    ``until``: when the last observer that needed one of its own returned; ``took``: it was a cas.
    """

    __slots__ = ("came", "left", "took", "until", "writers")

    def __init__(self) -> None:
        self.writers: list[int] = []
        self.came = 0
        self.left: list[int] = []
        self.until = _EVER - 1
        self.took = False

    def use_one(self, calls: Sequence[int], returns: Sequence[int], *, since: int, by: int) -> bool:
        """Use up a writer called ``by`` then that had not returned before ``since``, if there is one."""
        while self.came < len(self.writers) and calls[self.writers[self.came]] <= by:
            heappush(self.left, returns[self.writers[self.came]])
            self.came += 1
        while self.left and self.left[0] < since:
            heappop(self.left)
        if not self.left:
            return False
        heappop(self.left)
        return True


def _values(both: Sided) -> dict[Hashable, _Value]:
    """Return every value with its writers; the initial one has been there for ever."""
    values = {both.start: _Value()}
    values[both.start].left.append(_EVER)
    for at in compress(range(len(both.codes)), both.codes.translate(IS_WRITER)):
        value = values.get(both.news[at])
        if value is None:
            value = values[both.news[at]] = _Value()
        value.writers.append(at)
    return values


def gone(both: Sided) -> int | None:
    """Return the position of an operation that saw what was gone; None if there is none."""
    codes, olds, news, calls, returns = both.codes, both.olds, both.news, both.calls, both.returns
    everything, values = range(len(codes)), _values(both)
    showing = iter(sorted(compress(everything, codes.translate(_IS_SHOWING)), key=returns.__getitem__))
    latest = but_for_it = _EVER
    shown: object = None
    x = next(showing, -1)
    for r in compress(everything, codes.translate(_IS_SEEING)):
        call, back = calls[r], returns[r]
        while returns[x] < call:
            shows = _TWO if codes[x] == _CAS else news[x]
            if calls[x] > latest:
                if shows != shown:
                    but_for_it, shown = latest, shows
                latest = calls[x]
            elif calls[x] > but_for_it and shows != shown:
                but_for_it = calls[x]
            x = next(showing)
        value = values.get(olds[r])
        if value is None:
            return r
        since = but_for_it if olds[r] == shown else latest
        if (call if value.took else since) > value.until:
            if not value.use_one(calls, returns, since=since, by=back):
                return r
            value.until, value.took = back, codes[r] == _CAS
    return None
