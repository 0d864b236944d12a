"""What is put in and taken out: FIFO queue, unordered queue, priority queue, stack.

They differ in which element may come out: the oldest, any, the smallest, the newest. Taking from an
empty one answers nil. An operation of unknown end that takes may have taken whatever could come out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.models.model import Model, elements, untag
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation

PUTS = frozenset({"enqueue", "enq", "add", "push", "insert"})
TAKES = frozenset({"dequeue", "deq", "remove", "pop", "poll", "extract"})


class Container(Model):
    """A tuple of tagged elements in the order they were put in; starts empty."""

    def initial(self, value: Any) -> Hashable:
        """Return the elements at the start, the first put in first."""
        return tuple(elements(value))

    def places(self, state: tuple[Hashable, ...]) -> Sequence[int]:
        """Return the indices of the elements of ``state``, which is not empty, that may come out."""
        raise NotImplementedError

    def put(self, state: tuple[Hashable, ...], element: Hashable) -> tuple[Hashable, ...]:
        """Return the state with ``element`` in it."""
        return (*state, element)

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        if op.f in PUTS:
            return (self.put(state, tag(op.value)),)
        if op.f in TAKES:
            return self._take(state, op)
        return (state,) if tag(op.value) == len(state) else ()

    def _take(self, state: tuple[Hashable, ...], op: Operation) -> Sequence[Hashable]:
        if not state or (op.known and op.value is None):
            return (state,) if not state and (not op.known or op.value is None) else ()
        wanted = tag(op.value)
        return tuple(
            {
                (*state[:at], *state[at + 1 :]): None
                for at in self.places(state)
                if not op.known or state[at] == wanted
            }
        )

    def readonly(self, op: Operation) -> bool:
        """Return True of what only counts."""
        return op.f in {"len", "size"} or (op.f in TAKES and op.known and op.value is None)

    def alike(self, op: Operation) -> Hashable:
        """Return what is put in; all that take without a known result are alike."""
        return tag(op.value) if op.f in PUTS else "take"

    def describe_state(self, state: Any) -> str:
        """Return the elements, the first few of them."""
        names = [show(untag(element)) for element in state]
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        return "(" + " ".join(names[:12]) + more + ")"

    def refusal(self, state: Any, op: Operation) -> str:
        """Return what would have come out instead."""
        if op.f not in TAKES:
            return f"{op} does not fit {len(state)} elements"
        if not state:
            return f"cannot take {show(op.value)} from an empty one"
        if op.value is None:
            return f"is not empty but {self.describe_state(state)}"
        could = " or ".join(show(untag(state[at])) for at in list(self.places(state))[:5])
        return f"cannot take {show(op.value)}, next is {could}"


class FifoQueue(Container):
    """The oldest comes out."""

    name: ClassVar[str] = "fifo-queue"
    functions: ClassVar[frozenset[str]] = frozenset(
        {"enqueue", "enq", "add", "dequeue", "deq", "remove", "poll", "len", "size"}
    )

    def places(self, state: tuple[Hashable, ...]) -> Sequence[int]:
        """Return the place of the oldest."""
        del state
        return (0,)


class UnorderedQueue(Container):
    """Any element comes out; kept sorted, so that equal contents are equal states."""

    name: ClassVar[str] = "unordered-queue"
    functions: ClassVar[frozenset[str]] = FifoQueue.functions

    def initial(self, value: Any) -> Hashable:
        """Return the elements at the start."""
        return tuple(sorted(elements(value), key=repr))

    def put(self, state: tuple[Hashable, ...], element: Hashable) -> tuple[Hashable, ...]:
        """Return the state with ``element`` in it."""
        return tuple(sorted((*state, element), key=repr))

    def places(self, state: tuple[Hashable, ...]) -> Sequence[int]:
        """Return every place."""
        return range(len(state))


class PriorityQueue(UnorderedQueue):
    """The smallest comes out: numbers by size, then strings."""

    name: ClassVar[str] = "priority-queue"
    functions: ClassVar[frozenset[str]] = FifoQueue.functions | {"insert", "extract"}

    def places(self, state: tuple[Hashable, ...]) -> Sequence[int]:
        """Return the place of the smallest."""
        return (min(range(len(state)), key=lambda at: rank(state[at])),)


class Stack(Container):
    """The newest comes out."""

    name: ClassVar[str] = "stack"
    functions: ClassVar[frozenset[str]] = frozenset({"push", "pop", "len", "size"})

    def places(self, state: tuple[Hashable, ...]) -> Sequence[int]:
        """Return the place of the newest."""
        return (len(state) - 1,)


def rank(element: Hashable) -> tuple[int, Any]:
    """Return what numbers of every type, then strings, then the rest sort by."""
    match untag(element):
        case int() | float() as number:
            return (0, number)
        case str() as text:
            return (1, text)
        case other:
            return (2, repr(other))
