"""A set: add, remove, contains, and a read of the whole.

``contains`` has the value ``[element, answer]``. A read of nil is the empty set, or under the wildcard
convention a read whose result was not recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.conventions import NilRead
from checker.models.model import Model, elements, untag
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation


class GrowSet(Model):
    """A set of values; starts empty."""

    name: ClassVar[str] = "set"
    functions: ClassVar[frozenset[str]] = frozenset({"add", "remove", "contains", "read"})

    def initial(self, value: Any) -> Hashable:
        """Return the elements at the start."""
        return frozenset(elements(value))

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        match op.f:
            case "add":
                return (state | {tag(op.value)},)
            case "remove":
                return (state - {tag(op.value)},)
            case "contains":
                element, answer = op.value
                return (state,) if (tag(element) in state) is answer else ()
            case _:
                return (state,) if self._wild(op) or state == frozenset(map(tag, op.value or ())) else ()

    def readonly(self, op: Operation) -> bool:
        """Return True of what only looks."""
        return op.f in {"read", "contains"}

    def path(self, op: Operation) -> tuple[Hashable, ...]:
        """Return key and element: what is read whole is one part, else every element is its own."""
        match op.f, op.value:
            case "read", _:
                return (tag(op.key),)
            case "contains", [element, _]:
                return (tag(op.key), tag(element))
            case _, element:
                return (tag(op.key), tag(element))

    def keep(self, op: Operation) -> bool:
        """Return whether ``op`` can matter; a read without its value cannot."""
        return super().keep(op) and not (op.f == "read" and self._wild(op))

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with a read that saw no collection, or a contains without its answer."""
        if (
            op.f == "read"
            and op.known
            and not isinstance(op.value, list | tuple | set | frozenset | None)
        ):
            return f"a set is read as a list of its elements, not {show(op.value)}"
        if (
            op.f == "contains"
            and op.known
            and not (isinstance(op.value, list | tuple) and len(op.value) == 2)
        ):
            return f"the value of contains is [element, answer], not {show(op.value)}"
        return None

    def describe_state(self, state: Any) -> str:
        """Return the elements, the first few of them."""
        names = sorted(show(untag(element)) for element in state)
        return (
            "#{"
            + " ".join(names[:12])
            + (f" and {len(names) - 12} more" if len(names) > 12 else "")
            + "}"
        )

    def refusal(self, state: Any, op: Operation) -> str:
        """Return what a read lacks, or has too much."""
        if op.f != "read":
            return super().refusal(state, op)
        seen = frozenset(map(tag, op.value or ()))
        lacks, extra = state - seen, seen - state
        parts = [f"lacks {self.describe_state(lacks)}"] * bool(lacks) + [
            f"has {self.describe_state(extra)}"
        ] * bool(extra)
        return f"the read {' and '.join(parts)}"

    def _wild(self, op: Operation) -> bool:
        return op.value is None and self.conventions.nil_read is NilRead.WILDCARD
