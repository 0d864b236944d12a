"""What a direct decision says: an order, a proof, or nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ordered:
    """Linearizable: positions of operations in an order that fits."""

    order: list[int]


@dataclass(frozen=True, slots=True)
class Impossible:
    """Not linearizable: the positions of operations that no order fits; one of them, and what it did."""

    positions: list[int]
    culprit: int
    why: str


Direct = Ordered | Impossible | None
"""None: the object's rules do not decide this history; it has to be searched."""


def keeps_time(order: list[int], calls: list[int], returns: list[int]) -> bool:
    """Return whether no operation of ``order`` returned before an earlier one of it was called."""
    latest = -(1 << 62)
    for i in order:
        latest = max(latest, calls[i])
        if returns[i] < latest:
            return False
    return True
