"""Locks: a mutex, one that its owner may take again, one that hands out fencing tokens.

The owner is the operation's value where it has one, else the process; a plain mutex knows no owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from checker.models.model import Model, untag
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.operations import Operation

_FUNCTIONS = frozenset({"acquire", "release"})


class Mutex(Model):
    """Free or held, whoever holds it."""

    name: ClassVar[str] = "mutex"
    functions: ClassVar[frozenset[str]] = _FUNCTIONS

    def initial(self, value: Any) -> Hashable:
        """Return whether it is held at the start."""
        return bool(value)

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        taking = op.f == "acquire"
        return (taking,) if state is not taking else ()

    def describe_state(self, state: Any) -> str:
        """Return held or free."""
        return "held" if state else "free"

    def refusal(self, state: Any, op: Operation) -> str:
        """Return why ``op`` is impossible."""
        return f"cannot {op.f} a lock that is {self.describe_state(state)}"


class ReentrantMutex(Model):
    """Held by an owner, a number of times. The state is (owner, depth)."""

    name: ClassVar[str] = "reentrant-mutex"
    functions: ClassVar[frozenset[str]] = _FUNCTIONS

    def initial(self, value: Any) -> Hashable:
        """Return a free lock, or one that ``value`` holds once."""
        return (None, 0) if value is None else (tag(value), 1)

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        owner, depth = state
        who = tag(op.process if op.value is None else op.value)
        if op.f == "acquire":
            return ((who, depth + 1),) if not depth or owner == who else ()
        if not depth or owner != who:
            return ()
        return ((who, depth - 1) if depth > 1 else (None, 0),)

    def alike(self, op: Operation) -> Hashable:
        """Return the function and the owner."""
        return (op.f, tag(op.process if op.value is None else op.value))

    def describe_state(self, state: Any) -> str:
        """Return who holds it, and how often."""
        owner, depth = state
        return f"held {depth} times by {show(untag(owner))}" if depth else "free"

    def refusal(self, state: Any, op: Operation) -> str:
        """Return why ``op`` is impossible for this owner."""
        who = show(op.process if op.value is None else op.value)
        return f"{who} cannot {op.f} a lock that is {self.describe_state(state)}"


class FencedLock(Model):
    """A mutex whose every acquisition gets a greater token. The state is (held, last token).

    The value of an acquisition is its token. One of unknown end got a token nobody knows, greater than
    the last: the least that it can have been leaves the most room for what follows.
    """

    name: ClassVar[str] = "fenced-lock"
    functions: ClassVar[frozenset[str]] = _FUNCTIONS

    def initial(self, value: Any) -> Hashable:
        """Return a free lock whose last token was ``value``, 0 by default."""
        if type(value) not in {int, type(None)}:
            raise ValueError(f"the last token at the start is a whole number, not {show(value)}")
        return (False, value or 0)

    def step(self, state: Any, op: Operation) -> Sequence[Hashable]:
        """Return the states after ``op``: see `Model.step`."""
        held, last = state
        if op.f == "release":
            return ((False, last),) if held else ()
        if held:
            return ()
        if not op.known:
            return ((True, last + 1),)
        return ((True, op.value),) if op.value > last else ()

    def malformed(self, op: Operation) -> str | None:
        """Return what is wrong with an acquisition without a token."""
        if op.f == "acquire" and op.known and type(op.value) is not int:
            return f"an acquisition's value is its token, a whole number, not {show(op.value)}"
        return None

    def alike(self, op: Operation) -> Hashable:
        """Return the function: tokens of unknown ends are unknown."""
        return op.f

    def describe_state(self, state: Any) -> str:
        """Return held or free, and the last token."""
        held, last = state
        return f"{'held' if held else 'free'}, last token {last}"

    def refusal(self, state: Any, op: Operation) -> str:
        """Return why ``op`` is impossible."""
        if op.f == "acquire" and not state[0]:
            return f"token {show(op.value)} is not above {state[1]}"
        return f"cannot {op.f} a lock that is {'held' if state[0] else 'free'}"
