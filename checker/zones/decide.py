"""Is a register's history with unique values linearizable? Decided in n log n, by zones.

The idea is Gibbons and Korach's, extended to compare-and-set and to operations of unknown end. A
cluster (a value, its writer, its reads) must take effect as one unbroken run of operations, for a value
once gone never comes back. A successful cas from a to b glues cluster b right behind cluster a; what
hangs together so is a *block*. Of a block two stamps matter to all others:

    f  its earliest return: from here on it has begun, for certain
    s  its latest call:     until here it has not ended

Block A must come before block B iff some operation of A returned before some operation of B was called:
iff ``f_A < s_B``. If any cycle of blocks exists, so does one of two blocks: take the block with the
greatest s; everything that precedes anything precedes it, its own successor too. Hence:

* inside a block, in the order writer, reads, cas, reads, ...: nobody returns before the latest call of
  an earlier group;
* between blocks: no two with ``f_A < s_B`` and ``f_B < s_A``. Sorted by ``min(f, s)``, at equal stamps
  blocks with ``s <= f`` first, a block whose f is below the greatest s so far is such a pair, and if
  there is none then the sorted order itself is a linearization.

A write of unknown end counts if its value was seen, by a read or by a cas that counts: then it happened,
with no known return. Otherwise it is left out: an unseen write can be taken out of any linearization.

A cas that failed because the value differed breaks this shape: "before my old value was written, or
after it was gone". `sides` decides what it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import accumulate
from operator import lt
from typing import TYPE_CHECKING

from checker.operations import NEVER
from checker.zones.clusters import Clusters, gather
from checker.zones.sides import Failed, Sides, assign, settle

if TYPE_CHECKING:
    from collections.abc import Hashable

    from checker.zones.lower import Lowered


class Wrong(Enum):
    """The ways in which no order can fit."""

    UNWRITTEN = "seen, and nobody wrote it"
    FORKED = "two cas took the same value"
    CYCLE = "cas feed each other and nobody began"
    BACKWARD = "seen before it was written"
    CROSSED = "each of two values must be gone before the other came"
    HELD = "a cas failed while its old value was held"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Proof that no order fits: what is wrong with which clusters, and with which failed cas.

    ``values``: those of the clusters, in their order, and then those that nobody wrote.
    """

    wrong: Wrong
    clusters: tuple[int, ...]
    values: tuple[Hashable, ...] = ()
    failed: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class Blocks:
    """Blocks by first cluster; ``chains`` holds those of several. ``order`` fits if any does.

    ``own_call`` is each cluster's latest call, whatever its block.
    """

    clusters: Clusters
    first_return: list[int]
    last_call: list[int]
    own_call: list[int]
    live: list[int]
    chains: dict[int, list[int]] = field(default_factory=dict)
    follower: dict[int, int] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    sides: Sides | None = None


@dataclass(frozen=True, slots=True)
class Fits:
    """Linearizable, in the order of ``blocks``."""

    blocks: Blocks


@dataclass(frozen=True, slots=True)
class Unsure:
    """Only failed cas stand in the way; ``blocks.order`` is a good guess."""

    blocks: Blocks


Decision = Fits | Conflict | Unsure | None
"""None: values are not unique, so zones do not apply."""


def decide(lowered: Lowered) -> Decision:
    """Return whether the operations of one key fit some order."""
    clusters = gather(lowered)
    if clusters is None:
        return None
    decision = _decide(clusters)
    if not isinstance(decision, Conflict):
        return decision
    meant = set(decision.clusters)
    names = {cluster: value for value, cluster in clusters.where.items() if cluster in meant}
    return replace(decision, values=(*map(names.__getitem__, decision.clusters), *decision.values))


def _decide(clusters: Clusters) -> Fits | Conflict | Unsure:
    if clusters.unwritten:
        return Conflict(Wrong.UNWRITTEN, (), tuple(clusters.unwritten[:1]))
    blocks = _blocks(clusters)
    if isinstance(blocks, Conflict):
        return blocks
    failed = [
        Failed(clusters.where[old], call, back, i)
        for old, call, back, i in clusters.differed
        if old in clusters.where
    ]
    if failed:
        live = _live(blocks)
        failed = [each for each in failed if each.cluster in live]
    if failed:
        sides = assign(blocks, failed)
        if isinstance(sides, tuple):
            return _plain_crossing(clusters) or Conflict(Wrong.HELD, sides[:1], failed=sides[1:])
        blocks.sides = sides
    crossed = arrange(blocks)
    if crossed is not None:
        plain = _plain_crossing(clusters) if failed else None
        return plain or _crossing(blocks, crossed)
    if failed and not settle(blocks, failed, arrange):
        return Unsure(blocks)
    return Fits(blocks)


def _plain_crossing(clusters: Clusters) -> Conflict | None:
    """Return a crossing without a part for failed cas, the easier proof to believe, if there is one."""
    blocks = _blocks(clusters)
    assert isinstance(blocks, Blocks), "each block is sound in itself"
    crossed = arrange(blocks)
    return None if crossed is None else _crossing(blocks, crossed)


def _crossing(blocks: Blocks, crossed: tuple[int, int]) -> Conflict:
    tied = () if blocks.sides is None else blocks.sides.tied(crossed)
    chains = (blocks.chains.get(head, (head,)) for head in crossed)
    return Conflict(Wrong.CROSSED, tuple(c for chain in chains for c in chain), failed=tied)


def arrange(blocks: Blocks) -> tuple[int, int] | None:
    """Sort the blocks into ``order``; return two that must each precede the other, if there are such."""
    first, last = blocks.first_return, blocks.last_call
    keys = [f + f + 1 if f < s else s + s for f, s in zip(first, last, strict=True)]
    blocks.order = order = sorted(blocks.live, key=keys.__getitem__)
    returns = map(first.__getitem__, order)
    next(returns)
    tops = accumulate(map(last.__getitem__, order), max)
    if not any(map(lt, returns, tops)):
        return None
    latest = order[0]
    for block in order[1:]:
        if first[block] < last[latest]:
            return latest, block
        if last[block] > last[latest]:
            latest = block
    raise AssertionError("two scans of one order disagree")


def _blocks(clusters: Clusters) -> Blocks | Conflict:
    """Return the blocks of the clusters that count, each sound in itself."""
    read_return, write_call = clusters.read_return, clusters.write_call
    first = list(map(min, clusters.write_return, read_return))
    last = write_call.copy()
    for cluster, call in clusters.read_call.items():
        if call > last[cluster]:  # noqa: PLR1730 - max() would double the time of this loop
            last[cluster] = call
    live = range(len(first))
    backward = None
    if any(map(lt, read_return, write_call)):
        backward = next(c for c in live if read_return[c] < write_call[c])
        return Conflict(Wrong.BACKWARD, (backward,))
    if clusters.cas_from:
        return _chained(clusters, first, last)
    if clusters.maybe:
        unseen = {c for c in clusters.maybe if read_return[c] == NEVER}
        return Blocks(clusters, first, last, last.copy(), [c for c in live if c not in unseen])
    return Blocks(clusters, first, last, last.copy() if clusters.differed else last, list(live))


def _chained(  # noqa: C901 - one pass in three steps over the same five variables
    clusters: Clusters, first: list[int], last: list[int]
) -> Blocks | Conflict:
    """Glue the clusters that cas links, after finding which of unknown end must have happened."""
    where, read_return = clusters.where, clusters.read_return
    dead = {c for c in clusters.maybe if read_return[c] == NEVER}
    pending = [c for c in clusters.cas_from if c not in dead]
    follower: dict[int, int] = {}
    while pending:
        cluster = pending.pop()
        old = clusters.cas_from[cluster]
        before = where.get(old)
        if before is None:
            return Conflict(Wrong.UNWRITTEN, (cluster,), (old,))
        if before in follower:
            return Conflict(Wrong.FORKED, (before, follower[before], cluster))
        follower[before] = cluster
        if before in dead:
            dead.remove(before)
            if before in clusters.cas_from:
                pending.append(before)
    heads = [c for c in range(len(first)) if c not in dead and c not in clusters.cas_from]
    blocks = Blocks(clusters, first, last, last.copy(), heads, follower=follower)
    linked = 0
    for head in [c for c in heads if c in follower]:
        chain = [head]
        while chain[-1] in follower:
            chain.append(follower[chain[-1]])
        blocks.chains[head] = chain
        linked += len(chain) - 1
        wrong = _glue(clusters, chain, first, last)
        if wrong is not None:
            return wrong
    if linked < len(follower):
        reached = {c for chain in blocks.chains.values() for c in chain}
        start = next(c for c in follower if c not in reached)
        cycle = [start]
        while follower[cycle[-1]] != start:
            cycle.append(follower[cycle[-1]])
        return Conflict(Wrong.CYCLE, tuple(cycle))
    return blocks


def _glue(clusters: Clusters, chain: list[int], first: list[int], last: list[int]) -> Conflict | None:
    """Check a chain group by group, and give its first cluster the stamps of the whole."""
    latest, earliest = last[chain[0]], first[chain[0]]
    for at, cluster in enumerate(chain[1:], 1):
        if clusters.write_return[cluster] < latest or clusters.read_return[cluster] < latest:
            return Conflict(Wrong.BACKWARD, tuple(chain[: at + 1]))
        latest = max(latest, last[cluster])
        earliest = min(earliest, first[cluster])
    first[chain[0]], last[chain[0]] = earliest, latest
    return None


def _live(blocks: Blocks) -> set[int]:
    live = set(blocks.live)
    for chain in blocks.chains.values():
        live.update(chain)
    return live
