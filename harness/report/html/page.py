"""Everything a report shows, in the order in which it is read: pure, from what was loaded.

First the answer: the outcome, a headline, the sentence of the judge, and cards. Then the figure and what
happened, in order. Then the whole run: charts, tables, and the summary that a terminal shows. Text in
here is raw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from checker.operations import Operation
from checker.values import shorten, show
from harness.outcome import Outcome
from harness.report.bands import LEADS
from harness.report.claims import fully_exercised, units
from harness.report.rules import rule_lines
from harness.report.saved import view_of
from harness.report.summary import Section, summary
from harness.report.tally import Spent
from harness.report.title import title_of
from harness.report.tone import NO_VERDICT, Tone, of_outcome, sign_of
from harness.report.view import RuleLine

from .cards import Card, cards_of
from .charts import Chart, charts_of
from .faults import FaultRow, rows_of_faults
from .figure import figure_of
from .shapes import Figure, ms
from .story import Step, story_of

if TYPE_CHECKING:
    from harness.report.load import RunData
    from harness.report.saved import Told

ROWS_MAX: Final = 200


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """One leadership; times from the origin."""

    term: int
    node: str
    start_ns: int
    end_ns: int


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report."""

    name: str
    title: str
    word: str
    sign: str
    tone: Tone
    meaning: str
    believed: bool
    check: str
    headline: str
    sentence: str
    cards: tuple[Card, ...]
    about: str
    figure: Figure
    operations: tuple[Operation, ...]
    offender: int | None
    newer: int | None
    story: tuple[Step, ...]
    rules: tuple[RuleLine, ...]
    charts: tuple[Chart, ...]
    spent: tuple[Spent, ...]
    leaders: tuple[Leader, ...]
    faults: tuple[FaultRow, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    replay: str
    shown: int
    touching: int

    def cut(self, rows_max: int) -> Page:
        """Return a page of which every list has so many entries at most, and says so."""
        note = f"this report shows {rows_max} entries of each list: all of them were too many"
        figure = self.figure
        return replace(
            self,
            cards=tuple(replace(card, more=card.more[:rows_max]) for card in self.cards[:rows_max]),
            figure=replace(
                figure,
                labels=figure.labels[:rows_max],
                bars=figure.bars[: 10 * rows_max],
                ticks=figure.ticks[: 10 * rows_max],
                stripes=figure.stripes[:rows_max],
            ),
            operations=self.operations[:rows_max],
            story=self.story[:rows_max],
            rules=tuple(replace(rule, around=rule.around[:6]) for rule in self.rules[:rows_max]),
            leaders=self.leaders[:rows_max],
            faults=self.faults[:rows_max],
            sections=tuple(replace(each, rows=each.rows[:rows_max]) for each in self.sections),
            notes=(note, *self.notes[:rows_max]),
        )


def page_of(run: RunData) -> Page:
    """Lay a run out as a page."""
    said = run.said
    focus = run.focus
    title = run.name if run.plan is None else title_of(run.plan)
    leads = sorted((b for b in run.bands if b.kind == LEADS), key=lambda band: band.start_ns)
    return Page(
        name=run.name,
        title=title,
        word=NO_VERDICT if said is None else said.outcome.words,
        sign=sign_of(NO_VERDICT if said is None else said.outcome),
        tone=of_outcome(NO_VERDICT if said is None else said.outcome),
        meaning=_meaning(said),
        believed=run.believed,
        check=run.check,
        headline=_headline(run),
        sentence=_sentence(said),
        cards=tuple(cards_of(run)),
        about=focus.about,
        figure=figure_of(run),
        operations=focus.operations[:ROWS_MAX],
        offender=None if focus.offender is None else focus.offender.index,
        newer=None if focus.newer is None else focus.newer.index,
        story=story_of(run),
        rules=() if said is None else rule_lines(said.convictions)[:ROWS_MAX],
        charts=charts_of(run),
        spent=run.skimmed.tally.spent(),
        leaders=tuple(
            Leader(term=lead.term or 0, node=lead.node, start_ns=lead.start_ns, end_ns=lead.end_ns)
            for lead in leads[:ROWS_MAX]
        ),
        faults=tuple(rows_of_faults(run.faults))[:ROWS_MAX],
        sections=_sections(run, title),
        notes=run.notes,
        replay="" if said is None else said.replay,
        shown=len(run.skimmed.kept),
        touching=run.skimmed.touching,
    )


def _meaning(said: Told | None) -> str:
    if said is None:
        return "this run left none that can be read; `lantern check` judges it as far as it went"
    return said.outcome.meaning_where(exercised=fully_exercised(said.exercised, said.notes))


def _headline(run: RunData) -> str:
    """Return the answer in one line a stranger understands."""
    said, proof = run.said, run.focus.proof
    found = said.violation if said is not None else None
    read, newer = run.focus.offender, run.focus.newer
    if proof is not None and read is not None and newer is not None and proof.stale_ns is not None:
        value = shorten(show(read.value), 40)
        key = "" if read.key is None else f" for key {shorten(show(read.key), 40)}"
        where = f"{newer.node} had " if newer.node else "the cluster had "
        ended = "answered" if newer.f == "read" else "acknowledged"
        return (
            f"{read.node or 'A node'} answered {value}{key}, {ms(proof.stale_ns)} after {where}{ended}"
            f" {shorten(str(newer), 60)}"
        )
    if found is not None:
        return _begun(found.sentence)
    if said is not None and said.outcome is Outcome.PASS and said.operations is not None:
        keys = f" on {len(said.keys)} key{'s' * (len(said.keys) != 1)}" if said.keys else ""
        return f"No wrong answer among {said.operations} operations{keys}"
    if said is None or said.reason is None:
        return _meaning(said)
    return _begun(said.reason.removeprefix(f"{said.outcome}: "))


def _begun(sentence: str) -> str:
    """Return a sentence as one begins."""
    return sentence[:1].upper() + sentence[1:]


def _sentence(said: Told | None) -> str:
    if said is None:
        return ""
    return said.violation.sentence if said.violation is not None else said.reason or ""


def _sections(run: RunData, title: str) -> tuple[Section, ...]:
    """Return the terminal's summary, without what the page has shown by then."""
    if run.said is None:
        return ()
    unit = (
        {}
        if run.plan is None or run.said.exercised is None
        else units(run.said.exercised, run.plan.clock)
    )
    view = view_of(run.said, title=title, units=unit, directory=run.directory)
    return tuple(each for each in summary(view) if each.heading not in {"verdict", "proof", "files"})
