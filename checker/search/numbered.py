"""Register operations with values by number, as the register search takes them.

Operations that certainly happened are columns in call order; those of unknown end are `Maybes`, by the
value that they would write. Everything here is computed once, before the search begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple

from checker.operations import NEVER
from checker.zones.lower import IS_DIFFERED, IS_MAYBE, IS_WRITER, Code, mask

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.zones.lower import Sided

READ, WRITE, CAS, DIFFERED = int(Code.READ), int(Code.WRITE), int(Code.CAS), int(Code.DIFFERED)
MAYBE_WRITE = int(Code.MAYBE_WRITE)
NO_OLD = -1
_IS_CERTAIN = mask(Code.READ, Code.WRITE, Code.CAS, Code.DIFFERED)
_IS_SEEING = mask(Code.READ, Code.CAS)


class Alike(NamedTuple):
    """Operations of unknown end that do the same: from ``old`` (`NO_OLD`: from anything) to a value.

    One is as good as another once it is called, so they are used in the order of their calls. Which are
    used is a number of as many bits as there are, from ``shift`` on, of which the lowest are set.
    """

    old: int
    calls: list[int]
    positions: list[int]
    shift: int

    def next_of(self, used: int, soonest: int) -> int:
        """Return how many are used, if the next one is called by ``soonest``; else ``~`` of that."""
        many = (used >> self.shift & (1 << len(self.calls)) - 1).bit_length()
        return many if many < len(self.calls) and self.calls[many] <= soonest else ~many


@dataclass(kw_only=True, slots=True, eq=False)
class Maybes:
    """What of unknown end could write each value, those alike together; junk is kept apart."""

    writers: dict[int, list[Alike]] = field(default_factory=dict)
    junk: Alike | None = None
    _wants: dict[int, frozenset[int]] = field(default_factory=dict)

    def wanted(self, value: int) -> frozenset[int]:
        """Return the values that help towards ``value``: itself, and the old ones that lead to it."""
        found = self._wants.get(value)
        if found is None:
            reached = {value}
            pending = [value]
            while pending:
                for alike in self.writers.get(pending.pop(), ()):
                    if alike.old != NO_OLD and alike.old not in reached:
                        reached.add(alike.old)
                        pending.append(alike.old)
            found = self._wants[value] = frozenset(reached)
        return found


@dataclass(kw_only=True, slots=True, eq=False)
class Numbered:
    """Columns of what certainly happened: code, value needed (of a write meaningless), value left.

    ``call`` has one entry more, `NEVER`, which ends every walk. ``observers`` and ``writers``: by
    value, who needs it and who leaves it, in call order. ``nothing`` stands for every value that nobody
    asks about.
    """

    names: list[Hashable]
    code: bytes
    sees: list[int]
    then: list[int]
    call: list[int]
    back: list[int]
    position: Sequence[int]
    observers: list[list[int]]
    writers: list[list[int]]
    maybes: Maybes
    nothing: int


def numbered(both: Sided) -> Numbered:
    """Return operations with their values numbered; the initial value is 0."""
    codes = both.codes
    position: Sequence[int] = range(len(codes))
    names = list(dict.fromkeys(chain((both.start,), both.news, both.olds)))
    numbers = dict(zip(names, range(len(names)), strict=True)).__getitem__
    then = list(map(numbers, both.news))
    sees = then if both.olds is both.news else list(map(numbers, both.olds))
    calls, returns = list(both.calls), list(both.returns)
    unknown: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i in compress(position, codes.translate(IS_MAYBE)):
        old = NO_OLD if codes[i] == MAYBE_WRITE else sees[i]
        unknown.setdefault((then[i], old), []).append((calls[i], i))
    certain = codes.translate(_IS_CERTAIN)
    if 0 in certain:
        position = list(compress(position, certain))
        calls, returns = list(compress(calls, certain)), list(compress(returns, certain))
        sees, then = list(compress(sees, certain)), list(compress(then, certain))
        codes = bytes(compress(codes, certain))
    observers: list[list[int]] = [[] for _ in names]
    writers: list[list[int]] = [[] for _ in names]
    for at in compress(range(len(codes)), codes.translate(_IS_SEEING)):
        observers[sees[at]].append(at)
    for at in compress(range(len(codes)), codes.translate(IS_WRITER)):
        writers[then[at]].append(at)
    asked = set(compress(sees, codes.translate(IS_DIFFERED)))
    observers.append([])
    writers.append([])
    return Numbered(
        names=[*names, None],
        code=codes,
        sees=sees,
        then=then,
        call=[*calls, NEVER],
        back=returns,
        position=position,
        observers=observers,
        writers=writers,
        maybes=_maybes(unknown, observers, asked),
        nothing=len(names),
    )


def _maybes(
    unknown: dict[tuple[int, int], list[tuple[int, int]]],
    observers: list[list[int]],
    asked: set[int],
) -> Maybes:
    """Return the operations of unknown end, by the value they leave and the one they need.

    Junk are the plain writes whose value nobody can want, neither for itself nor on the way to another,
    and that no failed cas is about.
    """
    maybes = Maybes()
    shift = 0
    for (new, old), members in unknown.items():
        calls, positions = zip(*members, strict=True)
        maybes.writers.setdefault(new, []).append(Alike(old, [*calls], [*positions], shift))
        shift += len(members)
    useful = {want for value in maybes.writers if observers[value] for want in maybes.wanted(value)}
    useful |= asked
    junk = sorted(
        (call, position)
        for (new, old), members in unknown.items()
        if old == NO_OLD and new not in useful
        for call, position in members
    )
    if junk:
        for value in [value for value in maybes.writers if value not in useful]:
            maybes.writers[value] = [alike for alike in maybes.writers[value] if alike.old != NO_OLD]
        maybes.junk = Alike(NO_OLD, [call for call, _ in junk], [i for _, i in junk], shift)
    return maybes
