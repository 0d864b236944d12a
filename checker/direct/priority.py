"""Priority queues whose values are put in once: decided in n log n, the smallest value first.

A value may come out at an instant at which no smaller one is inside. So the smaller ones want to be
inside for as short as they can be: put in as late, taken out as early as possible. For the smallest
value that is its core (see `stays`). Value after value: it comes out at the first instant of its taking
at which no smaller one is inside, and is put in at the end of its putting, or at that same instant. Any
other choice would keep it inside for longer, and so be worse for those that are greater. If there is no
such instant then no order fits; what proves it is the value, the smaller ones that cover its taking,
and those that cover *their* takings up to where they came out. An answer "empty" fits where nothing is
inside.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from checker.direct.bag import INSTANT, PUT, TAKEN
from checker.direct.stays import Stay, gather, positions
from checker.direct.verdict import Direct, Impossible, Ordered
from checker.models.queues import rank
from checker.operations import NEVER
from checker.values import show, tag

if TYPE_CHECKING:
    from checker.part import Part


def decide(part: Part) -> Direct:
    """Return the decision for a priority queue that starts empty and never holds two of one rank."""
    stays = gather(part)
    if stays is None or isinstance(stays, Impossible):
        return stays
    ranks = {stay.put: rank(tag(part.operations[stay.put].value)) for stay in stays.counting}
    if len(set(ranks.values())) < len(ranks):
        return None
    inside = _Inside(part, stays.counting, stays.empties)
    timed: list[tuple[int, int, int, int]] = []
    for order, stay in enumerate(sorted(stays.counting, key=lambda stay: ranks[stay.put])):
        out = inside.free(max(stay.take_call, stay.put_call))
        if out > stay.take_return:
            wrong = inside.proof(part, stay.take, stay)
            return wrong if stays.sure else None
        if stay.put_return < out:
            timed.append((stay.put_return, PUT, order, stay.put))
            inside.stays(stay, out)
        else:
            timed.append((out, INSTANT, order, stay.put))
        if stay.take >= 0:
            timed.append((out, TAKEN if stay.put_return < out else INSTANT, order, stay.take))
    for i in stays.empties:
        instant = inside.free(part.calls[i])
        if instant > part.returns[i]:
            return inside.proof(part, i, None) if stays.sure else None
        timed.append((instant, INSTANT, -1, i))
    timed.sort(key=lambda event: event[:3])
    return Ordered([i for *_, i in timed])


class _Inside:
    """When something is inside: each stamp that is strictly within a span points on to a later one.

    A span's own ends stay free: there the next may come after the last has gone.
    """

    def __init__(self, part: Part, counting: list[Stay], empties: list[int]) -> None:
        stamps = {NEVER, *(part.calls[i] for i in empties)}
        for stay in counting:
            stamps.update((stay.put_call, stay.put_return, stay.take_call, stay.take_return))
        self.stamps = sorted(stamps)
        self.onward = list(range(len(self.stamps)))
        self.spans: list[tuple[int, int, Stay]] = []

    def free(self, stamp: int) -> int:
        """Return the first stamp from ``stamp`` on that is within no span."""
        return self.stamps[self._find(bisect_left(self.stamps, stamp))]

    def stays(self, stay: Stay, out: int) -> None:
        """Note that ``stay`` lasts from the end of its putting to ``out``."""
        self.spans.append((stay.put_return, out, stay))
        end = bisect_left(self.stamps, out)
        at = self._find(bisect_left(self.stamps, stay.put_return) + 1)
        while at < end:
            self.onward[at] = at + 1
            at = self._find(at)

    def _find(self, at: int) -> int:
        onward = self.onward
        root = at
        while onward[root] != root:
            root = onward[root]
        while onward[at] != root:
            onward[at], at = root, onward[at]
        return root

    def proof(self, part: Part, culprit: int, stay: Stay | None) -> Impossible:
        """Return why ``culprit``, which takes ``stay`` or answers "empty", can be at no instant."""
        needed: dict[int, Stay] = {} if stay is None else {stay.put: stay}
        call = part.calls[culprit] if stay is None else max(stay.take_call, stay.put_call)
        pending = [(call, part.returns[culprit], len(self.spans))]
        while pending:
            reached, until, before = pending.pop()
            while reached <= until:
                at = max(
                    (at for at in range(before) if self.spans[at][0] < reached),
                    key=lambda at: self.spans[at][1],
                )
                _, reached, found = self.spans[at]
                if found.put not in needed:
                    needed[found.put] = found
                    soonest = max(found.take_call, found.put_call)
                    pending.append((soonest, reached - 1, at))
        return Impossible(positions([*needed.values()], culprit), culprit, _why(part, needed, stay))


def _why(part: Part, needed: dict[int, Stay], stay: Stay | None) -> str:
    if stay is None:
        return "found it empty, though something was inside all the while"
    smaller = [show(part.operations[put].value) for put in needed if put != stay.put]
    return f"came out, though smaller ones were inside all the while: {', '.join(smaller)}"
