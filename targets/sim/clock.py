"""A node's clocks: monotonic time at some rate, boot time beside it, wall time at an offset.

All three are affine maps of true time between two turns. A bend is continuous in monotonic and boot
time; a wall offset is a step of the wall clock. While the host is *suspended* the monotonic clock stands
still and the other two go on. A rate of -1,000,000 ppm stands still.
"""

from __future__ import annotations

from targets.clock import FOREVER_NS, Reading

from .draws import PPM


class NodeClock:
    """``rate_ppm`` is the rate the node was born with; a bend of rate 0 comes back to it.

    ``suspended``: monotonic time stands still.
    """

    __slots__ = (
        "_birth_ppm",
        "_boot_ns",
        "_mono_ns",
        "_offset_ns",
        "_rate_ppm",
        "_true_ns",
        "_wall_ns",
        "suspended",
    )

    def __init__(self, mono_ns: int, wall_ns: int, *, rate_ppm: int = 0) -> None:
        self._true_ns = 0
        self._mono_ns = mono_ns
        self._boot_ns = mono_ns
        self._wall_ns = wall_ns
        self._birth_ppm = rate_ppm
        self._rate_ppm = rate_ppm
        self._offset_ns = 0
        self.suspended = False

    def read(self, true_ns: int) -> Reading:
        """Return what the clocks show at ``true_ns``."""
        passed_ns = true_ns - self._true_ns
        if self._rate_ppm:
            passed_ns = passed_ns * (PPM + self._rate_ppm) // PPM
        mono_ns = self._mono_ns if self.suspended else self._mono_ns + passed_ns
        return Reading(mono_ns, self._wall_ns + passed_ns, self._boot_ns + passed_ns)

    def bend(self, true_ns: int, *, rate_ppm: int, wall_offset_ns: int) -> None:
        """From now on run at this rate and show wall time this much off."""
        self._turn(true_ns)
        self._wall_ns += wall_offset_ns - self._offset_ns
        self._offset_ns = wall_offset_ns
        self._rate_ppm = rate_ppm or self._birth_ppm

    def suspend(self, true_ns: int) -> None:
        """Let monotonic time stand still, as on a host that sleeps."""
        self._turn(true_ns)
        self.suspended = True

    def wake(self, true_ns: int) -> None:
        """Let monotonic time go on, if it stood still."""
        self._turn(true_ns)
        self.suspended = False

    def _turn(self, true_ns: int) -> None:
        now = self.read(true_ns)
        assert now.boot_ns is not None
        self._true_ns = true_ns
        self._mono_ns, self._wall_ns, self._boot_ns = now.mono_ns, now.wall_ns, now.boot_ns

    def true_at(self, mono_ns: int) -> int:
        """Return the first true instant at which the monotonic clock shows at least ``mono_ns``."""
        ahead_ns = mono_ns - self._mono_ns
        if ahead_ns <= 0:
            return self._true_ns
        if self.suspended:
            return FOREVER_NS
        if not self._rate_ppm:
            return self._true_ns + ahead_ns
        speed = PPM + self._rate_ppm
        return self._true_ns - (-ahead_ns * PPM // speed) if speed > 0 else FOREVER_NS
