"""Lengths of time as a person says them: ``90``, ``90s``, ``10m`` or ``2h``."""

from __future__ import annotations

import re
from typing import Final

_TIME: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|m|h)?")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float:
    """Return how many seconds a text says; raise ``ValueError``."""
    found = _TIME.fullmatch(text)
    if found is None or not float(found[1]):
        raise ValueError(f"'{text[:40]}' is no time; say 90s, 10m or 2h")
    return float(found[1]) * _UNITS[found[2] or "s"]
