"""Random integers from named generators.

Every part that draws has a generator of its own, named after what it is for, so that one part drawing
once more does not change what another one draws. Only integers are drawn, by arithmetic on whole bits
that no Python version does differently.
"""

from __future__ import annotations

from random import Random
from typing import Final

PPM: Final = 1_000_000
_BITS: Final = 48


class Draws:
    """One named generator of a seed."""

    __slots__ = ("_bits",)

    def __init__(self, seed: int, name: str) -> None:
        self._bits = Random(f"{seed}/{name}").getrandbits

    def between(self, least: int, most: int) -> int:
        """Draw from the closed interval; nothing is drawn where there is no choice."""
        if most <= least:
            return least
        return least + ((most - least + 1) * self._bits(_BITS) >> _BITS)

    def chance(self, ppm: int) -> bool:
        """Draw something that is true so many times in a million."""
        return ppm > 0 and (PPM * self._bits(_BITS) >> _BITS) < ppm
