"""The proof as a picture: its operations above, what every node believed beneath, one time axis.

::

    the proof     p18 write 94        |-|
                  p7 read -> 89                    |-|     <- 596.7 ms ->
    n1            leads          [==== term 2 ==========]
                  lease          [#################::::]     sure, and believed
                  promised       [ silence to ... ]
                  faults         [//// cut ////////]
                  operations     . . | . ||. . . | . .

A node's rows are those that have something in them. Shapes differ by form, hatching and label, not by
colour alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.report.bands import DOWN, LEADS, LEASE, PROMISE
from harness.report.rows import rows_of

from .faults import stripes_of
from .operations import context_bars, proof_bars
from .shapes import GAP, ROW, Bar, Figure, Gap, Jump, Label, Tick, at, ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.report.bands import Band
    from harness.report.load import RunData
    from harness.report.marks import Mark

BANDS_MAX: Final = 300
MARKS_MAX: Final = 400
JUMPS_MAX: Final = 10
_PROMISE_ROWS: Final = 2
_SIGNS: Final = frozenset({"vote", "refused", "revoke", "boot", "anomaly", "transfer"})
_ROWS: Final = ((LEADS, "leads"), (LEASE, "lease"), (PROMISE, "promised"), (DOWN, "down"))


class Sheet:
    """A figure under way: shapes so far, and how far down it has come."""

    def __init__(self) -> None:
        self.y = GAP
        self.labels: list[Label] = []
        self.bars: list[Bar] = []
        self.ticks: list[Tick] = []

    def row(self, text: str, *, height: int = ROW, head: bool = False) -> int:
        """Begin a row; return its top."""
        top = self.y
        self.labels.append(Label(top, text, head))
        self.y += height + 2
        return top

    def space(self) -> None:
        """Leave room before the next group."""
        self.y += GAP


def figure_of(run: RunData) -> Figure:
    """Lay the whole figure out."""
    sheet = Sheet()
    focus = run.focus
    gaps: list[Gap] = []
    guides: list[int] = []
    if focus.operations:
        gaps, guides = _proof(sheet, run)
        sheet.space()
    for node in run.nodes:
        _node(sheet, run, node)
        sheet.space()
    span_ns = (0, max(run.end_ns, 2))
    view_ns = focus.view_ns or span_ns
    return Figure(
        view_ns=view_ns,
        span_ns=(min(0, view_ns[0]), max(span_ns[1], view_ns[1])),
        height=sheet.y,
        labels=tuple(sheet.labels),
        bars=tuple(sheet.bars),
        ticks=tuple(sheet.ticks),
        stripes=stripes_of(run.faults, run.end_ns, height=sheet.y),
        gaps=tuple(gaps),
        guides=tuple(guides),
        jumps=tuple(_jumps(run))[:JUMPS_MAX],
        filters=_filters(run),
        kept_ns=_kept(run) or view_ns,
    )


def _proof(sheet: Sheet, run: RunData) -> tuple[list[Gap], list[int]]:
    proof = run.focus.proof
    read, newer = (None, None) if proof is None else (proof.read, proof.newer)
    sheet.row("the proof", head=True, height=0)
    tops: dict[int, int] = {}
    for bar, operation in proof_bars(run.focus.operations, read=read, newer=newer, end_ns=run.end_ns):
        top = sheet.row(
            f"p{operation.process}"
            if not operation.node
            else f"p{operation.process} at {operation.node}"
        )
        tops[operation.index] = top
        sheet.bars.append(bar(top))
    if read is None or newer is None or newer.return_ns is None or newer.return_ns >= read.call_ns:
        return [], []
    gap = Gap(
        start_ns=newer.return_ns,
        end_ns=read.call_ns,
        y=sheet.row("") + ROW // 2,
        text=f"{ms(read.call_ns - newer.return_ns)} too late",
    )
    return [gap], [newer.return_ns, read.call_ns]


def _node(sheet: Sheet, run: RunData, node: str) -> None:
    sheet.row(node, head=True, height=0)
    for kind, name in _ROWS:
        mine = _few([band for band in run.bands if band.node == node and band.kind == kind])
        marks = (
            _few_marks([m for m in run.marks if m.node == node and m.kind in _SIGNS])
            if kind == PROMISE
            else []
        )
        if not mine and not marks:
            continue
        places = rows_of(((b.start_ns, b.end_ns) for b in mine), rows_max=_PROMISE_ROWS)
        rows = max(places, default=0) + 1
        height = ROW if rows == 1 else rows * (ROW - 4)
        top = sheet.row(name, height=height)
        for band, place in zip(mine, places, strict=True):
            each = height // rows
            sheet.bars.extend(_band(band, top + place * each, each - (rows > 1)))
        sheet.ticks.extend(_tick(mark, top + height // 2) for mark in marks)
    faults = [bar for bar in stripes_of(run.faults, run.end_ns, height=0) if node in bar.tags.split(" ")]
    if faults:
        places = rows_of(((b.start_ns, b.end_ns) for b in faults), rows_max=3)
        each = ROW - 5
        top = sheet.row("faults", height=each * (max(places) + 1))
        for bar, place in zip(faults, places, strict=True):
            sheet.bars.append(
                Bar(
                    start_ns=bar.start_ns,
                    end_ns=bar.end_ns,
                    y=top + place * each,
                    height=each - 1,
                    kind="fault",
                    label=bar.label,
                    tip=bar.tip,
                )
            )
    rows, bars = context_bars(run, node)
    if bars:
        top = sheet.row("operations", height=rows * 7)
        sheet.bars.extend(bar(top) for bar in bars)


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
    left = "" if mark.left_ns is None else f"; its own promise had {ms(mark.left_ns)} to run"
    kind = "vote-bound" if mark.left_ns is not None else mark.kind
    return Tick(at_ns=mark.at_ns, y=y, kind=kind, tip=f"{at(mark.at_ns)}: {mark.node} {mark.text}{left}")


def _few(bands: Sequence[Band]) -> Sequence[Band]:
    """Return the longest bands, if there are too many to draw."""
    if len(bands) <= BANDS_MAX:
        return bands
    longest = sorted(bands, key=lambda band: band.start_ns - band.end_ns)[:BANDS_MAX]
    return sorted(longest, key=lambda band: band.start_ns)


def _few_marks(marks: Sequence[Mark]) -> Iterable[Mark]:
    """Return every so many-th mark, votes first, if there are too many to draw."""
    if len(marks) <= MARKS_MAX:
        return marks
    return sorted(marks, key=lambda mark: mark.kind != "vote")[:MARKS_MAX]


def _jumps(run: RunData) -> Iterator[Jump]:
    if run.focus.view_ns is not None:
        yield Jump(run.focus.about, *run.focus.view_ns)
    pad_ns = run.election_ns
    leads = sorted((b for b in run.bands if b.kind == LEADS), key=lambda band: band.start_ns)
    for lead in leads[1:]:
        yield Jump(f"{lead.node}, {lead.text}", max(0, lead.start_ns - pad_ns), lead.start_ns + pad_ns)


def _kept(run: RunData) -> tuple[int, int] | None:
    kept = run.skimmed.kept
    return (min(each.call_ns for each in kept), max(each.call_ns for each in kept)) if kept else None


def _filters(run: RunData) -> tuple[tuple[str, str], ...]:
    paths = sorted({each.path for each in run.skimmed.kept})[:12]
    return tuple((f"path-{n}", path) for n, path in enumerate(paths))
