"""Why these few operations fit no order, in one sentence.

The sentence is made from the certificate, not from the history: whoever reads it needs nothing but the
operations that stand beside it.
"""

from __future__ import annotations

from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

from checker.events import EventType
from checker.explain.certify import Picks
from checker.explain.possible import possible
from checker.models.register import leaves
from checker.operations import NEVER
from checker.search.generic import ask
from checker.search.run import REGISTERS
from checker.values import shorten, show, tag
from checker.zones.decide import Conflict, Wrong, decide
from checker.zones.lower import lower

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.models.model import Model
    from checker.operations import Operation
    from checker.part import Part

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


def by_search(part: Part, blocked: int) -> tuple[str, tuple[str, ...]]:
    """Return why the operation at ``blocked`` cannot come before it returned, and per state why not."""
    model, op = part.model, part.operations[blocked]
    found = possible(part, blocked)
    could_be = " or ".join(dict.fromkeys(model.describe_state(state) for state in found.states))
    others = "" if found.all_of_them else ", among others"
    reasons = tuple(
        f"{model.describe_state(state)}: {_misfit(model, state, op)}" for state in found.states
    )
    rest = " so that the rest does, too" * any(ask(model, state, op) for state in found.states)
    only = "only " * found.all_of_them
    why = f"fits nowhere before it returned{rest}: the state could {only}have been {could_be}{others}"
    return f"{who(op)} {why}{_used_up(part, blocked)}", reasons


def _used_up(part: Part, at: int) -> str:
    """Return what became of the writes of the value that a register's read came too late for.

    A write that was left would have been tried where the search got stuck, and the read would have
    fitted; a cas would not always, and of two operations that return at once the other may be to blame.
    """
    blocked, by = part.operations[at], part.returns[at]
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
            why = f"{who(early)} ended before {who(late)} began, and could only have come after it"
            return why + _linked(part, [first, latest], but=_chain(part, latest)[1])
        latest = max([*members, *([] if latest is None else [latest])], key=part.calls.__getitem__)
    return "a chain of cas ran against the order in which its members ended"


def _rank(op: Operation, place: dict[Hashable, int]) -> tuple[int, bool]:
    """Return the place of ``op`` in its block: writer, readers, next writer, its readers, ..."""
    return place.get(leaves(op), -1), op.f == "read"


def _crossed(part: Part) -> str:
    """Name the two pairs that put each of two blocks before the other."""
    blocks = [_chain(part, i)[0] for i in range(len(part.operations))]
    for a, b in combinations(sorted(set(blocks)), 2):
        there, back = _pair(part, blocks, a, b), _pair(part, blocks, b, a)
        if a == _INITIAL and back is not None:
            return f"{_told(part, back)}, which needs the initial value{_linked(part, back)}"
        if there is not None and back is not None:
            return f"{_told(part, there)}, and {_told(part, back)}{_linked(part, [*there, *back])}"
    several = [who(op) for op in part.operations if op.f != "read"] or list(map(who, part.operations))
    told = ", ".join(several[:_NAMED_MAX]) + ", ..." * (len(several) > _NAMED_MAX)
    return f"{told}: {Wrong.CROSSED.value}"


def _pair(part: Part, blocks: list[int], a: int, b: int) -> tuple[int, int] | None:
    """Return an operation of block ``a`` and one of ``b`` that began only after it had ended."""
    mine = [i for i in range(len(part.operations)) if blocks[i] == a and part.returns[i] != NEVER]
    theirs = [i for i in range(len(part.operations)) if blocks[i] == b]
    if not mine or not theirs:
        return None
    first = min(mine, key=part.returns.__getitem__)
    last = max(theirs, key=part.calls.__getitem__)
    return (first, last) if part.returns[first] < part.calls[last] else None


def _told(part: Part, pair: tuple[int, int]) -> str:
    first, last = pair
    return f"{who(part.operations[first])} ended before {who(part.operations[last])} began"


def _linked(part: Part, named: Sequence[int], *, but: Sequence[int] = ()) -> str:
    """Return which cas tie values of the ``named`` operations together that are not named themselves."""
    links = dict.fromkeys(link for i in named for link in reversed(_chain(part, i)[1]))
    told = []
    for link in links:
        if link not in named and link not in but:
            op = part.operations[link]
            told.append(f"{who(op)} made {show(op.value[1])} of {show(op.value[0])}")
    more = ", ..." * (len(told) > _NAMED_MAX)
    return f"; {', '.join(told[:_NAMED_MAX])}{more}" if told else ""


def _chain(part: Part, i: int) -> tuple[int, list[int]]:
    """Return the first writer of the chain that operation ``i`` belongs to, or `_INITIAL`.

    And the cas that lead back to it, the latest first.
    """
    op = part.operations[i]
    value = tag(op.value[0]) if op.f == "cas" else leaves(op)
    links: list[int] = []
    for _ in part.operations:
        writer = next(
            (
                j
                for j, other in enumerate(part.operations)
                if other.f != "read" and other.outcome is not EventType.FAIL and leaves(other) == value
            ),
            None,
        )
        if writer is None:
            return _INITIAL, links
        if part.operations[writer].f != "cas":
            return writer, links
        links.append(writer)
        value = tag(part.operations[writer].value[0])
    return _INITIAL, links


def who(op: Operation) -> str:
    """Return ``op``, cut if it is endless, with its process and line."""
    return f"{shorten(str(op), _CHARS_MAX)} (process {show(op.process)}, line {op.call_line})"
