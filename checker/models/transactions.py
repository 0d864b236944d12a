"""Objects of several keys, touched by several operations at once: multi-register and list-append.

A ``txn`` is a list of micro-operations ``[f, key, value]`` that take effect together: ``read``/``r``,
``write``/``w`` and ``append``. Such an object cannot be divided by key. list-append also knows plain
``append`` and ``read`` on the operation's own key, and then it can be.

The value of a read that a transaction asks for is nil until it completes; a transaction of unknown end
is not held to what its reads saw. A read of nil is nil (of a list: empty), or, by the wildcard
convention, unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.conventions import NilRead
from checker.models.model import Model, elements, untag
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation

_READS = frozenset({"read", "r"})
_WRITES = frozenset({"write", "w"})


class MultiRegister(Model):
    """Registers by key, several of which one operation may read and write.

    The state holds those that differ from ``initial``'s rest: ``initial`` is a map, or one value for
    every register.
    """

    name: ClassVar[str] = "multi-register"
    functions: ClassVar[frozenset[str]] = frozenset({"txn", "read", "write"})
    micro: ClassVar[frozenset[str]] = _READS | _WRITES

    def initial(self, value: Any) -> Hashable:
        """Return (value of registers not named, named ones)."""
        if isinstance(value, dict):
            return (None, tag(value)[1])  # type: ignore[index]
        return (tag(value), frozenset())

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        rest, pairs = state
        held = dict(pairs)
        for f, key, value in micro_operations(op):
            name = tag(key)
            if f in _READS:
                if op.known and not self._wild(value) and held.get(name, rest) != self.seen(value):
                    return ()
            else:
                held[name] = self.changed(held.get(name, rest), tag(value))
        return ((rest, frozenset(held.items())),)

    def seen(self, value: Any) -> Hashable:
        """Return what a read of ``value`` says that the register holds."""
        return tag(value)

    def changed(self, held: Any, value: Hashable) -> Hashable:
        """Return what a register that holds ``held`` holds next."""
        del held
        return value

    def readonly(self, op: Operation) -> bool:
        """Return True of what only reads."""
        return all(f in _READS for f, _, _ in micro_operations(op))

    def path(self, op: Operation) -> tuple[Hashable, ...]:
        """Return the key; of a transaction, which may touch every one, nothing."""
        return () if op.f == "txn" else (tag(op.key),)

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with a transaction."""
        if op.f != "txn":
            return None
        if not isinstance(op.value, list | tuple):
            return f"a txn is a list of [f, key, value], not {show(op.value)}"
        for each in op.value:
            if not (isinstance(each, list | tuple) and len(each) == 3 and tag(each[0]) in self.micro):
                return f"{show(each)} is no [f, key, value] of {', '.join(sorted(self.micro))}"
        return None

    def describe_state(self, state: Any) -> str:
        """Return the registers and their values."""
        rest, pairs = state
        named = ", ".join(sorted(f"{show(untag(key))}={show(untag(value))}" for key, value in pairs))
        return named or f"all {show(untag(rest))}"

    def _wild(self, value: Any) -> bool:
        return value is None and self.conventions.nil_read is NilRead.WILDCARD


class ListAppend(MultiRegister):
    """Lists by key, appended to and read whole; they start empty."""

    name: ClassVar[str] = "list-append"
    functions: ClassVar[frozenset[str]] = frozenset({"txn", "append", "read"})
    micro: ClassVar[frozenset[str]] = _READS | {"append"}

    def initial(self, value: Any) -> Hashable:
        """Return (list of keys not named, named ones)."""
        if isinstance(value, dict):
            lists = {tag(key): ("list", *elements(each)) for key, each in value.items()}
            return (("list",), frozenset(lists.items()))
        return (("list", *elements(value)), frozenset())

    def keep(self, op: Operation) -> bool:
        """Return whether ``op`` can matter; a read without its value cannot."""
        return super().keep(op) and not (op.f == "read" and self._wild(op.value))

    def seen(self, value: Any) -> Hashable:
        """Return the list that was read; nil is the empty one."""
        return ("list", *map(tag, value or ()))

    def changed(self, held: Any, value: Hashable) -> Hashable:
        """Return the list with ``value`` at its end."""
        return (*held, value)

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with a read that saw no list."""
        wrong = super().malformed(op)
        if wrong is None and op.known:
            for f, _, value in micro_operations(op):
                if f in _READS and not isinstance(value, list | tuple | None):
                    return f"a list is read as a list, not {show(value)}"
        return wrong


def micro_operations(op: Operation) -> list[tuple[str, Any, Any]]:
    """Return the micro-operations of ``op``; of a plain one itself."""
    if op.f != "txn":
        return [(op.f, op.key, op.value)]
    return [(f, key, value) for f, key, value in op.value]
