"""Who wrote what, who saw it: the operations of one key gathered by value.

Where every value is written once, a value, its writer and those that saw it belong together: a
*cluster*. Cluster 0 is the initial value, written before everything. Per cluster four stamps are enough:
the writer's interval, the earliest return and the latest call among its reads.

Uniqueness is a matter of the whole key, of writes, cas targets and the initial value alike; it is
established before anything is concluded. A cas from a value to itself is a read. Operations come in
call order, so the *last* read of a cluster has its latest call: a dict built from pairs finds it
without a loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

from checker.operations import NEVER
from checker.values import all_plain
from checker.zones.lower import (
    IS_CAS,
    IS_DIFFERED,
    IS_MAYBE,
    IS_PAIR,
    IS_READ,
    IS_WRITER,
    Code,
    Lowered,
    mask,
    sided,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

_IS_WRITE = mask(Code.WRITE, Code.MAYBE_WRITE)
EVER = -NEVER
"""The stamp before every other: when the initial value was written."""


@dataclass(kw_only=True, slots=True, eq=False)
class Clusters:
    """Columns by cluster. ``unwritten``: values seen that nobody wrote."""

    where: dict[Hashable, int]
    write_call: list[int]
    write_return: list[int]
    read_return: list[int]
    read_call: dict[int, int]
    maybe: list[int]
    cas_from: dict[int, Hashable]
    differed: list[tuple[Hashable, int, int, int]]
    unwritten: list[Hashable]


def gather(lowered: Lowered) -> Clusters | None:
    """Return the clusters; None if a value is written twice, or is the initial one."""
    codes, values, calls, returns = lowered.codes, lowered.values, lowered.calls, lowered.returns
    cas_from: dict[int, Hashable] = {}
    differed: list[tuple[Hashable, int, int, int]] = []
    if codes.translate(IS_PAIR).count(1):
        plain = list(compress(values, codes.translate(_IS_WRITE)))
        if all_plain(plain) and len(set(plain)) < len(plain):
            return None
    both = sided(lowered)
    codes, values, olds = both.codes, both.news, both.olds
    writes = codes.translate(IS_WRITER)
    if olds is not values:
        differed = [
            (olds[i], calls[i], returns[i], i)
            for i in compress(range(len(codes)), codes.translate(IS_DIFFERED))
        ]
        linked = compress(zip(codes.translate(IS_CAS), olds, strict=True), writes)
        cas_from = {cluster: old for cluster, (cas, old) in enumerate(linked, 1) if cas}
    written = list(compress(values, writes))
    where: dict[Hashable, int] = dict(zip(written, range(1, len(written) + 1), strict=True))
    if len(where) < len(written) or lowered.start in where:
        return None
    where[lowered.start] = 0
    reads = codes.translate(IS_READ)
    seen: list[int] = list(map(where.get, compress(values, reads)))  # type: ignore[arg-type]
    unwritten: list[Hashable] = []
    if None in seen:
        unwritten = [value for value in compress(values, reads) if value not in where]
        seen = [where[value] for value in compress(values, reads) if value in where]
        reads = bytes(each and value in where for each, value in zip(reads, values, strict=True))
    read_return = [NEVER] * (len(written) + 1)
    for cluster, back in zip(seen, compress(returns, reads), strict=True):
        if back < read_return[cluster]:  # noqa: PLR1730 - min() would double the time of this loop
            read_return[cluster] = back
    maybe_mask = compress(codes.translate(IS_MAYBE), writes)
    return Clusters(
        where=where,
        write_call=[EVER, *compress(calls, writes)],
        write_return=[EVER, *compress(returns, writes)],
        read_return=read_return,
        read_call=dict(zip(seen, compress(calls, reads), strict=True)),
        maybe=list(compress(range(1, len(written) + 1), maybe_mask)),
        cas_from=cas_from,
        differed=differed,
        unwritten=unwritten,
    )
