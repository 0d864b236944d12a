"""Register operations with values by number, as the register search takes them.

Operations that certainly happened are columns in call order; those of unknown end are `Maybes`, by the
value that they would write. Everything here is computed once, before the search begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, compress
from typing import TYPE_CHECKING

from checker.operations import NEVER
from checker.values import all_plain, tag
from checker.zones.lower import IS_MAYBE, IS_PAIR, Code

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.zones.lower import Lowered

READ, WRITE, CAS = int(Code.READ), int(Code.WRITE), int(Code.CAS)
NO_OLD = -1
_IS_CERTAIN = bytes(1 - maybe for maybe in IS_MAYBE)


@dataclass(kw_only=True, slots=True, eq=False)
class Maybes:
    """Who of unknown end could write a value: (call, position, old value or `NO_OLD`), in call order.

    ``bits`` gives each its place in the set of those used.
    """

    writers: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    bits: dict[int, int] = field(default_factory=dict)
    _wants: dict[int, frozenset[int]] = field(default_factory=dict)

    def add(self, call: int, position: int, old: int, new: int) -> None:
        """Note one, in call order."""
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
                    if old != NO_OLD and old not in reached:
                        reached.add(old)
                        pending.append(old)
            found = self._wants[value] = frozenset(reached)
        return found


@dataclass(kw_only=True, slots=True, eq=False)
class Numbered:
    """Columns of what certainly happened: code, value needed (of a write meaningless), value left.

    ``call`` has one entry more, `NEVER`, which ends every walk. ``observers`` and ``writers``: by
    value, who needs it and who leaves it, in call order. ``junk``: the plain writes of unknown end
    whose value nobody can want.
    """

    names: list[Hashable]
    code: list[int]
    sees: list[int]
    then: list[int]
    call: list[int]
    back: list[int]
    position: Sequence[int]
    observers: list[list[int]]
    writers: list[list[int]]
    maybes: Maybes
    junk: list[tuple[int, int, int]]


def numbered(  # noqa: C901 - one column after the other
    lowered: Lowered,
) -> Numbered:
    """Return ``lowered`` with its values numbered; the initial value is 0."""
    codes, news = lowered.codes, lowered.values
    olds = news
    pairs = codes.translate(IS_PAIR)
    if 1 in pairs:
        olds = [value[0] if pair else value for value, pair in zip(news, pairs, strict=True)]
        news = [value[1] if pair else value for value, pair in zip(news, pairs, strict=True)]
    if not (all_plain(news) and (olds is news or all_plain(olds))):
        news, olds = list(map(tag, news)), list(map(tag, olds))
    names = list(dict.fromkeys(chain((lowered.start,), news, olds)))
    numbers = dict(zip(names, range(len(names)), strict=True)).__getitem__
    then = list(map(numbers, news))
    sees = then if olds is news else list(map(numbers, olds))
    maybes = Maybes()
    position: Sequence[int] = range(len(codes))
    calls, returns = list(lowered.calls), list(lowered.returns)
    if 1 in codes.translate(IS_MAYBE):
        for i in compress(position, codes.translate(IS_MAYBE)):
            plain = codes[i] == Code.MAYBE_WRITE
            if plain or sees[i] != then[i]:
                maybes.add(calls[i], i, NO_OLD if plain else sees[i], then[i])
        certain = codes.translate(_IS_CERTAIN)
        position = list(compress(position, certain))
        calls, returns = list(compress(calls, certain)), list(compress(returns, certain))
        sees, then = list(compress(sees, certain)), list(compress(then, certain))
        codes = bytes(compress(codes, certain))
    code = list(codes)
    observers: list[list[int]] = [[] for _ in names]
    writers: list[list[int]] = [[] for _ in names]
    for at, kind in enumerate(code):
        if kind == WRITE:
            writers[then[at]].append(at)
        elif kind == READ:
            observers[sees[at]].append(at)
        elif kind == CAS:
            observers[sees[at]].append(at)
            if sees[at] == then[at]:
                code[at] = READ
            else:
                writers[then[at]].append(at)
    useful = {want for value in maybes.writers if observers[value] for want in maybes.wanted(value)}
    junk = sorted(
        (call, i, value)
        for value, several in maybes.writers.items()
        if value not in useful
        for call, i, old in several
        if old == NO_OLD
    )
    return Numbered(
        names=names,
        code=code,
        sees=sees,
        then=then,
        call=[*calls, NEVER],
        back=returns,
        position=position,
        observers=observers,
        writers=writers,
        maybes=maybes,
        junk=junk,
    )
