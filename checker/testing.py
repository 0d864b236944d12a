r"""Histories for tests: drawn as people draw them, or thrown with dice.

    0 |----------w 1----------|
    1    |-r 1-|      |-cas! 2 3-|
    2             |-r nil->

Columns are time. A line belongs to the process that it begins with; ``|`` begins an operation, ``|``
ends it, ``>`` leaves its end unknown. Inside stand the function and its values: ``w``, ``r`` and
``cas`` for write, read and compare-and-set, any other name as it is; ``!`` after the name means that it
failed (a cas: with MISMATCH). ``x:`` before the function names the key.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from checker.errors import MalformedHistory
from checker.events import MISMATCH
from checker.pairing import Line, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.conventions import Conventions
    from checker.operations import History

Any_ = TypeVar("Any_")

_INTERVAL: Final = re.compile(r"\|-*(?:(\w+):)?([a-z-]*[a-z])(!?)((?: [^|>-][^|> -]*)*)-*([|>])")
_NAMES: Final = {"w": "write", "r": "read"}


class Dice(Protocol):
    """What a ``random.Random`` can do, as far as it is needed here."""

    def random(self) -> float:
        """Return a number from 0 up to 1."""
        ...

    def randint(self, a: int, b: int, /) -> int:
        """Return a whole number from ``a`` to ``b``."""
        ...

    def choice(self, seq: Sequence[Any_], /) -> Any_:
        """Return one of ``seq``."""
        ...


def drawn(text: str, *, name: str = "drawing", conventions: Conventions | None = None) -> History:
    """Return the history that ``text`` draws. Raises `MalformedHistory` with the line of the drawing."""
    events: list[tuple[int, int, Line]] = []
    retired = 0
    for number, row in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(\w+) +(?=\|)", row)
        if found is None:
            if row.strip() and not row.lstrip().startswith("#"):
                raise MalformedHistory(f"no process and interval in '{row}'", name=name, line=number)
            continue
        process: int | str = int(found[1]) if found[1].isdigit() else found[1]
        for interval in _INTERVAL.finditer(row, found.end()):
            key, f, failed, told, end = interval.groups()
            f = _NAMES.get(f, f)
            values = [_value(word) for word in told.split()]
            value = values[0] if len(values) == 1 else values or None
            asked = None if f == "read" else value
            invoke = Line(
                process=process, type="invoke", f=f, key=key, value=asked, time_ns=interval.start()
            )
            events.append((interval.start(), 0, invoke))
            if end == ">":
                retired += 1
                process = f"{found[1]}'{retired}"
                continue
            error = MISMATCH if failed and f == "cas" else None
            back = interval.end() - 1
            kind = "fail" if failed else "ok"
            line = Line(process=process, type=kind, f=f, key=key, value=value, time_ns=back, error=error)
            events.append((back, 1, line))
    events.sort(key=lambda event: event[:2])
    rows = [(number, line) for number, (_, _, line) in enumerate(events, 1)]
    return pair(rows, name=name, conventions=conventions)


def _value(word: str) -> Any:
    if word == "nil":
        return None
    try:
        return json.loads(word)
    except ValueError:
        return word


def thrown(
    dice: Dice, *, operations_max: int = 9, repeats: float = 0.25, conventions: Conventions | None = None
) -> History:
    """Return a small history of a cas-register, linearizable or not.

    Most are simulated (an instant inside each interval) and half of those then spoiled by one read; the
    others are drawn blindly. ``repeats``: the share of histories in which values may be written twice.
    Stamps collide often: equal ones are where algorithms go wrong.
    """
    count = dice.randint(1, operations_max)
    clients = dice.randint(1, 4)
    unknown = dice.choice((0.0, 0.0, 0.2, 0.5))
    cas = dice.choice((0.0, 0.3, 0.5))
    span = dice.choice((3, 6, 12))
    gap = dice.randint(0, 1)
    may_repeat = dice.random() < repeats
    values: list[int | None] = [None]
    free = [0] * clients
    drafts: list[_Draft] = []
    for _ in range(count):
        client = dice.randint(0, clients - 1)
        call = free[client] + dice.randint(0, 3)
        draft = _Draft(call, call + dice.randint(0, span), dice.random() < unknown)
        free[client] = draft.back + gap
        draft.choose(dice, cas=cas, values=values, may_repeat=may_repeat)
        drafts.append(draft)
    if dice.random() < 0.7:
        _simulate(dice, drafts)
        reads = [draft for draft in drafts if draft.f == "read"]
        if reads and dice.random() < 0.5:
            dice.choice(reads).value = dice.choice(values)
    else:
        for draft in drafts:
            if draft.f == "read":
                draft.value = dice.choice(values)
            elif draft.f == "cas" and dice.random() < 0.3:
                draft.value[0] = dice.choice(values)
    events: list[tuple[int, int, Line]] = []
    for process, draft in enumerate(drafts):
        events.extend(draft.events(process))
    events.sort(key=lambda event: event[:2])
    return pair(
        [(n, line) for n, (_, _, line) in enumerate(events, 1)], name="thrown", conventions=conventions
    )


class _Draft:
    """An operation being made up."""

    def __init__(self, call: int, back: int, unknown: bool) -> None:  # noqa: FBT001 - private, and plain
        self.call, self.back, self.unknown = call, back, unknown
        self.f, self.value, self.failed = "read", None, False

    f: str
    value: Any
    failed: bool

    def choose(self, dice: Dice, *, cas: float, values: list[int | None], may_repeat: bool) -> None:
        """Decide what it does; ``values`` are those written so far, nil among them."""
        draw = dice.random()
        if draw >= cas + (1 - cas) / 2:
            self.unknown = False
            return
        old = dice.choice((*values, 10 * len(values)))
        if may_repeat and dice.random() < 0.5:
            new = dice.choice(values)
        else:
            new = len(values)
            values.append(new)
        self.f, self.value = ("cas", [old, new]) if draw < cas else ("write", new)
        self.failed = draw < cas * 0.4

    def events(self, process: int) -> list[tuple[int, int, Line]]:
        """Return its lines, with their sort keys."""
        asked = None if self.f == "read" else self.value
        lines = [
            (
                self.call,
                0,
                Line(process=process, type="invoke", f=self.f, value=asked, time_ns=self.call),
            )
        ]
        if not self.unknown:
            kind = "fail" if self.failed else "ok"
            error = MISMATCH if self.failed else None
            line = Line(
                process=process, type=kind, f=self.f, value=self.value, time_ns=self.back, error=error
            )
            lines.append((self.back, 1, line))
        return lines


def _simulate(dice: Dice, drafts: list[_Draft]) -> None:
    """Let every operation take effect at an instant of its interval, or not, if its end is unknown."""
    instants = sorted(
        (draft.call + (draft.back - draft.call) * dice.random(), i) for i, draft in enumerate(drafts)
    )
    held: Any = None
    for _, i in instants:
        draft = drafts[i]
        happens = not draft.unknown or dice.random() < 0.6
        if draft.f == "read":
            draft.value = held
        elif draft.f == "write":
            held = draft.value if happens else held
        else:
            if not draft.unknown and dice.random() < 0.6:
                draft.value[0] = held
            draft.failed = draft.value[0] != held
            if happens and not draft.failed:
                held = draft.value[1]
