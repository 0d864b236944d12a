"""One walk along the registers or strings of a history, for keys on which little happens at once.

Where nothing else is open while an operation is, its place in the order is known, and all there is to
do is look: one step of a loop. Only what overlaps leaves a choice. Then the walk does what any search
does: what only looks is taken as soon as it fits; of what may be next that is taken which must return
first, or what leaves the value that it waits for; and where that comes to nothing the walk goes back to
the last choice, and from then on remembers where it has been. An operation of unknown end is taken when
the one that must return first wants its value, or needs the present one gone, and nothing that certainly
happened can help.

Without any of unknown end the walk is exact: when it has tried every choice no order fits. With some a
walk that got through is a linearization all the same, and one that did not says nothing. It looks around
so often for every operation, and goes back so often, and no more; `register` is there for what is hard.

All keys are one series of rows, for a key by itself costs more to begin with than to walk along. Only
what certainly happened is a row, in call order, and a row `END` closes each key.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from checker.operations import NEVER
from checker.zones.lower import END, Code

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

READ, WRITE, CAS, DIFFERED = int(Code.READ), int(Code.WRITE), int(Code.CAS), int(Code.DIFFERED)
APPEND = int(Code.APPEND)
LATER: Final = NEVER + 1
"""The stamps of a row `END`: no operation of its key is open so long."""

_LOOKS_FREE: Final = 1_024
_LOOKS_PER_ROW: Final = 32
_BACKS_MAX: Final = 64

Trail = tuple[Any, Any]
"""A chain of what was taken elsewhere than at its own row, the last first: a row, or for an operation of
unknown end the row that it came before and its place in the history."""

Way = tuple[int, int, Trail | None]
"""How a key's operations fit: where its rows begin and end, and the trail."""


class Lost(Enum):
    """What is said of a key that the walk did not come through."""

    PERHAPS = "nothing is known"
    CERTAINLY = "no order fits"


_WANTING: Final = frozenset({READ, CAS})
ANY: Final = object()
"""Stands for the old value of a write, which needs none."""

Unknowns = dict[Any, list[tuple[int, int, Any, int]]]
"""Operations of unknown end by the value they leave, in call order: a bit of its own, the call, the old
value needed (or `ANY`), the place in the history."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rows:
    """The rows of several keys in columns, values tagged.

    ``places``: of each, where in the history it is.
    """

    codes: Sequence[int]
    values: Sequence[Any]
    calls: Sequence[int]
    returns: Sequence[int]
    places: Sequence[int]


def walk(  # noqa: C901, PLR0912, PLR0915 - one loop, kept flat for speed
    rows: Rows, start: Hashable, unknown: Callable[[int], Unknowns]
) -> Iterator[Way | Lost]:
    """Yield what became of each key; ``unknown`` returns what is of unknown end on a key, by number."""
    codes, values, calls, returns = rows.codes, rows.values, rows.calls, rows.returns
    size = len(codes)
    read, write, cas, append, end = READ, WRITE, CAS, APPEND, END
    begin = number = 0
    while begin < size:
        first, taken, used, state = begin, 0, 0, start
        trail: Any = None
        stack: list[tuple[int, int, int, Any, Any, list[int]]] = []
        unknowns: Unknowns | None = None
        seen: set[tuple[int, int, int, Any]] = set()
        backs = 0
        looks = _LOOKS_FREE
        lost: Lost | None = None
        code = -1
        while True:
            if not taken:
                for first in range(first, size):  # noqa: B020 - it goes on from where it is
                    code = codes[first]
                    if code == read:
                        if values[first] != state:
                            break
                    elif code == write:
                        value = values[first]
                        if calls[first + 1] <= returns[first]:
                            back, at = returns[first], first + 1
                            while calls[at] <= back and codes[at] == read and values[at] == value:
                                at += 1
                            if calls[at] <= back:
                                break
                        state = value
                    elif code == cas:
                        value = values[first]
                        if value[0] != state or calls[first + 1] <= returns[first]:
                            break
                        state = value[1]
                    elif code == append:
                        if calls[first + 1] <= returns[first]:
                            break
                        state = state + values[first]
                    elif code == end or values[first][0] == state:
                        break
                if code == end:
                    break
            candidates: list[int] = []
            soonest, blocked = NEVER, -1
            at, bits = first, taken
            while calls[at] <= soonest:
                if not bits & 1:
                    code = codes[at]
                    if code == read:
                        fits = values[at] == state
                    elif code == write or code == append:  # noqa: PLR1714, SIM109 - builds no tuple
                        candidates.append(at)
                        fits = False
                    elif code == cas:
                        value = values[at]
                        fits = value[0] == state
                        if fits and value[1] != state:
                            candidates.append(at)
                            fits = False
                    else:
                        fits = values[at][0] != state
                    if fits:
                        taken |= 1 << (at - first)
                        trail = (at, trail)
                        at += 1
                        bits >>= 1
                        continue
                    back = returns[at]
                    if back < soonest:
                        soonest, blocked = back, at
                at += 1
                bits >>= 1
            looks -= at - first
            if looks + (first - begin) * _LOOKS_PER_ROW < 0:
                lost = Lost.PERHAPS
                break
            while taken & 1:
                taken >>= 1
                first += 1
            if blocked < 0:
                continue
            option = -1
            if backs and (first, taken, used, state) in seen:
                candidates.clear()
            elif blocked in candidates:
                option = blocked
            else:
                option, helpful = _towards(rows, blocked, candidates, state)
                if not helpful:
                    if unknowns is None:
                        unknowns = unknown(number)
                    given = unknowns and _given(unknowns, rows, blocked, state, used, soonest)
                    if given:
                        if candidates:
                            stack.append((first, taken, used, state, trail, candidates))
                        bit, state, place = given
                        used |= bit
                        trail = ((first, place), trail)
                        continue
            if backs:
                seen.add((first, taken, used, state))
            if option < 0:
                if not stack or backs == _BACKS_MAX:
                    lost = Lost.CERTAINLY if not unknowns and not stack else Lost.PERHAPS
                    break
                backs += 1
                first, taken, used, state, trail, candidates = stack.pop()
                option = min(candidates, key=returns.__getitem__)
            if len(candidates) > 1:
                candidates.remove(option)
                stack.append((first, taken, used, state, trail, candidates))
            value = values[option]
            state = value if codes[option] == write else _left_by(codes[option], value, state)
            if option == first and not taken:
                first += 1
                continue
            taken |= 1 << (option - first)
            trail = (option, trail)
            while taken & 1:
                taken >>= 1
                first += 1
        if lost is not None:
            first = codes.index(end, first)
            yield lost
        else:
            yield begin, first, trail
        begin = first + 1
        number += 1


def _left_by(code: int, value: Any, state: Any) -> Any:
    """Return the value that an operation which changes ``state`` leaves."""
    if code == CAS:
        return value[1]
    return value if code == WRITE else state + value


def _towards(rows: Rows, blocked: int, candidates: list[int], state: Any) -> tuple[int, bool]:
    """Return the candidate to take while ``blocked`` waits, or -1; and whether it helps."""
    if not candidates:
        return -1, False
    code, wanted = rows.codes[blocked], rows.values[blocked]
    if code in _WANTING:
        wanted = wanted if code == READ else wanted[0]
        for at in candidates:
            if _left_by(rows.codes[at], rows.values[at], state) == wanted:
                return at, True
    return min(candidates, key=rows.returns.__getitem__), code not in _WANTING


def _given(
    unknowns: Unknowns, rows: Rows, blocked: int, state: Any, used: int, soonest: int
) -> tuple[int, Any, int] | None:
    """Return the bit, value and place of one of unknown end that helps ``blocked``, not used before."""
    code, value = rows.codes[blocked], rows.values[blocked]
    wanted: Iterable[Any] = (value,) if code == READ else (value[0],)
    if code == DIFFERED:
        wanted = [each for each in unknowns if each != state]
    for leaves in wanted:
        for bit, call, old, place in unknowns.get(leaves, ()):
            if call > soonest:
                break
            if not used & bit and (old is ANY or old == state):
                return bit, leaves, place
    return None


def order(rows: Rows, way: Way) -> tuple[int, ...]:
    """Return the linearization that ``way`` is, as places in the history."""
    begin, end, trail = way
    chosen: list[Any] = []
    while trail is not None:
        step, trail = trail
        chosen.append(step)
    chosen.reverse()
    elsewhere = {step for step in chosen if type(step) is int}
    at = begin
    found: list[int] = []
    for step in [*chosen, end]:
        row = step if type(step) is int else step[0]
        while at < row:
            if at not in elsewhere:
                found.append(rows.places[at])
            at += 1
        if step != end:
            found.append(rows.places[step] if type(step) is int else step[1])
    return tuple(found)
