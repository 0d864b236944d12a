"""The search for registers where values repeat, or where zones could not decide.

Wing and Gong's search with Lowe's memory, as in `generic`, on codes and numbered values, with what is
true of registers only:

1. Reads, failed cas and cas from a value to itself are taken as soon as they fit, without a branch.
2. A configuration is (first operation not taken, a bit for each later one taken, value held).
3. A write or cas of unknown end is taken only when somebody who may be next wants its value (or the old
   value of another such cas on the way to it), or when a failed cas needs the value gone: anything else
   can be delayed, or left out. What nobody ever wants is junk, and one junk is as good as another.
4. Of two equal configurations the one that used fewer of those can do whatever the other can.
5. A value is never left while an operation not taken still has to see it and none not taken can write it
   again.
6. Candidates are tried in a given order where there is one (the order of zones), else earliest return
   first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.models.model import untag
from checker.operations import NEVER
from checker.search.result import Deepest, Found, Searching, Stuck, unwind
from checker.values import tag
from checker.zones.lower import Code

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.zones.lower import Lowered

_SLICE = 512


class Maybes:
    """The operations of unknown end: who can write what, and who wants what for it."""

    def __init__(self) -> None:
        self.writers: dict[int, list[tuple[int, int, int]]] = {}
        self.bits: dict[int, int] = {}
        self._wants: dict[int, frozenset[int]] = {}

    def add(self, call: int, position: int, old: int, new: int) -> None:
        """Note one, in call order; ``old`` is -1 of a plain write."""
        self.bits[position] = 1 << len(self.bits)
        self.writers.setdefault(new, []).append((call, position, old))

    def wanted(self, value: int) -> frozenset[int]:
        """Return the values that help towards ``value``: itself, and the old ones that lead to it."""
        found = self._wants.get(value)
        if found is None:
            reached = {value}
            pending = [value]
            while pending:
                for _, _, old in self.writers.get(pending.pop(), ()):
                    if old >= 0 and old not in reached:
                        reached.add(old)
                        pending.append(old)
            found = self._wants[value] = frozenset(reached)
        return found


def search(  # noqa: C901, PLR0912, PLR0915 - one loop whose parts share two dozen variables
    lowered: Lowered, rank: Sequence[int] | None = None
) -> Searching:
    """Search a linearization; ``rank`` orders the candidates, by position in ``lowered``."""
    numbers: dict[Hashable, int] = {lowered.start: 0}
    code: list[int] = []
    sees: list[int] = []
    then: list[int] = []
    call: list[int] = []
    back: list[int] = []
    position: list[int] = []
    maybes = Maybes()
    for i, kind in enumerate(lowered.codes):
        value = lowered.values[i]
        if kind == Code.READ:
            old = new = numbers.setdefault(tag(value), len(numbers))
        elif kind in {Code.WRITE, Code.MAYBE_WRITE}:
            old, new = -1, numbers.setdefault(tag(value), len(numbers))
        else:
            old = numbers.setdefault(tag(value[0]), len(numbers))
            new = numbers.setdefault(tag(value[1]), len(numbers))
        if kind in {Code.MAYBE_WRITE, Code.MAYBE_CAS}:
            if old != new:
                maybes.add(lowered.calls[i], i, old, new)
            continue
        code.append(int(Code.READ if kind == Code.CAS and old == new else kind))
        sees.append(old)
        then.append(new)
        call.append(lowered.calls[i])
        back.append(lowered.returns[i])
        position.append(i)
    size = len(code)
    call.append(NEVER)
    observers: list[list[int]] = [[] for _ in numbers]
    writers: list[list[int]] = [[] for _ in numbers]
    for at in range(size):
        if code[at] in {Code.READ, Code.CAS}:
            observers[sees[at]].append(at)
        if code[at] in {Code.WRITE, Code.CAS}:
            writers[then[at]].append(at)
    priority = back if rank is None else [rank[i] for i in position]
    useful = {want for value in maybes.writers if observers[value] for want in maybes.wanted(value)}
    junk_value = {
        i: value
        for value, several in maybes.writers.items()
        if value not in useful
        for _, i, old in several
        if old < 0
    }
    junk = sorted((lowered.calls[i], i) for i in junk_value)
    bits_of, maybe_writers = maybes.bits, maybes.writers

    def left(places: list[int], first: int, taken: int, most: int) -> int:
        """Return how many of ``places`` are not taken, counting up to ``most``."""
        count = 0
        for at in reversed(places):
            if at < first:
                break
            if not taken >> (at - first) & 1:
                count += 1
                if count == most:
                    break
        return count

    read, write, cas = int(Code.READ), int(Code.WRITE), int(Code.CAS)
    seen: dict[tuple[int, int, int], Any] = {}
    deepest = Deepest()
    spent = 0
    stack: list[tuple[int, int, int, int, Any]] = [(0, 0, 0, 0, None)]
    while stack:
        first, taken, used, state, trail = stack.pop()
        while True:
            spent += 1
            if spent >= _SLICE:
                yield spent
                spent = 0
            candidates: list[int] = []
            wants: list[int] = []
            stuck_differed = False
            soonest, blocked = NEVER, -1
            at, bits = first, taken
            while call[at] <= soonest:
                if at == size:
                    break
                if not bits & 1:
                    kind = code[at]
                    if kind == read:
                        if sees[at] == state:
                            taken |= 1 << (at - first)
                            trail = (position[at], trail)
                            at += 1
                            bits >>= 1
                            continue
                        wants.append(sees[at])
                    elif kind == write:
                        candidates.append(at)
                    elif kind == cas:
                        if sees[at] == state:
                            candidates.append(at)
                        else:
                            wants.append(sees[at])
                    elif sees[at] != state:
                        taken |= 1 << (at - first)
                        trail = (position[at], trail)
                        at += 1
                        bits >>= 1
                        continue
                    else:
                        stuck_differed = True
                    if back[at] < soonest:
                        soonest, blocked = back[at], at
                at += 1
                bits >>= 1
            if blocked < 0:
                return Found(order=unwind(trail))
            if taken & 1:
                shift = (~taken & (taken + 1)).bit_length() - 1
                first += shift
                taken >>= shift
            if soonest >= deepest.stamp:
                deepest.reach(soonest, first + taken.bit_count(), position[blocked], state)
            children: list[tuple[int, int, int, int, Any]] = []
            needed = left(observers[state], first, taken, 2)
            kept = (
                bool(needed) and not left(writers[state], first, taken, 1) and state not in maybe_writers
            )
            if bits_of:
                helpful: dict[int, int] = {}
                for value in wants:
                    for help_value in maybes.wanted(value):
                        if help_value != state and help_value in maybe_writers:
                            for made, i, old in maybe_writers[help_value]:
                                if made > soonest:
                                    break
                                if not used & bits_of[i] and old in {-1, state}:
                                    helpful[i] = help_value
                                    if old < 0:
                                        break
                if stuck_differed and not kept:
                    free = next(
                        (i for made, i in junk if made <= soonest and not used & bits_of[i]), None
                    )
                    if free is not None:
                        helpful[free] = junk_value[free]
                    helpful.update(
                        (i, value)
                        for value, several in maybe_writers.items()
                        if value != state
                        for made, i, old in several
                        if made <= soonest
                        and not used & bits_of[i]
                        and (old == state or (old < 0 and free is None))
                    )
                if not kept:
                    children.extend(
                        (first, taken, used | bits_of[i], value, (i, trail))
                        for i, value in helpful.items()
                    )
            if len(candidates) > 1:
                candidates.sort(key=priority.__getitem__, reverse=True)
            for at in candidates:
                if kept and not (needed == 1 and code[at] == cas):
                    continue
                children.append(
                    (first, taken | 1 << (at - first), used, then[at], (position[at], trail))
                )
            if not children:
                break
            if len(children) > 1:
                key = (first, taken, state)
                before = seen.get(key)
                if before is None:
                    seen[key] = [used] if used else True
                elif before is True or any(less & used == less for less in before):
                    break
                else:
                    before.append(used)
                stack.extend(children[:-1])
            first, taken, used, state, trail = children[-1]
            if taken & 1:
                shift = (~taken & (taken + 1)).bit_length() - 1
                first += shift
                taken >>= shift
    yield spent
    names = list(numbers)
    return Found(
        order=None,
        stuck=Stuck(
            blocked=deepest.blocked, states=tuple(untag(names[state]) for state in deepest.states)
        ),
    )
