"""A node's rows: what it led, believed, promised and voted, its faults, and what it was asked.

Locks have rows of the same kind: who held one, and which tokens the storage took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.values import shorten, show
from harness.report.bands import DOWN, LEADS, LEASE, PROMISE
from harness.report.locks import HELD
from harness.report.rows import rows_of

from .faults import stripes_of
from .operations import context_bars
from .shapes import ROW, Bar, Tick, at, ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.report.bands import Band
    from harness.report.load import RunData
    from harness.report.marks import Mark

    from .sheet import Sheet

BANDS_MAX: Final = 300
MARKS_MAX: Final = 300
LOCKS_MAX: Final = 2
_NARROW: Final = ROW - 5
_SIGNS: Final = frozenset({"vote", "token", "refused", "revoke", "boot", "anomaly", "transfer"})
_ROWS: Final = ((LEADS, "leads", 1), (LEASE, "lease", 1), (PROMISE, "promised", 2), (DOWN, "down", 1))


def draw_node(sheet: Sheet, run: RunData, node: str) -> None:
    """Draw what there is of a node."""
    sheet.head(node)
    marks = [mark for mark in run.marks if mark.node == node and mark.kind in _SIGNS]
    for kind, name, rows_max in _ROWS:
        mine = [band for band in run.bands if band.node == node and band.kind == kind]
        _bands(sheet, name, mine, marks if kind == PROMISE else [], rows_max=rows_max)
    faults = [bar for bar in stripes_of(run.faults, run.end_ns, height=0) if node in bar.tags.split(" ")]
    if faults:
        places = rows_of(((bar.start_ns, bar.end_ns) for bar in faults), rows_max=3)
        top = sheet.row("faults", height=_NARROW * (max(places) + 1))
        for bar, place in zip(faults, places, strict=True):
            sheet.bars.append(bar.at(top + place * _NARROW, kind="fault", height=_NARROW - 1))
    rows, bars = context_bars(run, node)
    if bars:
        top = sheet.row("operations", height=max(rows * 7, _NARROW))
        sheet.bars.extend(bar(top) for bar in bars)


def draw_locks(sheet: Sheet, run: RunData) -> None:
    """Draw the locks that the proof is about, or else the first ones."""
    bands, marks = run.locks
    names = [shorten(show(each.key), 40) for each in run.focus.operations]
    names = names or [band.node for band in bands] + [mark.node for mark in marks]
    for name in [*dict.fromkeys(names)][:LOCKS_MAX] if bands or marks else ():
        sheet.head(f"lock {name}")
        held = [band for band in bands if band.node == name and band.kind == HELD]
        _bands(sheet, "held", held, [], rows_max=2)
        _bands(sheet, "storage", [], [mark for mark in marks if mark.node == name], rows_max=1)


def _bands(
    sheet: Sheet, name: str, bands: Sequence[Band], marks: Sequence[Mark], *, rows_max: int
) -> None:
    """Draw bands, with marks upon them, as one row; none if there are none."""
    if not bands and not marks:
        return
    bands = _few(bands)
    places = rows_of(((band.start_ns, band.end_ns) for band in bands), rows_max=rows_max)
    rows = max(places, default=0) + 1
    each = ROW if rows == 1 else ROW - 4
    top = sheet.row(name, height=each * rows)
    for band, place in zip(bands, places, strict=True):
        sheet.bars.extend(_band(band, top + place * each, each - (rows > 1)))
    sheet.ticks.extend(_tick(mark, top + each * rows // 2) for mark in _few_marks(marks))


def _band(band: Band, top: int, height: int) -> Iterator[Bar]:
    when = f"{at(band.start_ns)} to {at(band.end_ns)} ({ms(band.end_ns - band.start_ns)})"
    tip = f"{band.node}: {band.text}, {when}"
    if band.sure_ns is not None and band.sure_ns < band.end_ns:
        yield Bar(
            start_ns=band.sure_ns,
            end_ns=band.end_ns,
            y=top,
            height=height,
            kind="lease-tail",
            tip=f"{tip}; not used any more after {at(band.sure_ns)}",
        )
    end_ns = band.end_ns if band.sure_ns is None else max(band.sure_ns, band.start_ns)
    yield Bar(
        start_ns=band.start_ns,
        end_ns=end_ns,
        y=top,
        height=height,
        kind=band.kind,
        label=band.text,
        tip=tip,
    )


def _tick(mark: Mark, y: int) -> Tick:
    left = "" if mark.left_ns is None else f"; its promise of silence had {ms(mark.left_ns)} to run"
    kind = "vote-bound" if mark.left_ns is not None else mark.kind
    return Tick(at_ns=mark.at_ns, y=y, kind=kind, tip=f"{at(mark.at_ns)}: {mark.node} {mark.text}{left}")


def _few(bands: Sequence[Band]) -> Sequence[Band]:
    """Return the longest bands, if there are too many to draw."""
    if len(bands) <= BANDS_MAX:
        return bands
    longest = sorted(bands, key=lambda band: band.start_ns - band.end_ns)[:BANDS_MAX]
    return sorted(longest, key=lambda band: band.start_ns)


def _few_marks(marks: Sequence[Mark]) -> Sequence[Mark]:
    """Return so many marks, those that matter most, if there are too many to draw."""
    if len(marks) <= MARKS_MAX:
        return marks
    return sorted(marks, key=lambda mark: mark.kind not in {"vote", "fell"})[:MARKS_MAX]
