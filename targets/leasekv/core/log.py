"""The log, in memory: entries, how far they are on disk, and where two logs part.

A plain list with an offset, never copied: what lies at or before the offset was applied, is part of a
snapshot, and is gone from here. Indexes start at 1; index 0 stands for "before the log" and has term 0.

Durability. Entries are appended at once and become durable later, in the order they were handed to
the disk. ``durable_index`` is the longest prefix of *this* log the disk holds, in whatever form: an
overwritten tail takes it back at once, although the disk still holds the old entries.

Stamps. ``stamped_ns`` is the latest that any entry ever seen here can have been appended, those that
were overwritten and compacted included; None if none was stamped.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from targets.leasekv.messages import Entry, Snapshot


class Log:
    """Entries ``offset + 1`` to ``last_index``."""

    __slots__ = (
        "_entries", "_writing", "durable_index", "last_index", "last_term", "offset", "offset_term",
        "stamped_ns",
    )  # fmt: skip

    def __init__(self, entries: Iterable[Entry], snapshot: Snapshot | None = None) -> None:
        self._entries = list(entries)
        self.offset = self.offset_term = 0
        self.stamped_ns: int | None = None
        if snapshot is not None:
            self.offset, self.offset_term = snapshot.index, snapshot.term
            self.stamped_ns = snapshot.stamped_ns
        self.last_index = self.offset + len(self._entries)
        self.last_term = self._entries[-1].term if self._entries else self.offset_term
        self.durable_index = self.last_index
        self._writing: deque[tuple[int, int, int]] = deque()
        for index, entry in enumerate(self._entries, start=self.offset + 1):
            if entry.index != index:
                raise ValueError(f"restored entry number {index} says it is {entry.index}")
            self._note_stamp(entry)

    def _note_stamp(self, entry: Entry) -> None:
        if entry.latest_ns is not None and entry.latest_ns > (self.stamped_ns or 0):
            self.stamped_ns = entry.latest_ns

    def entry(self, index: int) -> Entry:
        """Return the entry at ``index``, which must be there."""
        return self._entries[index - self.offset - 1]

    def term_at(self, index: int) -> int | None:
        """Return the term of the entry at ``index``, from the offset on; None beyond the end."""
        if index == self.last_index:
            return self.last_term
        if index > self.last_index:
            return None
        if index == self.offset:
            return self.offset_term
        assert index > self.offset, "nobody asks for what was compacted away"
        return self._entries[index - self.offset - 1].term

    def slice(self, first: int, count_max: int) -> tuple[Entry, ...]:
        """Return at most ``count_max`` entries from ``first`` on."""
        start = first - self.offset - 1
        return tuple(self._entries[start : start + count_max])

    def append(self, entry: Entry) -> None:
        """Put ``entry`` behind the last one."""
        assert entry.index == self.last_index + 1, "a log has no gaps"
        assert entry.term >= self.last_term, "terms never fall along a log"
        self._entries.append(entry)
        self._note_stamp(entry)
        self.last_index = entry.index
        self.last_term = entry.term

    def merge(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Take over a leader's entries, which follow on an agreed one; return those that were news.

        Entries already here are left alone: a late, shorter message must not cut off what a newer
        one brought. Only a conflicting term cuts the tail.
        """
        for position, entry in enumerate(entries):
            mine = self.term_at(entry.index)
            if mine == entry.term:
                continue
            if mine is not None:
                self._cut(entry.index)
            news = entries[position:]
            for new in news:
                self.append(new)
            return news
        return ()

    def _cut(self, first: int) -> None:
        del self._entries[first - self.offset - 1 :]
        self.last_index = first - 1
        self.last_term = self._entries[-1].term if self._entries else self.offset_term
        self.durable_index = min(self.durable_index, first - 1)

    def after(self, index: int) -> tuple[Entry, ...]:
        """Return every entry behind ``index``."""
        return tuple(self._entries[index - self.offset :])

    def compact(self, index: int) -> None:
        """Let go of what lies up to ``index``, all of it being part of a snapshot."""
        if index <= self.offset:
            return
        term = self.term_at(index)
        assert term is not None, "a snapshot holds what was applied"
        del self._entries[: index - self.offset]
        self.offset, self.offset_term = index, term

    def restart_after(self, snapshot: Snapshot, *, agreed: int) -> None:
        """Drop it all for a leader's snapshot; up to ``agreed`` it was the same."""
        self._entries.clear()
        if snapshot.stamped_ns is not None:
            self.stamped_ns = max(snapshot.stamped_ns, self.stamped_ns or 0)
        self.offset = self.last_index = snapshot.index
        self.offset_term = self.last_term = snapshot.term
        self.durable_index = min(self.durable_index, agreed)

    def conflict_before(self, index: int) -> int:
        """Return where a leader should look next for agreement, its entry at ``index`` being wrong.

        The first entry of the conflicting term: the whole term is skipped in one exchange.
        """
        if index > self.last_index:
            return self.last_index + 1
        term = self.term_at(index)
        while index > self.offset + 1 and self.term_at(index - 1) == term:
            index -= 1
        return index

    def writing(self, seq: int, first: int, last: int) -> None:
        """Note that entries ``first`` to ``last`` went to the disk under persist ``seq``."""
        self._writing.append((seq, first, last))

    def persisted(self, seq: int) -> None:
        """Note that everything up to persist ``seq`` is durable."""
        written = self._writing
        durable = self.durable_index
        while written and written[0][0] <= seq:
            durable = written.popleft()[2]
        for _, first, _ in written:
            durable = min(durable, first - 1)
        self.durable_index = durable

    def as_good_as(self, last_index: int, last_term: int) -> bool:
        """Tell whether a candidate's log, ending like that, is at least as up to date as this one."""
        return (last_term, last_index) >= (self.last_term, self.last_index)
