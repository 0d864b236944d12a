"""A node's disk: what was handed to it, and what of that a kill leaves.

One sync at a time; whatever comes while one is under way shares the next, as in a group commit. A kill
loses what no sync has finished. A torn write loses the rest of its record and all that follow; since a
record is whole or not there, what a torn write leaves is a prefix of the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.leasekv.kept import Kept

if TYPE_CHECKING:
    from targets.leasekv.ports import Persist, Restored

    from .draws import Draws
    from .weather import Weather


class SimDisk:
    """``syncing`` is the batch under way; ``delay_ns`` is what the nemesis adds to each sync."""

    __slots__ = ("_draws", "_kept", "_waiting", "_weather", "boot", "delay_ns", "syncing")

    def __init__(self, weather: Weather, draws: Draws) -> None:
        self._weather = weather
        self._draws = draws
        self._kept = Kept()
        self._waiting: list[Persist] = []
        self.syncing: list[Persist] = []
        self.delay_ns = 0
        self.boot = 0

    def take(self, persist: Persist) -> bool:
        """Take a record; whether a sync has to be started for it."""
        self._waiting.append(persist)
        return not self.syncing

    def start_sync(self) -> int | None:
        """Start syncing all that waits; return how long it takes, None if nothing waits."""
        if not self._waiting:
            return None
        self.syncing, self._waiting = self._waiting, []
        weather, draws = self._weather, self._draws
        took_ns = draws.between(weather.sync_min_ns, weather.sync_max_ns)
        if draws.chance(weather.stall_ppm):
            took_ns += draws.between(0, weather.stall_max_ns)
        return took_ns + self.delay_ns

    def end_sync(self) -> int:
        """Make the batch durable; return its last persist."""
        for persist in self.syncing:
            self._write(persist)
        seq = self.syncing[-1].seq
        self.syncing = []
        return seq

    def crash(self) -> None:
        """Lose what was not synced, or the end of it."""
        unsynced = [*self.syncing, *self._waiting]
        survivors = self._draws.between(0, len(unsynced)) if self._weather.torn else 0
        for persist in unsynced[:survivors]:
            self._write(persist)
        self.syncing, self._waiting = [], []
        self.delay_ns = 0

    def start_boot(self) -> Restored:
        """Count a boot and return what it finds."""
        self.boot += 1
        return self._kept.restored(self.boot)

    def _write(self, persist: Persist) -> None:
        self._kept.take(persist.hard, persist.entries, persist.snapshot)
