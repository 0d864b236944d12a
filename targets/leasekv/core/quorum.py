"""What a majority agrees on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def backed_by(values: Iterable[int], voters_min: int) -> int:
    """Return the largest value that at least ``voters_min`` of the values reach."""
    return sorted(values, reverse=True)[voters_min - 1]
