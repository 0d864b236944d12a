"""Why these few operations fit no order, in one sentence.

The sentence is made from the certificate, not from the history: whoever reads it needs nothing but the
operations that stand beside it.
"""

from __future__ import annotations

from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

from checker.explain.certify import Picks
from checker.operations import NEVER
from checker.search.generic import ask
from checker.search.run import REGISTERS
from checker.values import shorten, show, tag
from checker.zones.decide import Conflict, Wrong, decide
from checker.zones.lower import lower

if TYPE_CHECKING:
    from collections.abc import Hashable

    from checker.models.model import Model
    from checker.operations import Operation
    from checker.part import Part
    from checker.search.result import Stuck

_INITIAL = -1
_NAMED_MAX = 5
_CHARS_MAX = 100


def by_zones(part: Part) -> str | None:  # noqa: PLR0911 - one a way to be wrong
    """Return why the operations of a register's certificate are impossible; None if zones cannot say."""
    if type(part.model) not in REGISTERS:
        return None
    lowered = lower(part)
    conflict = decide(lowered)
    if not isinstance(conflict, Conflict):
        return None
    picks = Picks(lowered)
    match conflict.wrong:
        case Wrong.UNWRITTEN:
            value = conflict.values[-1]
            at = picks.first.get(value, picks.taker(value))
            assert at is not None
            return f"{who(part.operations[at])} saw a value that nothing wrote"
        case Wrong.FORKED | Wrong.CYCLE:
            several = " and ".join(who(op) for op in part.operations if op.f == "cas")
            return f"{several}: {conflict.wrong.value}"
        case Wrong.HELD:
            failed = part.operations[conflict.failed[0]]
            held = show(failed.value[0])
            return f"{who(failed)} saw another value, although it was {held} all the while"
        case Wrong.BACKWARD:
            return _backward(part, picks)
        case Wrong.CROSSED:
            return _crossed(part)


def by_search(part: Part, stuck: Stuck) -> tuple[str, tuple[str, ...]]:
    """Return why a search got stuck everywhere, and per last state why what was next does not fit it."""
    model, blocked = part.model, part.operations[stuck.blocked]
    could_be = " or ".join(dict.fromkeys(model.describe_state(state) for state in stuck.states))
    reasons = tuple(
        f"{model.describe_state(state)}: {_misfit(model, state, blocked)}" for state in stuck.states
    )
    why = f"fits nowhere before it returned: the state could only have been {could_be}"
    return f"{who(blocked)} {why}{_used_up(part, stuck)}", reasons


def _used_up(part: Part, stuck: Stuck) -> str:
    """Return what became of the writes of the value that a register's read came too late for.

    A write that was left would have been tried where the search got stuck, and the read would have
    fitted; a cas would not always, and of two operations that return at once the other may be to blame.
    """
    blocked, by = part.operations[stuck.blocked], part.returns[stuck.blocked]
    if type(part.model) not in REGISTERS or blocked.f != "read" or part.returns.count(by) > 1:
        return ""
    value = tag(blocked.value)
    came = [op for op, call in zip(part.operations, part.calls, strict=True) if call <= by]
    if any(op.f == "cas" and tag(op.value[1]) == value for op in came):
        return ""
    writes = [op for op in came if op.f == "write" and tag(op.value) == value]
    match writes:
        case []:
            return ""
        case [write]:
            return f"; {who(write)} was used up: it had taken effect and was overwritten"
        case _:
            told = ", ".join(map(who, writes[:_NAMED_MAX])) + ", ..." * (len(writes) > _NAMED_MAX)
            return (
                f"; {len(writes)} writes of {show(blocked.value)} were used up, each had taken effect "
                f"and was overwritten: {told}"
            )


def _misfit(model: Model, state: Any, op: Operation) -> str:
    if ask(model, state, op):
        return f"{op} could come next, but then nothing fits that must come as soon"
    return model.refusal(state, op)


def _backward(part: Part, picks: Picks) -> str:
    """Name an operation that ended before one began that it must come after."""
    place = picks.ranks()

    def rank(i: int) -> tuple[int, bool]:
        return _rank(part.operations[i], place)

    latest: int | None = None
    for _, group in groupby(sorted(range(len(part.operations)), key=rank), key=rank):
        members = list(group)
        first = min(members, key=part.returns.__getitem__)
        if latest is not None and part.returns[first] < part.calls[latest]:
            early, late = part.operations[first], part.operations[latest]
            return f"{who(early)} ended before {who(late)} began, and could only have come after it"
        latest = max([*members, *([] if latest is None else [latest])], key=part.calls.__getitem__)
    return "a chain of cas ran against the order in which its members ended"


def _rank(op: Operation, place: dict[Hashable, int]) -> tuple[int, bool]:
    """Return the place of ``op`` in its block: writer, readers, next writer, its readers, ..."""
    value = tag(op.value[1] if op.f == "cas" else op.value)
    return place.get(value, -1), op.f == "read"


def _crossed(part: Part) -> str:
    """Name the two pairs that put each of two blocks before the other."""
    blocks = [_block(part, i) for i in range(len(part.operations))]
    for a, b in combinations(sorted(set(blocks)), 2):
        there, back = _pair(part, blocks, a, b), _pair(part, blocks, b, a)
        if a == _INITIAL and back is not None:
            return f"{back}, which needs the initial value"
        if there is not None and back is not None:
            return f"{there}, and {back}"
    return "each of two values must be gone before the other came"


def _pair(part: Part, blocks: list[int], a: int, b: int) -> str | None:
    """Return how some operation of block ``a`` ended before one of ``b`` began."""
    mine = [i for i in range(len(part.operations)) if blocks[i] == a and part.returns[i] != NEVER]
    theirs = [i for i in range(len(part.operations)) if blocks[i] == b]
    if not mine or not theirs:
        return None
    first = min(mine, key=part.returns.__getitem__)
    last = max(theirs, key=part.calls.__getitem__)
    if part.returns[first] >= part.calls[last]:
        return None
    return f"{who(part.operations[first])} ended before {who(part.operations[last])} began"


def _block(part: Part, i: int) -> int:
    """Return the first writer of the chain that operation ``i`` belongs to, or `_INITIAL`."""
    op = part.operations[i]
    value = op.value[0] if op.f == "cas" else op.value
    for _ in part.operations:
        writer = next(
            (
                j
                for j, other in enumerate(part.operations)
                if other.f in {"write", "cas"}
                and (other.value[1] if other.f == "cas" else other.value) == value
            ),
            None,
        )
        if writer is None:
            return _INITIAL
        if part.operations[writer].f != "cas":
            return writer
        value = part.operations[writer].value[0]
    return _INITIAL


def who(op: Operation) -> str:
    """Return ``op``, cut if it is endless, with its process and line."""
    return f"{shorten(str(op), _CHARS_MAX)} (process {show(op.process)}, line {op.call_line})"
