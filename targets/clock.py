"""Clock readings, as values.

A node reads its clocks once per input and hands the core the `Reading`; nothing that decides reads
a clock itself. Monotonic and wall time are kept apart because a lease may rest on the first only,
and because the nemesis bends them apart.
"""

from __future__ import annotations

from typing import Final

import msgspec

MS: Final = 1_000_000
SECOND: Final = 1_000_000_000


class Reading(msgspec.Struct, frozen=True):
    """One node's own clocks at one instant: monotonic and wall, in nanoseconds."""

    mono_ns: int
    wall_ns: int
