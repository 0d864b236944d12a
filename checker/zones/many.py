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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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


class Values(NamedTuple):
    """The values of several keys, told apart: each with its key, where one is written on several.

    ``seen`` has that of each operation, ``starts`` the initial one of each key, ``written`` those of the
    writes.
    """

    seen: Sequence[Any]
    starts: Sequence[Any]
    written: set[Any]


def unique(lowered: Lowered, keys: Sequence[Hashable], names: Sequence[Hashable]) -> Values | None:
    """Return the values told apart; None if one is written twice on its key, or is the initial one.

    ``keys`` is the tagged key of each operation, ``names`` each key once; all is tagged, and no cas.
    """
    seen: Sequence[Any] = lowered.values
    starts: Sequence[Any] = [lowered.start] * len(names)
    writes = lowered.codes.translate(IS_WRITER)
    many = writes.count(1)
    written = set(compress(seen, writes))
    if lowered.start in written:
        return None
    if len(written) < many:
        seen = list(zip(keys, seen, strict=True))
        starts = list(zip(names, starts, strict=True))
        written = set(compress(seen, writes))
    return Values(seen, starts, written) if len(written) == many else None


def doubtful(
    lowered: Lowered, keys: Sequence[Hashable], names: Sequence[Hashable], values: Values
) -> Iterator[set[Hashable]]:
    """Yield, after every so many operations, of which keys it is not certain that they fit some order.

    ``keys`` and ``names`` as for `unique`, which told the ``values`` apart. What is yielded last is of
    all operations. Raises `DoesNotFit`.
    """
    clusters = ([start, EVER, EVER, None] for start in values.starts)
    last_of: dict[Hashable, _Cluster] = dict(zip(names, clusters, strict=True))
    awaited: dict[tuple[Hashable, Any], int] = {}
    unwritten = values.written.copy()
    writes = lowered.codes.translate(IS_WRITER)
    rows = zip(keys, writes, values.seen, lowered.calls, lowered.returns, strict=True)
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
                unwritten.discard(value)
                last_of[key] = [value, soonest, call, last]
            elif last[0] == value:
                if back < last[1]:  # noqa: PLR1730 - min() would double the time of this branch
                    last[1] = back
                last[2] = call
            elif value in unwritten or not _see(key, last_of, value, call, back):
                awaited[key, value] = min(back, awaited.get((key, value), back))
        yield {key for key, _ in awaited}


def _see(key: Hashable, last_of: dict[Hashable, _Cluster], value: Any, call: int, back: int) -> bool:
    """Have a value read that is not the last one, if it is there; raise `DoesNotFit` of ``key``."""
    cluster = last_of[key]
    behind = None
    for _ in range(_REACH):
        if behind is None and cluster[1] < call:
            behind = cluster
        cluster = cluster[3]
        if cluster is None:
            return False
        if cluster[0] == value:
            break
    else:
        return False
    if behind is not None:
        _move(key, last_of, cluster, behind, call)
    if back < cluster[1]:  # noqa: PLR1730 - as above
        cluster[1] = back
    cluster[2] = call
    return True


def _move(
    key: Hashable, last_of: dict[Hashable, _Cluster], cluster: _Cluster, behind: _Cluster, call: int
) -> None:
    """Put ``cluster`` behind a later one; raise `DoesNotFit` if one that it passes must come between."""
    before: list[_Cluster] = []
    after: list[_Cluster] = []
    first, each = cluster[1], last_of[key]
    while each is not behind:
        after.append(each)
        each = each[3]
    while each is not cluster:
        if first >= each[2]:
            before.append(each)
        elif each[1] >= call:
            after.append(each)
        else:
            raise DoesNotFit(key)
        each = each[3]
    last = cluster[3]
    for each in reversed((*after, cluster, *before)):
        each[3] = last
        last = each
    last_of[key] = last


def _forget(clusters: Iterable[_Cluster]) -> None:
    """Cut off what is out of reach before each of ``clusters``."""
    for last in clusters:
        cluster = last
        for _ in range(_REACH):
            if cluster[3] is None:
                break
            cluster = cluster[3]
        cluster[3] = None
