"""What a disk holds of a node: the rule by which later records overrule earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ports import HardState, Restored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .messages import Entry, Snapshot


class Kept:
    """The state that the records so far leave behind."""

    __slots__ = ("_entries", "_hard", "_snapshot")

    def __init__(self) -> None:
        self._hard = HardState()
        self._snapshot: Snapshot | None = None
        self._entries: list[Entry] = []

    def take(
        self, hard: HardState | None, entries: Sequence[Entry], snapshot: Snapshot | None = None
    ) -> None:
        """Take one record; raise ``ValueError`` if its entries leave a gap behind what is there."""
        self._hard = hard or self._hard
        if snapshot is not None:
            self._snapshot = snapshot
            self._entries.clear()
        if not entries:
            return
        offset = 0 if self._snapshot is None else self._snapshot.index
        first, end = entries[0].index, offset + len(self._entries)
        if not offset < first <= end + 1:
            raise ValueError(f"entry {first} after entry {end}")
        del self._entries[first - offset - 1 :]
        self._entries.extend(entries)

    def restored(self, boot: int) -> Restored:
        """Return what a boot with that number finds."""
        return Restored(boot, self._hard, tuple(self._entries), self._snapshot)
