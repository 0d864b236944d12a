"""What decides by chance here is handed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Any_ = TypeVar("Any_")


class Dice(Protocol):
    """What a ``random.Random`` can do, as far as it is needed here."""

    def random(self) -> float:
        """Return a number from 0 up to 1."""
        ...

    def randint(self, a: int, b: int, /) -> int:
        """Return a whole number from ``a`` to ``b``."""
        ...

    def choice(self, seq: Sequence[Any_], /) -> Any_:
        """Return one of ``seq``."""
        ...

    def uniform(self, a: float, b: float, /) -> float:
        """Return a number from ``a`` to ``b``."""
        ...

    def sample(self, population: Sequence[Any_], k: int, /) -> list[Any_]:
        """Return ``k`` different ones of ``population``."""
        ...

    def shuffle(self, x: list[Any], /) -> None:
        """Bring ``x`` into any order."""
        ...
