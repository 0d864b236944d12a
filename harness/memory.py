"""How much memory this process holds: the meter behind limits of memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def held_bytes() -> int:
    """Return how much memory this process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
