"""Counts as a person says them."""

from __future__ import annotations


def many(number: int, what: str) -> str:
    """Return how many there are of something that takes an *s*: ``1 run``, ``2 runs``."""
    return f"{number} {what}{'' if number == 1 else 's'}"
