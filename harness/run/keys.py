"""The keys in use: each is left for a fresh one in time, so that none grows too long a history.

A key retires after so many operations, and at once when too many writes to it are unknown: each of those
stays open to the end and doubles the checker's work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

UNKNOWN_MAX: Final = 8  # outstanding unknown writes of one key


class Keys:
    """``ever`` are all keys so far; ``written`` is one that was written to, if it is still in use."""

    def __init__(self, many: int, *, operations_max: int) -> None:
        self.ever: list[str] = []
        self._operations_max = operations_max
        self._active = [self._new() for _ in range(many)]
        self._operations = dict.fromkeys(self.ever, 0)
        self._unknown = dict.fromkeys(self.ever, 0)
        self.written = self._active[0]

    def draw(self, rng: Random) -> str:
        """Draw one in use."""
        return self._active[rng.randrange(len(self._active))]

    def count(self, key: str) -> None:
        """Count an operation on ``key``."""
        self._operations[key] += 1
        if self._operations[key] >= self._operations_max:
            self._retire(key)

    def acknowledged(self, key: str) -> None:
        """Note that a write to ``key`` was."""
        if key in self._active:
            self.written = key

    def unknown(self, key: str) -> None:
        """Note that nobody knows what became of an operation on ``key``."""
        if key in self._unknown:
            self._unknown[key] += 1
            if self._unknown[key] >= UNKNOWN_MAX:
                self._retire(key)

    def _new(self) -> str:
        self.ever.append(f"k{len(self.ever)}")
        return self.ever[-1]

    def _retire(self, key: str) -> None:
        """Put a fresh key in the place of this one, if it still has it."""
        if key not in self._active:
            return
        fresh = self._new()
        self._active[self._active.index(key)] = fresh
        self._operations[fresh] = self._unknown[fresh] = 0
        if self.written == key:
            self.written = fresh
