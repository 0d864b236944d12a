"""Registers: one value, read, written, deleted, and compared-and-set.

`register` and `cas-register` are one object; the first merely knows no cas. A delete writes nil. A cas
that failed with MISMATCH looked and saw another value than the old one: it is a read, and it asserts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.conventions import NilRead
from checker.events import EventType, differed
from checker.models.model import Model, untag
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation


LOCKING = frozenset({"acquire", "renew", "release"})


def leaves(op: Operation) -> Hashable:
    """Return the value, tagged, that ``op`` on a register shows or leaves behind."""
    match op.f:
        case "cas":
            return tag(op.value[1])
        case "delete":
            return None
        case _:
            return tag(op.value)


class Register(Model):
    """A value that is read and written."""

    name: ClassVar[str] = "register"
    functions: ClassVar[frozenset[str]] = frozenset({"read", "write", "delete"})

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        match op.f:
            case "read":
                return (state,) if self._wild(op) or state == tag(op.value) else ()
            case "write":
                return (tag(op.value),)
            case "delete":
                return (None,)
            case _:
                old, new = op.value
                if op.outcome is EventType.FAIL:
                    return (state,) if state != tag(old) else ()
                return (tag(new),) if state == tag(old) else ()

    def readonly(self, op: Operation) -> bool:
        """Return True of reads, cas that failed, and a cas from a value to itself."""
        if op.f == "cas":
            return op.outcome is EventType.FAIL or tag(op.value[0]) == tag(op.value[1])
        return op.f == "read"

    def resets(self, op: Operation) -> bool:
        """Return True of a write and of a delete."""
        return op.f in {"write", "delete"}

    def keep(self, op: Operation) -> bool:
        """Whatever may have happened, and a cas whose failure says that the value differed."""
        if op.f == "cas" and op.outcome is EventType.FAIL:
            return self._differed(op)
        if op.f == "read" and op.known and self._wild(op):
            return False
        return super().keep(op)

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with a cas that is no pair."""
        if op.f == "cas" and not (isinstance(op.value, list | tuple) and len(op.value) == 2):
            return f"the value of a cas is [old, new], not {show(op.value)}"
        return None

    def describe_state(self, state: Any) -> str:
        """Return the value held."""
        return show(untag(state))

    def refusal(self, state: Any, op: Operation) -> str:
        """Return why ``op`` does not fit, in terms of the value held."""
        held = self.describe_state(state)
        if op.f == "read":
            return f"cannot read {show(op.value)} from {held}"
        if op.outcome is EventType.FAIL:
            return f"cas from {show(op.value[0])} cannot fail on {held}"
        return f"cannot cas {show(op.value[0])} to {show(op.value[1])} on {held}"

    def _wild(self, op: Operation) -> bool:
        return op.value is None and self.conventions.nil_read is NilRead.WILDCARD

    def _differed(self, op: Operation) -> bool:
        return differed(op.error, self.conventions)


class CasRegister(Register):
    """A register with compare-and-set."""

    name: ClassVar[str] = "cas-register"
    functions: ClassVar[frozenset[str]] = Register.functions | {"cas"}


class FencedRegister(Register):
    """A register written under locks: what is asked of the locks changes nothing in it.

    Whether tokens keep their order is the fencing oracle's to say, not the register's.
    """

    name: ClassVar[str] = "fenced-register"
    functions: ClassVar[frozenset[str]] = Register.functions | LOCKING

    def keep(self, op: Operation) -> bool:
        """Return whether ``op`` is the register's and can matter."""
        return op.f not in LOCKING and super().keep(op)
