"""The linearization that zones found, written out.

Blocks in order, in each the writer, its reads, the next cas, its reads, ...: reads of one value in call
order, which keeps them in real-time order too. The earliest schedule gives each the latest call so far
as its instant; failed cas and unseen writes were given theirs, before or after everything at that
instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.operations import NEVER
from checker.values import tag
from checker.zones.lower import Code

if TYPE_CHECKING:
    from checker.zones.decide import Blocks
    from checker.zones.lower import Lowered


def linearization(  # noqa: C901, PLR0912 - one case a code, then one pass
    lowered: Lowered, blocks: Blocks
) -> list[int]:
    """Return positions in ``lowered`` in an order that a register accepts."""
    where = blocks.clusters.where
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for i, (code, value) in enumerate(zip(lowered.codes, lowered.values, strict=True)):
        match code:
            case Code.READ:
                readers.setdefault(where[tag(value)], []).append(i)
            case Code.WRITE | Code.MAYBE_WRITE:
                writer[where[tag(value)]] = i
            case Code.CAS | Code.MAYBE_CAS:
                old, new = map(tag, value)
                if old != new:
                    writer[where[new]] = i
                elif code == Code.CAS:
                    readers.setdefault(where[old], []).append(i)
            case _:
                pass
    floor = {} if blocks.sides is None else blocks.sides.floor
    timed: list[tuple[int, int, int, int]] = []
    latest = -NEVER
    for block in blocks.order:
        for cluster in blocks.chains.get(block, (block,)):
            latest = max(latest, floor.get(cluster, latest))
            group = ([writer[cluster]] if cluster else []) + readers.get(cluster, [])
            for i in group:
                latest = max(latest, lowered.calls[i])
                timed.append((latest, 0, len(timed), i))
    placed = len(timed)
    anywhere = {i for i, code in enumerate(lowered.codes) if code == Code.DIFFERED}
    if blocks.sides is not None:
        for moment, at_end, i in blocks.sides.moments:
            anywhere.discard(i)
            timed.append((moment, 2 if at_end else -1, lowered.calls[i], i))
        for moment, cluster in blocks.sides.fillers:
            timed.append((moment, 1, lowered.calls[writer[cluster]], writer[cluster]))
    if len(timed) > placed or anywhere:
        timed.extend((lowered.calls[i], -1, lowered.calls[i], i) for i in anywhere)
        timed.sort()
    return [i for _, _, _, i in timed]
