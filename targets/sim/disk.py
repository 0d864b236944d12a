"""A node's disk: what was handed to it, and what of that a kill leaves.

One sync at a time; whatever comes while one is under way shares the next, as in a group commit, and one
sync is one record of the node's log. A kill loses what no sync has finished; of the record under way a
*torn* write leaves the beginning, or all of it, although nobody was told.

What is left is bytes, in the node's own format, and the next boot reads them with the node's own
`targets.leasekv.wal`: a torn end is cut off, a damaged middle is refused. While the node lives nobody
reads them, so they are made at the kill.

A sync is slow, or *stuck*: it ends when the nemesis takes back what it added, if that comes first.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from targets.leasekv.kept import Kept
from targets.leasekv.wal import MAGIC, Record, encode, merge, scan

if TYPE_CHECKING:
    from targets.leasekv.ports import Persist, Restored

    from .draws import Draws
    from .weather import Weather


class Left(IntEnum):
    """What a kill leaves of the record that was being written."""

    NOTHING = 0
    BEGINNING = 1
    ALL = 2


class SimDisk:
    """``syncing`` is the batch under way, through at ``ends_ns``; ``at_rest`` the bytes after a kill."""

    __slots__ = (
        "_added_ns",
        "_delay_ns",
        "_draws",
        "_kept",
        "_through_ns",
        "_waiting",
        "_weather",
        "at_rest",
        "boot",
        "syncing",
    )

    def __init__(self, weather: Weather, draws: Draws) -> None:
        self._weather = weather
        self._draws = draws
        self._kept = Kept()
        self._waiting: list[Persist] = []
        self._delay_ns = 0
        self._added_ns = 0
        self._through_ns = 0
        self.syncing: list[Persist] = []
        self.at_rest = bytearray(MAGIC)
        self.boot = 0

    @property
    def ends_ns(self) -> int:
        """When the sync under way is through, in true time."""
        return self._through_ns + self._added_ns

    def set_delay(self, delay_ns: int) -> None:
        """Add so much to every sync, from the next one on; one under way is not kept any longer."""
        self._delay_ns = delay_ns
        self._added_ns = min(self._added_ns, delay_ns)

    def take(self, persist: Persist) -> bool:
        """Take a record; whether a sync has to be started for it."""
        self._waiting.append(persist)
        return not self.syncing

    def start_sync(self, now_ns: int) -> bool:
        """Start syncing all that waits; whether anything does."""
        if not self._waiting:
            return False
        self.syncing, self._waiting = self._waiting, []
        weather, draws = self._weather, self._draws
        took_ns = draws.between(weather.sync_min_ns, weather.sync_max_ns)
        if draws.chance(weather.stall_ppm):
            took_ns += draws.between(0, weather.stall_max_ns)
        self._through_ns = now_ns + took_ns
        self._added_ns = self._delay_ns
        return True

    def end_sync(self) -> int:
        """Make the batch durable; return its last persist."""
        for persist in self.syncing:
            self._kept.take(persist.hard, persist.entries, persist.snapshot)
        seq = self.syncing[-1].seq
        self.syncing = []
        return seq

    def crash(self) -> None:
        """Lose what was not synced, but for what a torn write leaves."""
        kept = self._kept.restored(self.boot)
        synced = Record(kept.boot, kept.hard, kept.entries, kept.snapshot)
        self.at_rest = bytearray(MAGIC + encode(synced) + self._torn())
        self.syncing, self._waiting = [], []
        self._delay_ns = 0

    def _torn(self) -> bytes:
        if not (self.syncing and self._weather.torn):
            return b""
        record = encode(merge(self.syncing))
        match Left(self._draws.between(Left.NOTHING, Left.ALL)):
            case Left.NOTHING:
                return b""
            case Left.BEGINNING:
                return record[: self._draws.between(1, len(record) - 1)]
            case Left.ALL:
                return record

    def start_boot(self) -> Restored:
        """Count a boot and return what it finds; raise `targets.leasekv.wal.Damaged`."""
        found = scan(bytes(self.at_rest), name="the log").restored
        self.boot = found.boot + 1
        self._kept = Kept()
        self._kept.take(found.hard, found.entries, found.snapshot)
        return self._kept.restored(self.boot)
