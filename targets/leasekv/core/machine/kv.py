"""The key-value machine: what an entry does and what its client hears.

Deterministic and total: every replica that has applied the same entries answers the same, and whatever
a client may have put into an entry, applying it cannot fail. A compare-and-set that does not match (or
brings no pair to compare and set) is an outcome of its own, not an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from targets.leasekv.messages import Code, Op

if TYPE_CHECKING:
    from targets.leasekv.messages import Entry, Key


class KeyValue:
    """Values by key; an absent key reads as None."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Key, Any] = {}

    def read(self, key: Key) -> Any:
        """Return what ``key`` holds, None if nothing."""
        return self._values.get(key)

    def put(self, key: Key, value: Any) -> None:
        """Let ``key`` hold ``value``."""
        self._values[key] = value

    def snapshot(self) -> Any:
        """Return everything it holds, as a value that never changes again."""
        return tuple(self._values.items())

    def restore(self, snapshot: Any) -> None:
        """Hold what another one held when it gave that."""
        self._values = dict(snapshot)

    def apply(self, entry: Entry) -> tuple[Code | None, Any]:
        """Do what ``entry`` says; return the code and value its client hears."""
        match entry.op:
            case Op.WRITE:
                self._values[entry.key] = entry.value
            case Op.CAS:
                match entry.value:
                    case [expected, new] if self._values.get(entry.key) == expected:
                        self._values[entry.key] = new
                    case _:
                        return Code.MISMATCH, None
            case Op.DELETE:
                self._values.pop(entry.key, None)
            case Op.READ:
                return None, self._values.get(entry.key)
            case _:
                pass
        return None, None
