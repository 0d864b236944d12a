"""A map of strings with get, put and append, judged key by key (Porcupine's kv, MIT 6.824's lab)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.conventions import NilRead
from checker.events import EventType
from checker.models.model import Model, untag
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation


class KeyValue(Model):
    """One key: a string to which strings are appended; absent is the empty string."""

    name: ClassVar[str] = "kv"
    functions: ClassVar[frozenset[str]] = frozenset({"get", "put", "append", "delete"})

    def initial(self, value: Any) -> Hashable:
        """Return the string at the start; the empty one by default."""
        if not isinstance(value, str | None):
            raise ValueError(  # noqa: TRY004 - the value is at fault, not the caller's types
                f"a key of kv starts with a string, not {show(value)}"
            )
        return value or ""

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        match op.f:
            case "get":
                value = op.value
                same = state == (value if type(value) is str else tag(value))
                return (state,) if same or self._wild(op) else ()
            case "put":
                return (tag(op.value),)
            case "append":
                return (state + op.value,)
            case _:
                return ("",)

    def readonly(self, op: Operation) -> bool:
        """Return True of a get."""
        return op.f == "get"

    def resets(self, op: Operation) -> bool:
        """Return True of what replaces the string."""
        return op.f in {"put", "delete"}

    def leads(self, state: Any, op: Operation) -> bool:
        """Return whether what a get saw begins with the string held: strings only grow."""
        return type(op.value) is not str or type(state) is not str or op.value.startswith(state)

    def keep(self, op: Operation) -> bool:
        """Return whether ``op`` can matter; a get without its value cannot."""
        if op.f == "get":
            return op.known and not self._wild(op)
        return op.outcome is not EventType.FAIL

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with an append of something that is no string."""
        if op.f == "append" and not isinstance(op.value, str):
            return f"only strings can be appended, not {show(op.value)}"
        return None

    def describe_state(self, state: Any) -> str:
        """Return the string held, shortened."""
        text = show(untag(state))
        return text if len(text) <= 60 else f"{text[:28]}...{text[-28:]}"

    def refusal(self, state: Any, op: Operation) -> str:
        """Return why a get does not fit."""
        told, held = self.describe_state(tag(op.value)), self.describe_state(state)
        return f"get cannot return {told}, the value is {held}"

    def _wild(self, op: Operation) -> bool:
        return op.value is None and self.conventions.nil_read is NilRead.WILDCARD
