"""How stale a read was, at the least.

Reads are no evidence here: where one is false others may be, and a lower bound that leans on a false
one is none. Writes and cas that were acknowledged are, with the order in which they ended and began.
A cas that succeeded proves the write of its old value too. By themselves they make the blocks of
`checker.zones.decide`, and all that is certain follows:

* in a block, whatever stands behind the value overwrote it;
* of two blocks A and B, all of B came later if some operation of A returned before one of B was called;
* a value had been overwritten by the return of any operation that stands behind it in its block.

Of the overwrites that were over when the read was called, the one that was over first says since when
the value was gone, and their number how many versions the read was behind.
"""

from __future__ import annotations

from itertools import accumulate, compress
from typing import TYPE_CHECKING

from checker.values import tag
from checker.verdict import Staleness
from checker.zones.decide import Blocks, Fits, decide
from checker.zones.lower import IS_WRITER, Code, Lowered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checker.operations import Operation


def stalest(
    lowered: Lowered, candidates: Sequence[tuple[int, Operation]], *, in_ns: bool
) -> Staleness | None:
    """Return how far behind the stalest read among ``candidates`` was, pairs of position and operation.

    None if of none it is certain. ``in_ns`` says whether the stamps of ``lowered`` are times.
    """
    written = lowered.codes.translate(IS_WRITER)
    decision = decide(
        Lowered(
            codes=bytes(compress(lowered.codes, written)),
            values=list(compress(lowered.values, written)),
            calls=list(compress(lowered.calls, written)),
            returns=list(compress(lowered.returns, written)),
            start=lowered.start,
            tagged=lowered.tagged,
        )
    )
    if not isinstance(decision, Fits):
        return None
    found = []
    for at, op in candidates:
        call = lowered.calls[at]
        mine = decision.blocks.clusters.where.get(tag(lowered.values[at]))
        if lowered.codes[at] == Code.READ and mine is not None:
            over = [done for done in _overwritten(decision.blocks, mine) if done < call]
            if over:
                stale_ns = call - min(over)
                found.append((len(over), stale_ns, op))
    if not found:
        return None
    versions, stale_ns, read = max(found, key=lambda each: each[:2])
    return Staleness(read=read, stale_ns=stale_ns if in_ns else None, versions=versions)


def _overwritten(blocks: Blocks, mine: int) -> Iterator[int]:
    """Yield by when each value that came after the one of cluster ``mine`` had come, at the latest."""
    chains = (blocks.chains.get(head, [head]) for head in blocks.live)
    own = next((chain for chain in chains if mine in chain), None)
    if own is None:
        return
    yield from _done(blocks, own[own.index(mine) :])[1:]
    begun = blocks.first_return[own[0]]
    for head in blocks.live:
        if head != own[0] and begun < blocks.last_call[head]:
            yield from _done(blocks, blocks.chains.get(head, [head]))


def _done(blocks: Blocks, chain: Sequence[int]) -> list[int]:
    """Return by when each value of an end of a block had come: no later than what stands behind it."""
    returns = map(blocks.clusters.write_return.__getitem__, reversed(chain))
    return list(accumulate(returns, min))[::-1]
