"""Many keys of reads and writes at once, in columns that hold all of them.

`decide` costs more to begin with than some hundreds of operations cost to decide. What it does is done
here for every key in one go: clusters are gathered by value where no value is written on two keys, else
by key and value; each key has a cluster for its initial value; and blocks, here always single clusters,
are sorted together but crossed only with those of their own key. A write of unknown end that nobody saw
can stay: it never returns, and so crosses nothing. Keys with cas are left to others.

Only a plain yes is worth having of all keys together; else one key is named that does not fit, to be
judged on its own, or nothing is said.
"""

from __future__ import annotations

from itertools import compress, repeat
from operator import eq, lt
from typing import TYPE_CHECKING, Any

from checker.operations import NEVER
from checker.zones.clusters import EVER
from checker.zones.lower import IS_READ, IS_WRITER

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.zones.lower import Lowered


class DoesNotFit(Exception):  # noqa: N818 - an answer, told from wherever it is found
    """The operations of ``key`` fit no order."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key


def all_fit(lowered: Lowered, keys: Sequence[Hashable], names: Sequence[Hashable]) -> bool:
    """Return whether each key's operations certainly fit some order; all is tagged, and no cas.

    ``keys`` is the tagged key of each operation, ``names`` each key once. Raises `DoesNotFit`.
    """
    codes, values, calls, returns = lowered.codes, lowered.values, lowered.calls, lowered.returns
    writes, reads = codes.translate(IS_WRITER), codes.translate(IS_READ)
    owner = [*names, *compress(keys, writes)]
    seen = _seen(lowered.start, owner, names, values=values, keys=keys, masks=(writes, reads))
    if seen is None:
        return False
    read_return = [NEVER] * len(owner)
    for cluster, back in zip(seen, compress(returns, reads), strict=True):
        if back < read_return[cluster]:  # noqa: PLR1730 - min() would double the time of this loop
            read_return[cluster] = back
    before = [EVER] * len(names)
    last = [*before, *compress(calls, writes)]
    if any(map(lt, read_return, last)):
        raise DoesNotFit(next(key for key, f, s in zip(owner, read_return, last, strict=True) if f < s))
    first = list(map(min, read_return, [*before, *compress(returns, writes)]))
    for cluster, call in dict(zip(seen, compress(calls, reads), strict=True)).items():
        if call > last[cluster]:  # noqa: PLR1730 - max() would double the time of this loop
            last[cluster] = call
    order = [f + f + 1 if f < s else s + s for f, s in zip(first, last, strict=True)]
    tops = dict.fromkeys(names, EVER)
    for cluster in sorted(range(len(owner)), key=order.__getitem__):
        key = owner[cluster]
        if first[cluster] < tops[key]:
            raise DoesNotFit(key)
        if last[cluster] > tops[key]:  # noqa: PLR1730 - as above
            tops[key] = last[cluster]
    return True


def _seen(
    start: Hashable,
    owner: list[Hashable],
    names: Sequence[Hashable],
    *,
    values: Sequence[Any],
    keys: Sequence[Hashable],
    masks: tuple[bytes, bytes],
) -> list[int] | None:
    """Return the cluster that each read saw; None if a value is written twice on one key."""
    writes, reads = masks
    told, readers = list(compress(values, reads)), list(compress(keys, reads))
    written: list[Any] = list(compress(values, writes))
    clusters = range(len(names), len(owner))
    initial = dict(zip(names, range(len(names)), strict=True))
    where = dict(zip(written, clusters, strict=True))
    if len(where) == len(written) and start not in where:
        seen = list(map(where.get, told, map(initial.__getitem__, readers)))
        found = map(eq, map(owner.__getitem__, seen), readers)
        if not all(found) or sum(map(len(names).__gt__, seen)) != told.count(start):
            raise DoesNotFit(
                next(
                    key
                    for key, cluster, value in zip(readers, seen, told, strict=True)
                    if owner[cluster] != key or (cluster < len(names) and value != start)
                )
            )
        return seen
    where = dict(zip(zip(owner[len(names) :], written, strict=True), clusters, strict=True))
    at_first = list(zip(names, repeat(start)))
    if len(where) < len(written) or not where.keys().isdisjoint(at_first):
        return None
    where.update(zip(at_first, range(len(names)), strict=True))
    both = list(zip(readers, told, strict=True))
    if not where.keys() >= set(both):
        raise DoesNotFit(next(key for key, value in both if (key, value) not in where))
    return list(map(where.__getitem__, both))
