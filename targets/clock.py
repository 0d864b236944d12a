"""Clock readings, as values.

A node reads its clocks once per input and hands the core the `Reading`; nothing that decides reads
a clock itself. Monotonic and wall time are kept apart because a lease may rest on the first only,
and because the nemesis bends them apart. Boot time is monotonic time that goes on while the host is
suspended: where the two part, more time has passed than a lease was measured to have.
"""

from __future__ import annotations

from typing import Final

import msgspec

MS: Final = 1_000_000
SECOND: Final = 1_000_000_000
FOREVER_NS: Final = 1 << 62
"""An instant that no clock reaches: when what has no time is due."""


class Reading(msgspec.Struct, frozen=True, gc=False):
    """One node's own clocks at one instant; ``boot_ns`` is None where nobody reads it."""

    mono_ns: int
    wall_ns: int
    boot_ns: int | None = None

    def passed_ns(self, before: Reading) -> int:
        """Return how long ago ``before`` was, by boot time if both have it, else by monotonic time."""
        if self.boot_ns is None or before.boot_ns is None:
            return self.mono_ns - before.mono_ns
        return self.boot_ns - before.boot_ns

    def slept_ns(self, before: Reading) -> int:
        """Return how long monotonic time stood still since ``before``, as far as boot time tells."""
        if self.boot_ns is None or before.boot_ns is None:
            return 0
        return self.boot_ns - before.boot_ns - self.mono_ns + before.mono_ns
