"""From a history that no order fits to the few operations that say so.

Leaving out an arbitrary write proves nothing: the read of its value would then be "impossible" by our
own doing. Only steps are taken after which *still no order fits* means that none fitted before:

* a prefix: operations called after some return are left out, those open at that time may or may not
  have happened;
* a suffix: what had returned before some write began is left out; what overlapped that write may or may
  not have happened after it;
* leaving out operations that only look;
* leaving out *every* operation that mentions one value, and the values that a cas links to it, or the
  value that a chain of cas ends in.

A failed cas says that *something else* was there, so leaving out writes could make a liar of it. Where
one is left, every trial gets *ghosts*: unknown writes of values of their own, one for each failed cas.
Whatever was left out, ghosts can stand for; what is illegal in spite of them is illegal in any company.

Each step is tried on big bites first, then on smaller ones, and every trial is a full check of what is
left; ``illegal`` decides, and may say None when the budget is gone: then we stop with what we have.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Final

from checker.events import EventType
from checker.models.queues import PUTS, TAKES, Container
from checker.models.register import Register, leaves
from checker.operations import NEVER, Operation
from checker.part import Part
from checker.values import tag

_TRIALS_MAX: Final = 1_000
"""Shrinking ends for certain, and what it has by then is small enough."""

Illegal = Callable[[Part], bool | None]


def prefix(part: Part, stamp: int) -> Part:
    """Return what was called by ``stamp``; what had not returned by then is of unknown end."""
    positions = [i for i, call in enumerate(part.calls) if call <= stamp]
    returns = [back if back <= stamp else NEVER for back in part.returns]
    keep = [i for i in positions if returns[i] != NEVER or not part.model.readonly(part.operations[i])]
    return part.subset(keep, returns)


def suffix(part: Part, at: int) -> Part:
    """Return what came from operation ``at`` on, which certainly happened and forgets all before.

    What had returned before it is left out. What overlapped it may have come before it, and is then as
    good as not there: it counts as of unknown end, and is left out if it only looked.
    """
    call, back = part.calls[at], part.returns[at]
    overlaps = [
        i != at and part.calls[i] <= back and part.returns[i] >= call for i in range(len(part.calls))
    ]
    keep = [
        i
        for i, op in enumerate(part.operations)
        if i == at or part.calls[i] > back or (overlaps[i] and not part.model.readonly(op))
    ]
    returns = [NEVER if overlapping else part.returns[i] for i, overlapping in enumerate(overlaps)]
    (start,) = part.model.step(part.start, part.operations[at])
    return replace(part.subset(keep, returns), start=start)


def shortest(part: Part, stamp: int, illegal: Illegal) -> Part:
    """Return a short illegal piece of an illegal part; ``stamp``, a return, is a good guess at its end.

    Pieces that end there and begin with a write are tried, longer and longer; where none is illegal the
    shortest illegal prefix is looked for by bisection.
    """
    guess = prefix(part, stamp)
    resets = [
        i for i, op in enumerate(guess.operations) if guess.returns[i] != NEVER and part.model.resets(op)
    ]
    back = 1
    while back <= len(resets):
        piece = suffix(guess, resets[-back])
        if illegal(piece):
            return piece
        back *= 2
    return _shortest_prefix(part, stamp, illegal)


def _shortest_prefix(part: Part, stamp: int, illegal: Illegal) -> Part:
    if illegal(prefix(part, stamp)):
        return prefix(part, stamp)
    stamps = sorted({back for back in part.returns if back != NEVER and back > stamp})
    low, high = 0, len(stamps)
    while low < high:
        middle = (low + high) // 2
        if illegal(prefix(part, stamps[middle])):
            high = middle
        else:
            low = middle + 1
    return prefix(part, stamps[low]) if low < len(stamps) else part


def shrink(part: Part, illegal: Illegal) -> Part:
    """Return a smaller part that is still illegal; ``part`` must be."""
    trials = 0

    def alone_too(smaller: Part) -> bool | None:
        nonlocal trials
        trials += 1
        return illegal(smaller) if trials <= _TRIALS_MAX else None

    def in_any_company(smaller: Part) -> bool | None:
        return alone_too(with_ghosts(smaller))

    while True:
        size = len(part.operations)
        alone = with_ghosts(part) is not part and not in_any_company(part)
        judge = alone_too if alone else in_any_company
        looks = [[i] for i, op in enumerate(part.operations) if part.model.readonly(op)]
        part = _drop_groups(part, looks, judge)
        if not alone:
            part = _drop_groups(part, _values(part), judge)
            part = _drop_tails(part, judge)
        if len(part.operations) == size:
            return part


def with_ghosts(part: Part) -> Part:
    """Return ``part`` with a ghost for each failed cas; itself if there is none."""
    failed = sum(op.outcome is EventType.FAIL for op in part.operations)
    if not failed or not isinstance(part.model, Register):
        return part
    ghosts = [
        Operation(
            index=-1 - number,
            process="ghost",
            f="write",
            key=part.key,
            value=("ghost", number),
            outcome=EventType.INFO,
            call_ns=-NEVER,
            return_ns=None,
            call_line=0,
            return_line=None,
        )
        for number in range(failed)
    ]
    return replace(
        part,
        operations=[*ghosts, *part.operations],
        calls=[-NEVER] * failed + [*part.calls],
        returns=[NEVER] * failed + [*part.returns],
    )


def _drop_groups(part: Part, groups: list[list[int]], illegal: Illegal) -> Part:
    """Leave out as many of ``groups`` (positions in ``part``) as possible."""
    everyone = set(range(len(part.operations)))
    bite = len(groups)
    while bite:
        at = 0
        while at < len(groups):
            dropped = {i for group in groups[at : at + bite] for i in group}
            verdict = illegal(part.subset(sorted(everyone - dropped)))
            if verdict is None:
                return part.subset(sorted(everyone))
            if verdict:
                everyone -= dropped
                del groups[at : at + bite]
            else:
                at += bite
        bite //= 2
    return part.subset(sorted(everyone))


def _drop_tails(part: Part, illegal: Illegal) -> Part:
    """Leave out the ends of chains of cas: all operations that mention one of their last values.

    The initial value is spared here too: of a piece it is what a write that was kept has left.
    """
    for chain in _chains(part):
        low, high = 1 + (chain.index(part.start) if part.start in chain else 0), len(chain)
        while low < high:
            middle = (low + high) // 2
            verdict = illegal(_without(part, chain[middle:]))
            if verdict is None:
                return part
            low, high = (low, middle) if verdict else (middle + 1, high)
        part = _without(part, chain[low:])
    return part


def _chains(part: Part) -> list[list[Hashable]]:
    """Return the values of each chain of cas from its first on, if none branches or joins."""
    if not isinstance(part.model, Register):
        return []
    after: dict[Hashable, Hashable] = {}
    for op in part.operations:
        if op.f == "cas" and op.outcome is not EventType.FAIL:
            old, new = map(tag, op.value)
            if old in after or old == new:
                return []
            after[old] = new
    if len(set(after.values())) < len(after):
        return []
    chains = []
    for first in after.keys() - after.values():
        chain = [first]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        chains.append(chain)
    return chains


def _without(part: Part, values: list[Hashable]) -> Part:
    """Return ``part`` without the operations that mention one of ``values``, failed cas excepted."""
    gone = set(values)
    return part.subset(
        [
            i
            for i, op in enumerate(part.operations)
            if op.outcome is EventType.FAIL or gone.isdisjoint((leaves(op), *_taken(op)))
        ]
    )


def _values(part: Part) -> list[list[int]]:
    """Return the groups of operations that mention one value, those that cas link together.

    The initial value's are spared. Only registers and containers that are not counted have such groups;
    a failed cas, which only looks, belongs to none.
    """
    if isinstance(part.model, Container):
        return _put_and_taken(part)
    if not isinstance(part.model, Register):
        return []
    leader: dict[Hashable, Hashable] = {}

    def find(value: Hashable) -> Hashable:
        while (up := leader.setdefault(value, value)) != value:
            value = up
        return value

    for op in part.operations:
        if op.outcome is not EventType.FAIL:
            for old in _taken(op):
                leader[find(old)] = find(leaves(op))
    groups: dict[Hashable, list[int]] = {}
    for i, op in enumerate(part.operations):
        if op.outcome is not EventType.FAIL:
            groups.setdefault(find(leaves(op)), []).append(i)
    groups.pop(find(part.start), None)
    return list(groups.values())


def _put_and_taken(part: Part) -> list[list[int]]:
    """Return the groups of operations that put in or took one value.

    Without a value the others come out of a container as they did, and it is empty whenever it was.
    """
    groups: dict[Hashable, list[int]] = {}
    for i, op in enumerate(part.operations):
        if op.f not in PUTS | TAKES:
            return []
        if op.f in PUTS or (op.known and op.value is not None):
            groups.setdefault(tag(op.value), []).append(i)
    return list(groups.values())


def _taken(op: Operation) -> tuple[Hashable, ...]:
    return (tag(op.value[0]),) if op.f == "cas" else ()
