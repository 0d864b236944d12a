"""Histories of registers thrown with dice: small ones, crowded ones, many keys in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.events import MISMATCH
from checker.pairing import Line, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.conventions import Conventions
    from checker.operations import History
    from checker.testing.dice import Dice


def thrown(
    dice: Dice,
    *,
    operations_max: int = 9,
    repeats: float = 0.25,
    cas: tuple[float, ...] = (0.0, 0.3, 0.5),
    conventions: Conventions | None = None,
) -> History:
    """Return a small history of a cas-register, linearizable or not.

    Most are simulated (an instant inside each interval) and half of those then spoiled by one read; the
    others are drawn blindly. ``repeats``: the share of histories in which values may be written twice;
    ``cas``: shares of cas to choose from.
    Stamps collide often: equal ones are where algorithms go wrong.
    """
    count = dice.randint(1, operations_max)
    clients = dice.randint(1, 4)
    unknown = dice.choice((0.0, 0.0, 0.2, 0.5))
    cas_share = dice.choice(cas)
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
        draft.choose(dice, cas=cas_share, values=values, may_repeat=may_repeat)
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


def crowded(dice: Dice) -> History:
    """Return a history of few values, many of whose writes and cas nobody saw end."""
    values, unknown, cas = dice.randint(2, 4), dice.choice((0.2, 0.5)), dice.choice((0.3, 0.6))
    spoiled = dice.choice((0.0, 0.05, 0.3))
    held: int | None = None
    events: list[tuple[int, int, Line]] = []
    now = 0
    for process in range(dice.randint(12, 24)):
        now += dice.randint(0, 3)
        draw = dice.random()
        open_end = draw < cas + 0.15 and dice.random() < unknown
        happens = not open_end or dice.random() < 0.5
        value: Any = dice.randint(0, values - 1)
        failed = False
        if draw < cas:
            f, value = "cas", [held if dice.random() < 0.6 else dice.randint(0, values - 1), value]
            failed = held != value[0]
            held = value[1] if happens and not failed else held
        elif draw < cas + 0.15:
            f, held = "write", value if happens else held
        else:
            f, value = "read", value if dice.random() < spoiled else held
        asked = None if f == "read" else value
        events.append((now, 0, Line(process=process, type="invoke", f=f, value=asked, time_ns=now)))
        if not open_end:
            back = now + dice.randint(0, 6)
            kind, error = ("fail", MISMATCH) if failed else ("ok", None)
            line = Line(process=process, type=kind, f=f, value=value, time_ns=back, error=error)
            events.append((back, 1, line))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="crowded")


def starved(dice: Dice) -> History:
    """Return a history of few values in which much is read of what unknown ends may have left."""
    values, clients = dice.randint(2, 3), dice.randint(2, 4)
    events: list[tuple[int, int, Line]] = []
    now = 0
    for number in range(dice.randint(4, 12)):
        now += dice.randint(0, 2)
        f: str = dice.choice(("write", "cas"))
        new = dice.randint(0, values - 1)
        told: Any = new if f == "write" else [dice.randint(0, values - 1), new]
        events.append((now, 0, Line(process=f"u{number}", type="invoke", f=f, value=told, time_ns=now)))
    free = [now // 2] * clients
    for _ in range(dice.randint(10, 22)):
        client = dice.randint(0, clients - 1)
        call = free[client] + dice.randint(0, 2)
        back = call + dice.randint(0, 5)
        free[client] = back + 1
        f = "read" if dice.random() < 0.7 else "write"
        value = dice.randint(0, values - 1)
        asked = None if f == "read" else value
        events.append((call, 0, Line(process=client, type="invoke", f=f, value=asked, time_ns=call)))
        events.append((back, 1, Line(process=client, type="ok", f=f, value=value, time_ns=back)))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="starved")


def denied(dice: Dice) -> History:
    """Return a small history of cas that failed on what was held, but for a write that nobody saw end.

    Hardly anything overlaps, and there are few such writes (and cas): to which they are given decides.
    """
    values = dice.randint(3, 5)
    left: list[Any] = []
    events: list[tuple[int, int, Line]] = []
    for number in range(dice.randint(2, 4)):
        new = dice.randint(1, values)
        told: Any = new if dice.random() < 0.8 else [dice.randint(1, values), new]
        f = "cas" if isinstance(told, list) else "write"
        left.append(told)
        events.append((0, 0, Line(process=f"u{number}", type="invoke", f=f, value=told, time_ns=0)))
    now, held = 0, dice.randint(1, values)
    steps = ["write", *(dice.choice(("write", "read", "read", "cas", "cas")) for _ in range(7))]
    for process, f in enumerate(steps[: dice.randint(5, 8)]):
        now += dice.randint(1, 3)
        value: Any = held
        if f == "write":
            value = held = dice.randint(1, values)
        elif f == "cas":
            able = [told for told in left if not isinstance(told, list) or told[0] == held]
            if not able:
                break
            told = dice.choice(able)
            left.remove(told)
            value = [held, dice.randint(1, values)]
            held = told[1] if isinstance(told, list) else told
        elif dice.random() < 0.05:
            value = dice.randint(1, values)
        asked = None if f == "read" else value
        kind, error = ("fail", MISMATCH) if f == "cas" else ("ok", None)
        back = now + dice.randint(0, 1)
        events.append((now, 0, Line(process=process, type="invoke", f=f, value=asked, time_ns=now)))
        line = Line(process=process, type=kind, f=f, value=value, time_ns=back, error=error)
        events.append((back, 1, line))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="denied")


def merged(histories: Sequence[History]) -> History:
    """Return one history in which each of ``histories`` is a key of its own."""
    events: list[tuple[int, int, Line]] = []
    for key, history in enumerate(histories):
        for op in history:
            process = f"{key}/{op.process}"
            asked = None if op.f == "read" else op.value
            events.append(
                (
                    op.call_ns,
                    0,
                    Line(
                        process=process, type="invoke", f=op.f, key=key, value=asked, time_ns=op.call_ns
                    ),
                )
            )
            if op.return_ns is not None:
                line = Line(
                    process=process,
                    type=op.outcome.value,
                    f=op.f,
                    key=key,
                    value=op.value,
                    time_ns=op.return_ns,
                    error=op.error,
                )
                events.append((op.return_ns, 1, line))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="merged")


def spelled(dice: Dice, *, unknown: float = 0.0) -> History:
    """Return a history of a few clients that put, append and get strings; some answers are wrong.

    ``unknown``: the share of what changes something that nobody saw end.
    """
    held = ""
    events: list[tuple[int, bool, int, Line]] = []
    for process, moment in enumerate(sorted(dice.randint(60, 260) for _ in range(dice.randint(2, 8)))):
        f = dice.choice(("get", "put", "append", "append"))
        value = held if f == "get" else dice.choice("ab")
        held = held + value if f == "append" else value
        if f == "get" and dice.random() < 0.15:
            value = dice.choice(("", "a", "ab", "ba", held + "a"))
        call, back = moment - dice.randint(0, 60), moment + dice.randint(0, 60)
        asked = None if f == "get" else value
        both = ((call, "invoke", asked), (back, "ok", value))
        lost = unknown and f != "get" and dice.random() < unknown
        for stamp, kind, told in both[:1] if lost else both:
            line = Line(process=process, type=kind, f=f, key=0, value=told, time_ns=stamp)
            events.append((stamp, kind == "ok", process, line))
    events.sort(key=lambda event: event[:3])
    return pair([(n, line) for n, (*_, line) in enumerate(events, 1)], name="spelled")
