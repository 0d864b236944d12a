"""Histories of what is put in and taken out, or read whole, thrown with dice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checker.pairing import Line, pair

if TYPE_CHECKING:
    from checker.operations import History
    from checker.testing.dice import Dice

PUT_AND_TAKE: Final = {
    "fifo-queue": ("enq", "deq"),
    "unordered-queue": ("enq", "deq"),
    "priority-queue": ("insert", "extract"),
    "stack": ("push", "pop"),
    "list-append": ("append", "read"),
    "set": ("add", "read"),
}
_WHOLE: Final = ("list-append", "set")


def put_once(dice: Dice, model: str, operations_max: int = 9) -> History:
    """Return a small history of an object into which every value is put once."""
    clients, span, gap = dice.randint(1, 4), dice.choice((3, 6, 12)), dice.randint(0, 1)
    unknown = dice.choice((0.0, 0.0, 0.2))
    free = [0] * clients
    ops: list[list[Any]] = []
    values = 0
    for _ in range(dice.randint(1, operations_max)):
        client = dice.randint(0, clients - 1)
        call = free[client] + dice.randint(0, 3)
        back = call + dice.randint(0, span)
        free[client] = back + gap
        puts = dice.random() < 0.5
        values += puts
        ops.append([call, back, puts, values if puts else None, dice.random() < unknown])
    names = list(range(1, values + 1))
    if model == "priority-queue":
        dice.shuffle(names)
    for op in ops:
        op[3] = names[op[3] - 1] if op[2] else None
    _fill(dice, ops, values, model)
    put, take = PUT_AND_TAKE[model]
    events: list[tuple[int, int, Line]] = []
    for process, (call, back, puts, value, open_end) in enumerate(ops):
        f = put if puts else take
        asked = value if puts else None
        events.append((call, 0, Line(process=process, type="invoke", f=f, value=asked, time_ns=call)))
        if not open_end:
            events.append((back, 1, Line(process=process, type="ok", f=f, value=value, time_ns=back)))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="thrown")


def _fill(dice: Dice, ops: list[list[Any]], values: int, model: str) -> None:
    """Decide what was taken or read: simulated, perhaps with one answer spoiled, or blindly."""
    takes = [op for op in ops if not op[2]]
    blind = dice.random() < 0.25
    held: list[int] = []
    for _, i in sorted((dice.uniform(op[0], op[1]), i) for i, op in enumerate(ops)):
        op = ops[i]
        happens = not op[4] or dice.random() < 0.5
        if op[2]:
            held += [op[3]] * happens
        elif model in _WHOLE:
            op[3] = list(held)
        elif happens:
            op[3] = held.pop(_next_out(dice, held, model)) if held else None
    spoiled = takes if blind else [dice.choice(takes)] if takes and dice.random() < 0.5 else []
    for op in spoiled:
        if model in _WHOLE:
            op[3] = dice.sample(range(1, values + 2), dice.randint(0, values))
        else:
            op[3] = dice.choice((None, *range(1, values + 2)))


def _next_out(dice: Dice, held: list[int], model: str) -> int:
    """Return which of the elements comes out."""
    match model:
        case "stack":
            return len(held) - 1
        case "priority-queue":
            return held.index(min(held))
        case "unordered-queue":
            return dice.randint(0, len(held) - 1)
        case _:
            return 0
