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
from operator import lt
from typing import TYPE_CHECKING, Any, Final

from checker.zones.clusters import EVER
from checker.zones.lower import IS_READ, IS_WRITER

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.zones.lower import Lowered


_NOTHING: Final = object()
"""Equal to no key and to no value."""


class DoesNotFit(Exception):  # noqa: N818 - an answer, told from wherever it is found
    """The operations of ``key`` fit no order."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key


def all_fit(lowered: Lowered, keys: Sequence[Hashable], names: Sequence[Hashable]) -> bool:
    """Return whether each key's operations certainly fit some order; all is tagged, and no cas.

    ``keys`` is the tagged key of each operation, ``names`` each key once. Raises `DoesNotFit`.
    """
    codes, calls, returns = lowered.codes, lowered.calls, lowered.returns
    writes, reads = codes.translate(IS_WRITER), codes.translate(IS_READ)
    owner: list[Any] = [*names, *compress(keys, writes)]
    readers = list(compress(keys, reads))
    told: Any = compress(lowered.values, reads)
    written = list(compress(lowered.values, writes))
    at_first: Any = lowered.start
    where: dict[Any, int] = dict(zip(written, range(len(names), len(owner)), strict=True))
    if len(where) < len(written) or at_first in where:
        written = [*zip(names, repeat(at_first)), *zip(owner[len(names) :], written, strict=True)]
        where = dict(zip(written, range(len(owner)), strict=True))
        if len(where) < len(owner):
            return False
        at_first, told = _NOTHING, zip(readers, told, strict=True)
    before = [EVER] * len(names)
    called = [*before, *compress(calls, writes)]
    first = [*before, *compress(returns, writes)]
    last = called.copy()
    initial = dict(zip(names, range(len(names)), strict=True))
    owner.append(_NOTHING)
    spans = (compress(calls, reads), compress(returns, reads))
    for value, key, call, back in zip(told, readers, *spans, strict=True):
        cluster = where.get(value, -1)
        if owner[cluster] != key:
            if cluster >= 0 or value != at_first:
                raise DoesNotFit(key)
            cluster = initial[key]
        if back < first[cluster]:  # noqa: PLR1730 - min() would double the time of this loop
            first[cluster] = back
        if call > last[cluster]:  # noqa: PLR1730 - as above
            last[cluster] = call
    if any(map(lt, first, called)):
        raise DoesNotFit(next(owner[c] for c, back in enumerate(first) if back < called[c]))
    return _none_cross(owner, first, last, dict.fromkeys(names, EVER))


def _none_cross(
    owner: Sequence[Hashable], first: list[int], last: list[int], tops: dict[Hashable, int]
) -> bool:
    """Return True, or raise `DoesNotFit` if two blocks of one key cross; ``tops``: by key, `EVER`."""
    order = [f + f + 1 if f < s else s + s for f, s in zip(first, last, strict=True)]
    for cluster in sorted(range(len(order)), key=order.__getitem__):
        key = owner[cluster]
        if first[cluster] < tops[key]:
            raise DoesNotFit(key)
        if last[cluster] > tops[key]:  # noqa: PLR1730 - max() would double the time of this loop
            tops[key] = last[cluster]
    return True
