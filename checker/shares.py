"""All keys of a history: which operations are whose, and the columns that hold all of them.

To make something of every key costs more than to judge what little happens on it, so of most keys only
the name and the size are known here. Whose an operation is says one column of names, by which many keys
are judged at once; what else there is of a key is made when somebody asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from checker.models.model import Model, untag
from checker.part import Share, values_left
from checker.search.walk import ANY, LATER, Rows, Unknowns
from checker.values import all_plain, tag
from checker.zones.lower import (
    END,
    IS_MAYBE,
    IS_PAIR,
    IS_PLAIN,
    IS_ROW,
    IS_SOMETHING,
    Code,
    Lowered,
    code_table,
    drop_wild_reads,
)

if TYPE_CHECKING:
    from checker.operations import History

_MAYBE_WRITE: Final = int(Code.MAYBE_WRITE)


class Shares(Sequence[Share]):
    """The shares of a history under a model, by the place of their keys: as these first appear.

    ``whose`` has the tagged key, or path, of each operation, ``names`` each of them once, and ``sizes``
    how many operations are of it.
    """

    def __init__(
        self,
        history: History,
        model: Model,
        start: Hashable,
        spans: tuple[Sequence[int], Sequence[int]],
    ) -> None:
        self.history = history
        self.model = model
        self.start = start
        self.calls, self.returns = spans
        self._whole_keys = type(model).partition is Model.partition and type(model).path is Model.path
        self.whose = self._tagged() if self._whole_keys else self._paths()
        counted: dict[Hashable, int] = Counter(self.whose)
        self.names = list(counted)
        self.sizes = list(counted.values())

    def _tagged(self) -> Sequence[Hashable]:
        keys = self.history.key
        return keys if all_plain(keys) else list(map(tag, keys))

    def _paths(self) -> Sequence[Hashable]:
        """Return the part of the model's state that is each operation's, and of all that touch it."""
        paths = [self.model.path(op) for op in self.history]
        touched = {path for path, op in zip(paths, self.history, strict=True) if self.model.keep(op)}
        tops = {path: _topmost(path, touched) for path in set(paths)}
        return [tops[path] for path in paths]

    @cached_property
    def keys(self) -> Sequence[Any]:
        """The keys as people call them."""
        if self.whose is self.history.key:
            return self.names
        first = dict(zip(reversed(self.whose), reversed(self.history.key), strict=True))
        told = map(first.__getitem__, self.names)
        return list(told if self._whole_keys else map(_named, self.names, told))

    @cached_property
    def positions(self) -> Sequence[Sequence[int]]:
        """Of each key, where in the history its operations are."""
        if len(self) == 1:
            return [range(len(self.whose))]
        found: dict[Hashable, list[int]] = {name: [] for name in self.names}
        for at, name in enumerate(self.whose):
            found[name].append(at)
        return list(found.values())

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, place: int) -> Share:  # type: ignore[override]  # no slices
        return Share(
            history=self.history,
            positions=self.positions[place],
            key=self.keys[place],
            model=self.model,
            start=self.start,
            calls=self.calls,
            returns=self.returns,
        )


def whole(shares: Shares) -> Lowered:
    """Return every operation of the history that ``shares`` are of, in its own place, tagged."""
    history, conventions = shares.history, shares.model.conventions
    lowered = Lowered(
        codes=bytes(history.what).translate(code_table(history.kinds, conventions)),
        values=values_left(history, history.what, history.value),
        calls=shares.calls,
        returns=shares.returns,
        start=shares.start,
    )
    lowered = drop_wild_reads(lowered, conventions)
    codes, values = lowered.codes, lowered.values
    pairs = codes.translate(IS_PAIR)
    if not (
        all_plain(compress(values, codes.translate(IS_PLAIN)))
        and all_plain(chain.from_iterable(compress(values, pairs)))
        if 1 in pairs
        else all_plain(values)
    ):
        values = [
            (tag(value[0]), tag(value[1])) if pair else tag(value)
            for pair, value in zip(pairs, values, strict=True)
        ]
    return replace(lowered, values=values, tagged=True)


class Together(NamedTuple):
    """Several registers of a history in columns: the tagged key of each operation, each key once."""

    lowered: Lowered
    keys: Sequence[Hashable]
    names: Sequence[Hashable]


def together(shares: Shares, lowered: Lowered) -> Together:
    """Return what of ``lowered``, the `whole`, says anything."""
    keys = shares.whose
    if Code.NOTHING in lowered.codes:
        keys = list(compress(keys, lowered.codes.translate(IS_SOMETHING)))
        lowered = lowered.without_nothing()
    return Together(lowered, keys, shares.names)


def rows(shares: Shares, lowered: Lowered) -> Rows:
    """Return what of ``lowered``, the `whole`, certainly happened, share behind share."""
    places: list[int] = []
    nowhere = len(lowered.codes)
    for mine in shares.positions:
        places += mine
        places.append(nowhere)
    codes = lowered.codes + bytes([END])
    certain = codes.translate(IS_ROW)
    if 0 in certain:
        places = list(compress(places, _picker(places)(certain)))
    pick = _picker(places)
    return Rows(
        codes=pick(codes),
        values=pick([*lowered.values, None]),
        calls=pick([*lowered.calls, LATER]),
        returns=pick([*lowered.returns, LATER]),
        places=places,
    )


def _picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return what picks ``places`` out of a column; an itemgetter gives no sequence of just one."""
    return itemgetter(*places) if len(places) > 1 else lambda column: [column[at] for at in places]


def unknowns(shares: Shares, place: int, lowered: Lowered) -> Unknowns:
    """Return what of ``lowered``, the `whole`, is of unknown end on one key, by value left."""
    found: Unknowns = {}
    codes, positions = lowered.codes, shares.positions[place]
    mine = bytes(map(codes.__getitem__, positions)).translate(IS_MAYBE)
    for bit, at in enumerate(compress(positions, mine)):
        value = lowered.values[at]
        old, leaves = (ANY, value) if codes[at] == _MAYBE_WRITE else value
        if old != leaves:
            found.setdefault(leaves, []).append((1 << bit, lowered.calls[at], old, at))
    return found


def _topmost(path: tuple[Hashable, ...], touched: set[tuple[Hashable, ...]]) -> tuple[Hashable, ...]:
    """Return the shortest beginning of ``path`` that some operation touches as a whole."""
    beginnings = (path[:length] for length in range(len(path)))
    return next((beginning for beginning in beginnings if beginning in touched), path)


def _named(path: Any, key: Any) -> Any:
    """Return how people call the part at ``path``; ``key`` is that of one of its operations."""
    match path:
        case ():
            return None
        case (part,):
            return key if part == tag(key) else part
        case _:
            return [untag(part) for part in path]
