"""What a model is: the object as it would be with one client, and nothing about concurrency.

A model says in which state the object starts and, for a state and an operation with its result, which
states may follow: none if the result is impossible there, one for most objects, several where the
object may choose (a set of tuples, a queue that hands out any element).

    class Counter(Model):
        name = "my-counter"
        functions = frozenset({"add", "read"})

        def initial(self, value):
            return value or 0

        def step(self, state, op):
            if op.f == "add":
                return (state + op.value,)
            return (state,) if state == op.value else ()

        def readonly(self, op):
            return op.f == "read"

Rules that `step` must keep: states are hashable and never changed in place; it may be asked about any
state and any operation, reachable or not; an operation that is not ``op.known`` has no result to
compare, so every state that *some* result could lead to is to be returned. A model that raises is
reported as a `ModelError` by name, never as a verdict. ``op.process`` is there for owners of locks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.conventions import Conventions
from checker.events import EventType
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation


class Model:
    """An object's sequential behaviour. Subclass it, name it, and say at least ``step``."""

    name: ClassVar[str]
    functions: ClassVar[frozenset[str]] = frozenset()
    """The functions it knows; an operation with another one makes a history malformed. Empty: any."""

    conventions: Conventions = Conventions()

    def __init__(self, conventions: Conventions | None = None) -> None:
        if conventions is not None:
            self.conventions = conventions

    def initial(self, value: Any) -> Hashable:
        """Return the state at the start; ``value`` is the caller's ``--initial``, None by default."""
        return tag(value)

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states that may follow ``state`` when ``op`` takes effect; () if it cannot."""
        raise NotImplementedError

    def readonly(self, op: Operation) -> bool:
        """Return whether ``op`` never changes any state, whatever its result."""
        del op
        return False

    def resets(self, op: Operation) -> bool:
        """Return whether the state after ``op`` is the same whatever it was before."""
        del op
        return False

    def leads(self, state: Any, op: Operation) -> bool:
        """Return whether ``op``, which only looks, may fit later, if nothing that `resets` comes before.

        False cuts a search short. Asked of states that `step` returned.
        """
        del state, op
        return True

    def partition(self, op: Operation) -> Hashable:
        """Return the part of the object that ``op`` touches; parts are judged each on its own."""
        return tag(op.key)

    def path(self, op: Operation) -> tuple[Hashable, ...]:
        """Return where in the object that part is: what a shorter path leads to holds all below it.

        (key, element) of a set is a part of its own, unless some operation touches the whole of (key,).
        """
        return (self.partition(op),)

    def keep(self, op: Operation) -> bool:
        """Return whether ``op`` can matter: it may have happened, or its failure tells something."""
        return op.known or (op.outcome is EventType.INFO and not self.readonly(op))

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with an operation that this object could never be asked for, or None."""
        del op
        return None

    def prepare(self, operations: Sequence[Operation]) -> Sequence[Operation]:
        """Return the operations of one part as `step` wants them, if the whole must be seen first."""
        return operations

    def alike(self, op: Operation) -> Hashable:
        """Return what two operations of unknown end share if one is as good as the other."""
        return (op.f, tag(op.value))

    def describe_state(self, state: Any) -> str:
        """Return a state in words."""
        return show(state)

    def refusal(self, state: Any, op: Operation) -> str:
        """Return why ``op`` cannot take effect in ``state``."""
        return f"{op} does not fit {self.describe_state(state)}"


def elements(value: Any) -> list[Hashable]:
    """Return the tagged elements that an object of several starts with. Raises ValueError."""
    if not isinstance(value, list | tuple | set | frozenset | None):
        raise ValueError(  # noqa: TRY004 - the value is at fault, not the caller's types
            f"what holds several starts with a list of them, not {show(value)}"
        )
    return [*map(tag, value or ())]


def untag(state: Any) -> Any:
    """Return the value whose tag a state is, for people to read."""
    match state:
        case ("list", *items):
            return [untag(item) for item in items]
        case ("map", frozenset() as items):
            return {untag(key): untag(item) for key, item in items}
        case ("set", frozenset() as items):
            return {untag(item) for item in items}
        case (str(), str() as text):
            return _Shown(text)
        case _:
            return state


class _Shown:
    """A scalar that shows as its own text."""

    def __init__(self, text: str) -> None:
        self._text = {"True": "true", "False": "false"}.get(text, text)

    def __str__(self) -> str:
        return self._text
