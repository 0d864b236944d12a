"""The proof as a picture: its operations above, what every node believed beneath, one time axis.

::

    the proof     p18 write 94        |-|
                  p7 read -> 89                    |-|     <- 596.7 ms ->
    n1            leads          [==== term 2 ==========]
                  lease          [#################::::]     used, and believed in
                  promised       [ silence to ... ]
                  faults         [//// cut ////////]
                  operations     . . | . ||. . . | . .

What an oracle found stands with the proof, locks between proof and nodes. Shapes differ by form,
hatching and label, not by colour alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.oracles.result import violations
from harness.report.bands import LEADS
from harness.report.rows import rows_of

from .faults import stripes_of
from .nodes import draw_locks, draw_node
from .operations import proof_bars
from .shapes import ROW, Bar, Figure, Gap, Jump, ms
from .sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.report.load import RunData

JUMPS_MAX: Final = 24
FINDINGS_MAX: Final = 20
_FOUND: Final = {"lease-overlap": "two leases at once", "timestamps": "timestamps out of order"}


def figure_of(run: RunData) -> Figure:
    """Lay the whole figure out."""
    sheet = Sheet()
    gaps: list[Gap] = []
    found = list(_findings(run))
    if run.focus.operations or found:
        sheet.head(run.focus.about)
    if run.focus.operations:
        gaps = _proof(sheet, run)
    if found:
        _draw_findings(sheet, found)
    draw_locks(sheet, run)
    for node in run.nodes:
        draw_node(sheet, run, node)
    view_ns = run.focus.view_ns or (0, max(run.end_ns, 2))
    return Figure(
        view_ns=view_ns,
        span_ns=(0, max(run.end_ns, view_ns[1])),
        height=sheet.y,
        labels=tuple(sheet.labels),
        bars=tuple(sheet.bars),
        ticks=tuple(sheet.ticks),
        stripes=stripes_of(run.faults, run.end_ns, height=sheet.y),
        gaps=tuple(gaps),
        guides=tuple(at_ns for gap in gaps for at_ns in (gap.start_ns, gap.end_ns)),
        jumps=tuple(_jumps(run))[:JUMPS_MAX],
        filters=tuple((f"path-{n}", path) for n, path in enumerate(run.paths)),
        kept_ns=_kept(run) or view_ns,
    )


def _proof(sheet: Sheet, run: RunData) -> list[Gap]:
    focus = run.focus
    for bar, operation in proof_bars(focus, end_ns=run.end_ns):
        at = f" at {operation.node}" if operation.node else ""
        sheet.bars.append(bar(sheet.row(f"p{operation.process}{at}")))
    late, newer = focus.offender, focus.newer
    if late is None or newer is None or newer.return_ns is None or newer.return_ns >= late.call_ns:
        return []
    text = f"{ms(late.call_ns - newer.return_ns)} later"
    top = sheet.row("", height=ROW + 4)
    return [Gap(start_ns=newer.return_ns, end_ns=late.call_ns, y=top + ROW // 2 + 4, text=text)]


def _findings(run: RunData) -> Iterator[tuple[str, Bar]]:
    """Yield what oracles prove of a stretch of time, with the oracle's name."""
    if run.said is None:
        return
    origin_ns = run.timelines.origin_ns if run.timelines is not None else 0
    for each in violations(run.said.oracles.values()):
        if each.name not in _FOUND:
            continue
        for finding in each.findings[:FINDINGS_MAX]:
            if finding.during_ns is None or finding.during_ns[0] >= finding.during_ns[1]:
                continue
            start_ns, end_ns = (at_ns - origin_ns for at_ns in finding.during_ns)
            who = " and ".join(finding.nodes)
            label = f"{_FOUND[each.name]}: {who}"
            yield (
                each.name,
                Bar(
                    start_ns=start_ns,
                    end_ns=end_ns,
                    y=0,
                    height=ROW - 4,
                    kind="finding",
                    label=label,
                    tip=finding.sentence,
                ),
            )


def _draw_findings(sheet: Sheet, found: list[tuple[str, Bar]]) -> None:
    for name in dict.fromkeys(name for name, _ in found):
        bars = [bar for each, bar in found if each == name]
        places = rows_of(((bar.start_ns, bar.end_ns) for bar in bars), rows_max=2)
        top = sheet.row("found", height=ROW * (max(places) + 1) - 2)
        for bar, place in zip(bars, places, strict=True):
            sheet.bars.append(bar.at(top + place * ROW))


def _jumps(run: RunData) -> Iterator[Jump]:
    if run.focus.view_ns is not None:
        yield Jump(run.focus.about, *run.focus.view_ns)
    pad_ns = run.election_ns
    for _, bar in _findings(run):
        yield Jump(bar.label, max(0, bar.start_ns - pad_ns // 4), bar.end_ns + pad_ns // 4)
    leads = sorted((b for b in run.bands if b.kind == LEADS), key=lambda band: band.start_ns)
    for lead in leads[1:]:
        yield Jump(
            f"{lead.node} leads, {lead.text}", max(0, lead.start_ns - pad_ns), lead.start_ns + pad_ns
        )


def _kept(run: RunData) -> tuple[int, int] | None:
    kept = run.skimmed.kept
    return (min(each.call_ns for each in kept), max(each.call_ns for each in kept)) if kept else None
