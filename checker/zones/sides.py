"""On which side of its old value a failed cas took place.

``cas old -> new`` that failed because the value differed took effect while the value was not ``old``.
Unique values make ``old`` one run of operations, so it stood on one of two sides of that run:

* *before* it: possible iff no operation from the writer of ``old`` on, in its block, returned before the
  call of the cas. Then whatever returned before that call precedes the block: ``s = max(s, call)``.
* *after* it: only possible if no operation of the block up to the end of ``old`` was called after the
  cas returned. Then the block precedes whatever was called after that return: ``f = min(f, return)``.
  This is necessary, not sufficient: something else must have been written in between.

Neither: the value was held all the while, and no order fits. Exactly one: it is *tied*, and tightens
its block; blocks that cross because of ties prove that no order fits, for ties are no choices. Both: it
is *loose*. Loose ones are only looked at when the blocks are in order: they are satisfied where they
can be in that order, and where one cannot, a side is chosen for it and the order made anew, a few
times. What still stands then is not decided here.

Writes that nobody saw may yet be what a failed cas saw: one of them can be put between the end of
``old`` and whatever follows, if no failed cas names it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Final, NamedTuple

from checker.operations import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.zones.decide import Blocks

_ROUNDS_MAX: Final = 8
_NEAR: Final = 64


class Failed(NamedTuple):
    """A failed cas from the value of ``cluster``; ``position`` among the operations."""

    cluster: int
    call: int
    back: int
    position: int


@dataclass(slots=True, eq=False)
class Sides:
    """What is settled of the failed cas.

    ``before`` and ``after``: tied ones by the first cluster of their block; ``loose``: positions of the
    others. ``floor``: by cluster, the call of one that was put before it, so that it begins no earlier.
    ``moments``: the instant, and whether at its end, at which each fits, once `settle` has succeeded.
    ``fillers``: unseen writes put in.
    """

    head: dict[int, int]
    before: dict[int, list[Failed]] = field(default_factory=dict)
    after: dict[int, list[Failed]] = field(default_factory=dict)
    loose: set[int] = field(default_factory=set)
    floor: dict[int, int] = field(default_factory=dict)
    tried: set[tuple[int, int]] = field(default_factory=set)
    moments: list[tuple[int, bool, int]] = field(default_factory=list)
    fillers: list[tuple[int, int]] = field(default_factory=list)

    def tied(self, heads: tuple[int, int]) -> tuple[int, ...]:
        """Return the positions of the tied ones that tighten ``heads``."""
        found = []
        for head in heads:
            for several, latest in ((self.before, True), (self.after, False)):
                here = several.get(head, [])
                if here:
                    pick = (
                        max(here, key=lambda each: each.call)
                        if latest
                        else min(here, key=lambda each: each.back)
                    )
                    found.append(pick.position)
        return tuple(found)


def assign(blocks: Blocks, failed: list[Failed]) -> Sides | tuple[int, ...]:
    """Tie what has one side only; return the cluster and the position of one that has none."""
    begins, ends, head = _extents(blocks, {each.cluster for each in failed})
    sides = Sides(head)
    first = blocks.first_return
    for each in failed:
        may_precede = begins(each.cluster) >= each.call
        may_follow = ends(each.cluster) <= each.back
        block = head.get(each.cluster, each.cluster)
        if may_precede and may_follow:
            sides.loose.add(each.position)
        elif may_precede:
            sides.before.setdefault(block, []).append(each)
            _put_before(blocks, sides, each)
        elif may_follow:
            sides.after.setdefault(block, []).append(each)
            first[block] = min(first[block], each.back)
        else:
            return (each.cluster, each.position)
    return sides


def _put_before(blocks: Blocks, sides: Sides, each: Failed) -> None:
    """Let the block of a failed cas's old value begin no earlier than that cas was called."""
    block = sides.head.get(each.cluster, each.cluster)
    blocks.last_call[block] = max(blocks.last_call[block], each.call)
    sides.floor[each.cluster] = max(sides.floor.get(each.cluster, -NEVER), each.call)


def _extents(
    blocks: Blocks, named: set[int]
) -> tuple[Callable[[int], int], Callable[[int], int], dict[int, int]]:
    """Return by cluster the earliest return from its writer on, and the latest call up to its end.

    Both are asked of ``named`` only. They are read before any tie tightens the blocks: ties are about
    the block as a whole.
    """
    clusters = blocks.clusters
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    head: dict[int, int] = {}
    for first, members in blocks.chains.items():
        if named.isdisjoint(members):
            continue
        head.update(dict.fromkeys(members, first))
        earliest = NEVER
        for cluster in reversed(members):
            earliest = min(earliest, clusters.write_return[cluster], clusters.read_return[cluster])
            begin[cluster] = earliest
        latest = -NEVER
        for cluster in members:
            latest = max(latest, blocks.own_call[cluster])
            taker = blocks.follower.get(cluster)
            end[cluster] = latest if taker is None else max(latest, clusters.write_call[taker])

    def begins(cluster: int) -> int:
        found = begin.get(cluster)
        return (
            min(clusters.write_return[cluster], clusters.read_return[cluster])
            if found is None
            else found
        )

    def ends(cluster: int) -> int:
        return end.get(cluster, blocks.own_call[cluster])

    return begins, ends, head


def settle(
    blocks: Blocks, failed: list[Failed], arrange: Callable[[Blocks], tuple[int, int] | None]
) -> bool:
    """Return whether an order was found in which every failed cas fits; it is ``blocks.order`` then."""
    sides = blocks.sides
    assert sides is not None
    for _ in range(_ROUNDS_MAX):
        standing = _place(blocks, failed, sides)
        if not standing:
            return True
        order = blocks.order
        moved = [_move(blocks, sides, each) for each in standing]
        if not all(moved) or arrange(blocks) is not None:
            blocks.order = order
            return False
    return False


def _move(blocks: Blocks, sides: Sides, each: Failed) -> bool:
    """Choose a side, or a block to come between; return whether there was one."""
    if each.position in sides.loose:
        sides.loose.remove(each.position)
        _put_before(blocks, sides, each)
        return True
    if each.cluster in blocks.follower:
        return False
    block = sides.head.get(each.cluster, each.cluster)
    first, last, write_call = blocks.first_return, blocks.last_call, blocks.clusters.write_call
    begun, ended = first[block], last[block]
    at = blocks.order.index(block)
    near = [
        other
        for other in blocks.order[max(0, at - _NEAR) : at + _NEAR]
        if write_call[other] <= each.back
        and first[other] > begun
        and first[other] >= ended
        and other != block
        and (each.position, other) not in sides.tried
    ]
    if not near:
        return False
    between = max(near, key=first.__getitem__)
    sides.tried.add((each.position, between))
    last[between] = max(last[between], begun + 1)
    first[between] = min(first[between], each.back)
    first[block] = min(first[block], each.back)
    return True


def _place(blocks: Blocks, failed: list[Failed], sides: Sides) -> list[Failed]:
    """Give every failed cas its moment in the earliest schedule of the order; return those without one.

    In that schedule an operation takes effect at the latest call so far. A cluster begins when its
    writer does and ends when the next one begins.
    """
    write_call = blocks.clusters.write_call
    sequence = list(chain.from_iterable(blocks.chains.get(block, (block,)) for block in blocks.order))
    own = blocks.own_call
    if sides.floor:
        own = own.copy()
        for cluster, call in sides.floor.items():
            own[cluster] = max(own[cluster], call)
    latest = list(accumulate(map(own.__getitem__, sequence), max))
    place = dict(zip(sequence, range(len(sequence)), strict=True))
    sequence.append(0)
    latest.append(NEVER)
    sides.moments, sides.fillers = [], []
    standing: list[Failed] = []
    for each in failed:
        at = place[each.cluster]
        begins = max(latest[at - 1] if at else -NEVER, write_call[each.cluster])
        if each.call <= max(begins, sides.floor.get(each.cluster, begins)):
            sides.moments.append((each.call, False, each.position))
            continue
        ends = max(latest[at], write_call[sequence[at + 1]]) if at + 2 < len(sequence) else NEVER
        ends = max(ends, sides.floor.get(sequence[at + 1], ends))
        if each.back >= ends:
            sides.moments.append((max(each.call, ends), True, each.position))
        else:
            standing.append(each)
    return _fill(
        blocks, standing, sides, {each.cluster: latest[place[each.cluster]] for each in standing}
    )


def _fill(blocks: Blocks, standing: list[Failed], sides: Sides, filled: dict[int, int]) -> list[Failed]:
    """Put unseen writes behind old values for ``standing``; return those that even so have no moment.

    ``filled``: by cluster, the instant of its last operation.
    """
    clusters = blocks.clusters
    if not standing or not clusters.maybe:
        return standing
    live = set(chain.from_iterable(blocks.chains.get(block, (block,)) for block in blocks.order))
    named = {clusters.where[old] for old, *_ in clusters.differed if old in clusters.where}
    spare = sorted(
        (clusters.write_call[c], c)
        for c in clusters.maybe
        if c not in live and c not in clusters.cas_from and c not in named
    )
    gaps: dict[int, int] = {}
    unplaced = []
    for each in sorted(standing, key=lambda each: each.back):
        at = gaps.get(each.cluster)
        if at is None and each.cluster not in blocks.follower:
            found = bisect_right(spare, (each.back, NEVER)) - 1
            if found >= 0 and filled[each.cluster] <= each.back:
                call, filler = spare.pop(found)
                at = gaps[each.cluster] = max(call, filled[each.cluster])
                sides.fillers.append((at, filler))
        if at is None or at > each.back:
            unplaced.append(each)
        else:
            sides.moments.append((max(each.call, at), True, each.position))
    return unplaced
