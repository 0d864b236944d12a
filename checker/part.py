"""One key's share of a history, as the algorithms take it.

A `Part` is positions of the history's columns in call order, nothing copied until somebody asks. Its
operations are those its model keeps; the others (failed, or of no consequence) are only counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.errors import MalformedHistory, ModelError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.models.model import Model
    from checker.operations import History, Operation


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


def part_of(
    history: History,
    positions: Sequence[int],
    *,
    key: Any,
    model: Model,
    start: Hashable,
    spans: tuple[Sequence[int], Sequence[int]],
) -> Part:
    """Return what ``model`` keeps of ``positions``; raises `MalformedHistory` and `ModelError`."""
    operations: list[Operation] = []
    for position in positions:
        op = history[position]
        judge(model, op, name=history.name)
        if model.keep(op):
            operations.append(op)
    try:
        prepared = model.prepare(operations)
    except Exception as error:
        raise ModelError(
            model.name, f"the operations of {key!r}", f"{type(error).__name__}: {error}"
        ) from error
    calls, returns = spans
    return Part(
        key=key,
        model=model,
        start=start,
        operations=prepared,
        calls=[calls[op.index] for op in prepared],
        returns=[returns[op.index] for op in prepared],
    )


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
