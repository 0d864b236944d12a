"""A counter: add a whole number, negative too; increment, decrement, by one or their value; read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.conventions import NilRead
from checker.models.model import Model
from checker.values import show

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation

_ADDS = frozenset({"add", "increment", "inc"})
_TAKES = frozenset({"decrement", "dec"})


class Counter(Model):
    """A number that is added to and read; starts at 0."""

    name: ClassVar[str] = "counter"
    functions: ClassVar[frozenset[str]] = _ADDS | _TAKES | {"read"}

    def initial(self, value: Any) -> Hashable:
        """Return the number at the start."""
        if type(value) not in {int, type(None)}:
            raise ValueError(f"a counter starts at a whole number, not {show(value)}")
        return value or 0

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        if op.f == "read":
            return (state,) if self._wild(op) or (state == op.value and type(op.value) is int) else ()
        amount = 1 if op.value is None else op.value
        return (state - amount if op.f in _TAKES else state + amount,)

    def readonly(self, op: Operation) -> bool:
        """Return True of a read, and of adding nothing."""
        return op.f == "read" or op.value == 0

    def keep(self, op: Operation) -> bool:
        """Return whether ``op`` can matter; a read without its value cannot."""
        return super().keep(op) and not (op.f == "read" and self._wild(op))

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with adding something that is no whole number."""
        if op.f != "read" and not (op.value is None or type(op.value) is int):
            return f"only whole numbers can be added, not {show(op.value)}"
        return None

    def refusal(self, state: Any, op: Operation) -> str:
        """Return why a read does not fit."""
        return f"cannot read {show(op.value)} from {show(state)}"

    def _wild(self, op: Operation) -> bool:
        return op.value is None and self.conventions.nil_read is NilRead.WILDCARD
