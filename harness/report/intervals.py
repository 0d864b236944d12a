"""Operations drawn as intervals, one a line, on one axis of time.

::

    write 7 at n2      |-------|
    read -> 7 at n3               |--|
    read -> 5 at n1                     |-----|

What matters is what came before what, so the drawing keeps the *order* of all ends and starts exactly,
and lengths only roughly: every distinct stamp gets columns of its own, and what room is left is shared
out by duration. A pure proportional axis would draw a read of 0.2 ms and the write before it in one
column whenever some other operation stayed open for seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .escape import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .view import Interval

LABEL_CHARS_MAX: Final = 40
_STEP: Final = 3


def draw(intervals: Sequence[Interval], *, width: int) -> tuple[str, ...]:
    """Return one line an interval, in order of their starts, at most ``width`` columns wide."""
    if not intervals:
        return ()
    ordered = sorted(intervals, key=lambda interval: interval.start_ns)
    labels = [plain(interval.label, chars_max=LABEL_CHARS_MAX) for interval in ordered]
    room = max(map(len, labels)) + 2
    column = _columns(ordered, columns=width - room - 1)
    last = max(column.values()) + 1
    lines = []
    for interval, label in zip(ordered, labels, strict=True):
        start = column[interval.start_ns]
        end = last if interval.end_ns is None else column[interval.end_ns]
        tail = ">" if interval.end_ns is None else "|"
        bar = "|" if start == end else f"|{'-' * (end - start - 1)}{tail}"
        lines.append(f"{label:<{room}}{' ' * start}{bar}")
    return tuple(lines)


def _columns(intervals: Sequence[Interval], *, columns: int) -> dict[int, int]:
    """Map every stamp to its column: order exactly, distance roughly."""
    ends = [interval.end_ns for interval in intervals if interval.end_ns is not None]
    stamps = sorted({*(interval.start_ns for interval in intervals), *ends})
    step = max(1, min(_STEP, columns // len(stamps)))
    spare = max(columns - step * len(stamps), 0)
    span = max(stamps[-1] - stamps[0], 1)
    return {
        stamp: step * place + spare * (stamp - stamps[0]) // span for place, stamp in enumerate(stamps)
    }
