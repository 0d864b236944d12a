"""One key's share of a history, in the two shapes that the algorithms take.

A `Share` is positions in the history's columns, nothing copied. Zones take it as codes and columns
(`Share.lowered`), the searches and the explanations as operations (`Share.part`). Both hold what the
model keeps, in call order; what failed for certain, or is of no consequence, is left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from checker.errors import MalformedHistory, ModelError
from checker.models.model import Model
from checker.operations import History
from checker.zones.lower import IS_SOMETHING, Code, Lowered, code_table, drop_wild_reads

if TYPE_CHECKING:
    from checker.operations import Operation


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
            values=values_left(history, what, values),
            calls=calls,
            returns=returns,
            start=self.start,
        )
        lowered = drop_wild_reads(lowered, self.model.conventions)
        if Code.NOTHING in lowered.codes:
            positions = list(compress(positions, lowered.codes.translate(IS_SOMETHING)))
            lowered = lowered.without_nothing()
        return lowered, positions


def values_left(history: History, what: bytearray, values: Sequence[Any]) -> Sequence[Any]:
    """Return ``values`` with nil for every delete, whatever its line says that was deleted."""
    deletes = bytes(kind.f == "delete" for kind in history.kinds)
    if 1 not in deletes:
        return values
    deleted = what.translate(deletes.ljust(256, b"\0"))
    return [None if gone else value for gone, value in zip(deleted, values, strict=True)]


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
