"""Histories for tests: drawn as people draw them, or thrown with dice."""

from __future__ import annotations

from checker.testing.containers import PUT_AND_TAKE, put_once
from checker.testing.dice import Dice
from checker.testing.drawn import drawn
from checker.testing.thrown import crowded, denied, merged, spelled, starved, thrown

__all__ = [
    "PUT_AND_TAKE",
    "Dice",
    "crowded",
    "denied",
    "drawn",
    "merged",
    "put_once",
    "spelled",
    "starved",
    "thrown",
]
