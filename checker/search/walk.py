"""One walk along a register's operations, for keys on which little happens at once.

Where nothing else is open while an operation is, its place in the order is known, and all there is to
do is look: one step of a loop. Only what overlaps leaves a choice. So the operations of a key, in the
order of their calls, fall into *stretches*: a stretch ends where everything that was called has returned
before the next call. Of a short stretch every way through is tried, and each value it can end with is
kept.

An operation of unknown end never returns; it belongs to no stretch. It is taken when an operation that
may be next wants its value, or needs the present one gone, and nothing else is tried with it.

Without any of unknown end the walk is exact: no value left means that no order fits. With some a walk
that got through is a linearization all the same, and one that did not says nothing. Wherever a stretch
is too long, the walk gives up; `register` is there for what is hard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checker.operations import NEVER
from checker.zones.lower import Code

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

READ, WRITE, CAS, DIFFERED = int(Code.READ), int(Code.WRITE), int(Code.CAS), int(Code.DIFFERED)
MAYBE_WRITE, NOTHING = int(Code.MAYBE_WRITE), int(Code.NOTHING)

_STRETCH_MAX: Final = 16
_CONFIGURATIONS_MAX: Final = 64
_SEVERAL: Final = object()
"""Stands for the value held where it may be one of several; equal to none."""

_NONE: Final = object()

Ways = dict[Any, tuple[int, Any]]
"""By value held: which of unknown end were taken, a bit each, and the trail that led there.

A trail is a chain of positions. The end of a stretch is marked with ``~`` of where the stretch began.
"""


class Lost(Exception):  # noqa: N818 - an answer
    """The walk did not come through; ``certain``: no order fits."""

    def __init__(self, *, certain: bool) -> None:
        super().__init__(certain)
        self.certain = certain


def walk(  # noqa: C901, PLR0912 - one loop, kept flat for speed
    codes: Sequence[int],
    values: Sequence[Any],
    calls: Sequence[int],
    returns: Sequence[int],
    start: Hashable,
) -> Any:
    """Return the trail of a linearization, for `order`. Raises `Lost`.

    The columns are those of `Lowered`, tagged; `Code.NOTHING` may be among them.
    """
    state: Any = start
    ways: Ways = {start: (0, None)}
    maybes: dict[Any, list[tuple[int, int]]] = {}
    unknown = 0
    stretch: list[int] = []
    latest = -NEVER
    following = iter(calls)
    next(following, None)
    for at, (code, value, back) in enumerate(zip(codes, values, returns, strict=True)):
        until = next(following, NEVER)
        if back < until and not stretch:
            if code == READ:
                if value == state:
                    continue
            elif code == WRITE:
                state = value
                continue
            elif code == CAS:
                if value[0] == state:
                    state = value[1]
                    continue
            elif code == NOTHING or (state is not _SEVERAL and value[0] != state):
                continue
        if code < MAYBE_WRITE:
            if len(stretch) == _STRETCH_MAX:
                raise Lost(certain=False)
            stretch.append(at)
            if back > latest:  # noqa: PLR1730 - max() would double the time
                latest = back
        elif code != NOTHING:
            new = value if code == MAYBE_WRITE else value[1]
            maybes.setdefault(new, []).append((1 << unknown, at))
            unknown += 1
        if stretch and latest < until:
            if state is not _SEVERAL:
                used, trail = next(iter(ways.values()))
                ways = {state: (used, trail)}
            ways = _through(codes, values, calls, returns, stretch=stretch, ways=ways, maybes=maybes)
            if not ways:
                raise Lost(certain=not unknown)
            state = _SEVERAL if len(ways) > 1 else next(iter(ways))
            stretch = []
            latest = -NEVER
    return next(iter(ways.values()))[1]


def _through(  # noqa: C901, PLR0912, PLR0915 - as above
    codes: Sequence[int],
    values: Sequence[Any],
    calls: Sequence[int],
    returns: Sequence[int],
    *,
    stretch: list[int],
    ways: Ways,
    maybes: dict[Any, list[tuple[int, int]]],
) -> Ways:
    """Return the ways out of a stretch, those that took the fewest of unknown end first."""
    if len(stretch) == 2 and not maybes:
        return _either(codes, values, *stretch, ways=ways)
    everything = (1 << len(stretch)) - 1
    begun = ~stretch[0]
    ends: Ways = {}
    seen = set()
    stack = [(0, state, used, trail) for state, (used, trail) in reversed(ways.items())]
    while stack:
        taken, state, used, trail = stack.pop()
        if (taken, state) in seen:
            continue
        seen.add((taken, state))
        if len(seen) > _CONFIGURATIONS_MAX:
            raise Lost(certain=False)
        soonest = NEVER
        options = []
        wants = []
        differing = False
        for bit, at in enumerate(stretch):
            if calls[at] > soonest:
                break
            if taken >> bit & 1:
                continue
            code, value = codes[at], values[at]
            if code == WRITE:
                options.append((1 << bit, value, at))
            elif code == CAS:
                if value[0] == state:
                    options.append((1 << bit, value[1], at))
                else:
                    wants.append(value[0])
            elif (value == state) if code == READ else (value[0] != state):
                taken |= 1 << bit
                trail = (at, trail)
                continue
            elif code == READ:
                wants.append(value)
            else:
                differing = True
            if returns[at] < soonest:  # noqa: PLR1730 - as above
                soonest = returns[at]
        if taken == everything:
            if state not in ends or used.bit_count() < ends[state][0].bit_count():
                ends[state] = (used, (begun, trail))
            continue
        if maybes and (wants or differing):
            for new in maybes if differing else wants:
                if new == state:
                    continue
                for bit, at in maybes.get(new, ()):
                    if calls[at] > soonest:
                        break
                    if used & bit or (codes[at] != MAYBE_WRITE and values[at][0] != state):
                        continue
                    stack.append((taken, new, used | bit, (at, trail)))
                    break
        stack.extend((taken | bit, then, used, (at, trail)) for bit, then, at in reversed(options))
    if len(ends) > 1:
        return dict(sorted(ends.items(), key=lambda end: end[1][0].bit_count()))
    return ends


def _either(codes: Sequence[int], values: Sequence[Any], one: int, other: int, *, ways: Ways) -> Ways:
    """Return the ways out of two operations that overlap: the one first, or the other."""
    ends: Ways = {}
    for state, (used, trail) in ways.items():
        for first, then in ((one, other), (other, one)):
            between = _after(codes[first], values[first], state)
            end = between if between is _NONE else _after(codes[then], values[then], between)
            if end is not _NONE and end not in ends:
                ends[end] = (used, (~one, (then, (first, trail))))
    return ends


def _after(code: int, value: Any, state: Any) -> Any:
    """Return the value that an operation which certainly happened leaves; `_NONE` if it does not fit."""
    if code == WRITE:
        return value
    if code == READ:
        return state if value == state else _NONE
    if code == CAS:
        return value[1] if value[0] == state else _NONE
    return state if value[0] != state else _NONE


def order(codes: Sequence[int], trail: Any) -> list[int]:
    """Return the positions of the linearization at whose end ``trail`` stands."""
    stretches: list[tuple[int, list[int]]] = []
    while trail is not None:
        at, trail = trail
        if at < 0:
            stretches.append((~at, []))
        else:
            stretches[-1][1].append(at)
    chosen = {at for _, several in stretches for at in several}
    alone = [at for at, code in enumerate(codes) if code < MAYBE_WRITE and at not in chosen]
    found: list[int] = []
    done = 0
    for begins, several in reversed(stretches):
        while done < len(alone) and alone[done] < begins:
            found.append(alone[done])
            done += 1
        found.extend(reversed(several))
    return [*found, *alone[done:]]
