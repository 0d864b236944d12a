"""Many keys of reads and writes at once, in one pass over all operations in the order of their calls.

`decide` costs more to begin with than some hundreds of operations cost to decide. Here an order of the
clusters (a value, its writer, its reads) is kept for every key as the operations come, and of each
cluster its earliest return f and its latest call s so far. One must come before another if its f is
below the other's s, and none does so that stands behind the other. To keep that is easy:

* a write begins a cluster at the end, for nothing that was called before it can have to come after it;
* a read of the last value moves nothing;
* a read of an earlier value has its cluster called later, so some may now have to come before it, those
  that returned before that call. It goes behind the last of them. Of those that it passes some may have
  to follow it: they go behind it, in the order they had, which none of them minds, for they have not
  returned yet. If one has, each of two must come before the other, and no order fits;
* a read of a value that is not written yet waits for the write, which must be called before it returns.

An order that was kept to the end is a linearization, cluster by cluster. Few clusters are open at a
time, so only the end of an order is looked at and the rest forgotten: a read of what is not there waits
in vain, and `decide` must judge that key. A write of unknown end that nobody saw can stay, for it never
returns.
"""

from __future__ import annotations

from itertools import compress, islice
from typing import TYPE_CHECKING, Any, Final

from checker.zones.clusters import EVER
from checker.zones.lower import IS_WRITER

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from checker.zones.lower import Lowered

_AT_A_TIME: Final = 10_000
_REACH: Final = 32

_Cluster = list[Any]
"""The value, f, s, and the cluster before it in the order."""


class DoesNotFit(Exception):  # noqa: N818 - an answer, told from wherever it is found
    """The operations of ``key`` fit no order."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key


def unique(lowered: Lowered, keys: Sequence[Hashable]) -> bool:
    """Return whether no value is written twice on its key, or is the initial one; all is tagged, no cas.

    ``keys`` is the tagged key of each operation.
    """
    writes = lowered.codes.translate(IS_WRITER)
    written = list(compress(lowered.values, writes))
    values = set(written)
    if lowered.start in values:
        return False
    return len(values) == len(written) or len(written) == len(
        set(zip(compress(keys, writes), written, strict=True))
    )


def doubtful(
    lowered: Lowered, keys: Sequence[Hashable], names: Iterable[Hashable]
) -> Iterator[set[Hashable]]:
    """Yield, after every so many operations, of which keys it is not certain that they fit some order.

    ``keys`` is the tagged key of each operation, ``names`` each key once. Values are tagged, `unique`,
    and of no cas. What is yielded last is of all operations. Raises `DoesNotFit`.
    """
    last_of: dict[Hashable, _Cluster] = {name: [lowered.start, EVER, EVER, None] for name in names}
    awaited: dict[tuple[Hashable, Any], int] = {}
    writes = lowered.codes.translate(IS_WRITER)
    rows = zip(keys, writes, lowered.values, lowered.calls, lowered.returns, strict=True)
    for done in range(0, len(keys), _AT_A_TIME):
        if done:
            _forget(last_of.values())
        for key, write, value, call, back in islice(rows, _AT_A_TIME):
            last = last_of[key]
            if write:
                soonest = back
                if awaited and (key, value) in awaited:
                    soonest = min(back, awaited.pop((key, value)))
                    if soonest < call:
                        raise DoesNotFit(key)
                last_of[key] = [value, soonest, call, last]
            elif last[0] == value:
                if back < last[1]:  # noqa: PLR1730 - min() would double the time of this branch
                    last[1] = back
                last[2] = call
            elif not _see(key, last_of, value, call, back):
                awaited[key, value] = min(back, awaited.get((key, value), back))
        yield {key for key, _ in awaited}


def _see(key: Hashable, last_of: dict[Hashable, _Cluster], value: Any, call: int, back: int) -> bool:
    """Have a value read that is not the last one, if it is there; raise `DoesNotFit` of ``key``."""
    passed = []
    cluster = last_of[key]
    while cluster[0] != value:
        passed.append(cluster)
        cluster = cluster[3]
        if cluster is None or len(passed) > _REACH:
            return False
    first = cluster[1]
    behind = next((at for at, each in enumerate(passed) if each[1] < call), None)
    if behind is not None:
        before, after = [], passed[:behind]
        for each in passed[behind:]:
            if first >= each[2]:
                before.append(each)
            elif each[1] >= call:
                after.append(each)
            else:
                raise DoesNotFit(key)
        rest = cluster[3]
        for each in reversed([*after, cluster, *before]):
            each[3] = rest
            rest = each
        last_of[key] = rest
    if back < first:
        cluster[1] = back
    cluster[2] = call
    return True


def _forget(clusters: Iterable[_Cluster]) -> None:
    """Cut off what is out of reach before each of ``clusters``."""
    for last in clusters:
        cluster = last
        for _ in range(_REACH):
            if cluster[3] is None:
                break
            cluster = cluster[3]
        cluster[3] = None
