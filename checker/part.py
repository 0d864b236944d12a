"""One key's share of a history, in the two shapes that the algorithms take.

A `Share` is positions in the history's columns, nothing copied. Zones take it as codes and columns
(`Share.lowered`), the searches and the explanations as operations (`Share.part`). Both hold what the
model keeps, in call order; what failed for certain, or is of no consequence, is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from checker.errors import MalformedHistory, ModelError
from checker.models.model import Model, untag
from checker.operations import History
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
    from checker.operations import Operation

_MAYBE_WRITE: Final = int(Code.MAYBE_WRITE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """Operations of one key: ``calls`` and ``returns`` decide what precedes what."""

    key: Any
    model: Model
    start: Hashable
    operations: Sequence[Operation]
    calls: Sequence[int]
    returns: Sequence[int]

    def subset(self, positions: Sequence[int], returns: Sequence[int] | None = None) -> Part:
        """Return the part with only ``positions`` of this one, in order, perhaps with other returns."""
        back = self.returns if returns is None else returns
        return Part(
            key=self.key,
            model=self.model,
            start=self.start,
            operations=[self.operations[i] for i in positions],
            calls=[self.calls[i] for i in positions],
            returns=[back[i] for i in positions],
        )


class Share(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One key of a history, under a model and a reading of equal stamps."""

    history: History
    positions: Sequence[int]
    key: Any
    model: Model
    start: Hashable
    calls: Sequence[int]
    returns: Sequence[int]

    def part(self, only: Sequence[int] | None = None) -> Part:
        """Return the operations that the model keeps, of those at ``only`` or of all.

        Raises `MalformedHistory` and `ModelError`.
        """
        model = self.model
        mine = map(self.history.__getitem__, self.positions if only is None else only)
        operations = []
        for op in mine:
            judge(model, op, name=self.history.name)
            if model.keep(op):
                operations.append(op)
        try:
            prepared = model.prepare(operations)
        except Exception as error:
            what = f"the operations of key {self.key!r}"
            raise ModelError(model.name, what, f"{type(error).__name__}: {error}") from error
        return Part(
            key=self.key,
            model=model,
            start=self.start,
            operations=prepared,
            calls=[self.calls[op.index] for op in prepared],
            returns=[self.returns[op.index] for op in prepared],
        )

    def lowered(self) -> tuple[Lowered, Sequence[int]]:
        """Return the operations of a register in columns, and the position of each in the history."""
        history, positions = self.history, self.positions
        table = code_table(history.kinds, self.model.conventions)
        if len(positions) == len(history):
            what, values, calls, returns = history.what, history.value, self.calls, self.returns
        elif len(positions) == 1:
            at = positions[0]
            what, values = history.what[at : at + 1], [history.value[at]]
            calls, returns = [self.calls[at]], [self.returns[at]]
        else:
            pick = itemgetter(*positions)
            what, values = bytearray(pick(history.what)), pick(history.value)
            calls, returns = pick(self.calls), pick(self.returns)
        lowered = Lowered(
            codes=bytes(what).translate(table),
            values=_left(history, what, values),
            calls=calls,
            returns=returns,
            start=self.start,
        )
        lowered = drop_wild_reads(lowered, self.model.conventions)
        if Code.NOTHING in lowered.codes:
            positions = list(compress(positions, lowered.codes.translate(IS_SOMETHING)))
            lowered = lowered.without_nothing()
        return lowered, positions


def _left(history: History, what: bytearray, values: Sequence[Any]) -> Sequence[Any]:
    """Return ``values`` with nil for every delete, whatever its line says that was deleted."""
    deletes = bytes(kind.f == "delete" for kind in history.kinds)
    if 1 not in deletes:
        return values
    deleted = what.translate(deletes.ljust(256, b"\0"))
    return [None if gone else value for gone, value in zip(deleted, values, strict=True)]


def whole(shares: Sequence[Share]) -> Lowered:
    """Return every operation of the history that ``shares`` are of, in its own place, tagged."""
    history, first = shares[0].history, shares[0]
    lowered = Lowered(
        codes=bytes(history.what).translate(code_table(history.kinds, first.model.conventions)),
        values=_left(history, history.what, history.value),
        calls=first.calls,
        returns=first.returns,
        start=first.start,
    )
    lowered = drop_wild_reads(lowered, first.model.conventions)
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


def together(shares: Sequence[Share], lowered: Lowered) -> Together:
    """Return what of ``lowered``, the `whole`, says anything."""
    history = shares[0].history
    plain = all_plain(share.key for share in shares)
    keys = history.key if plain else list(map(tag, history.key))
    names = [tag(share.key) for share in shares]
    if Code.NOTHING in lowered.codes:
        keys = list(compress(keys, lowered.codes.translate(IS_SOMETHING)))
        lowered = lowered.without_nothing()
    return Together(lowered, keys, names)


def rows(shares: Sequence[Share], lowered: Lowered) -> Rows:
    """Return what of ``lowered``, the `whole`, certainly happened, share behind share."""
    places: list[int] = []
    nowhere = len(lowered.codes)
    for share in shares:
        places += share.positions
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


def unknowns(share: Share, lowered: Lowered) -> Unknowns:
    """Return what of ``lowered``, the `whole`, is of unknown end on ``share``, by value left."""
    found: Unknowns = {}
    codes = lowered.codes
    mine = bytes(map(codes.__getitem__, share.positions)).translate(IS_MAYBE)
    for bit, at in enumerate(compress(share.positions, mine)):
        value = lowered.values[at]
        old, leaves = (ANY, value) if codes[at] == _MAYBE_WRITE else value
        if old != leaves:
            found.setdefault(leaves, []).append((1 << bit, lowered.calls[at], old, at))
    return found


def judge(model: Model, op: Operation, *, name: str) -> None:
    """Raise `MalformedHistory` if ``op`` is nothing that ``model`` could be asked for."""
    if model.functions and op.f not in model.functions:
        known = ", ".join(sorted(model.functions))
        raise MalformedHistory(
            f"'{op.f}' is no function of {model.name} ({known})", name=name, line=op.call_line
        )
    wrong = model.malformed(op)
    if wrong is not None:
        raise MalformedHistory(wrong, name=name, line=op.call_line)


def divide(
    history: History, model: Model, start: Hashable, spans: tuple[Sequence[int], Sequence[int]]
) -> list[Share]:
    """Return the shares of ``history`` in the order in which their keys first appear."""
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    names: dict[Hashable, Any]
    if type(model).partition is Model.partition and type(model).path is Model.path:
        keys = history.key if all_plain(history.key) else map(tag, history.key)
        for i, key in enumerate(keys):
            groups[key].append(i)
        names = {key: history.key[positions[0]] for key, positions in groups.items()}
    else:
        paths = [model.path(op) for op in history]
        touched = {path for path, op in zip(paths, history, strict=True) if model.keep(op)}
        tops = {path: _topmost(path, touched) for path in set(paths)}
        for i, path in enumerate(paths):
            groups[tops[path]].append(i)
        names = {path: _named(path, history.key[at[0]]) for path, at in groups.items()}
    return [
        Share(
            history=history,
            positions=positions if len(groups) > 1 else range(len(history)),
            key=names[key],
            model=model,
            start=start,
            calls=spans[0],
            returns=spans[1],
        )
        for key, positions in groups.items()
    ]


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
