"""Timestamps of writes held against the time that their nodes knew (T3; T1 and T2 beside it).

Kept, a write's timestamp is no earlier than the latest that it can be when the entry is appended, and a
client hears of it once that is certainly past: before the earliest that it can be by then. Both spans
are recounted from the time service's words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from checker.evidence import Appended, Dated, Fact
from checker.timeline import ms

from .said import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.timeline import Timelines

    from .incident import Incident
    from .spans import Span, Spans


class _Known(NamedTuple):
    """One fact that an incident is about: when it was written, in words, and what the time was then."""

    at: str
    fact: Fact
    span: Span | None


def date_breaches(timelines: Timelines, incident: Incident, spans: Mapping[str, Spans]) -> list[Breach]:
    """Return the first that is wrong with the timestamps that an incident is about."""
    timeline = timelines[incident.node]
    known = [
        _Known(
            timelines.at(timeline.before_ns[place]),
            timeline.lines[place].what,
            spans[incident.node].at(place),
        )
        for place in incident.dated
    ]
    return [*_told_too_soon(incident.node, known), *_dated_too_early(incident.node, known)][:1]


def _told_too_soon(node: str, known: Sequence[_Known]) -> Iterator[Breach]:
    for at, fact, span in known:
        if not isinstance(fact, Dated) or (span is not None and fact.stamp_ns < span.earliest_ns):
            continue
        ahead = "" if span is None else f" {ms(fact.stamp_ns - span.earliest_ns)}"
        yield Breach(
            rules=("T3",),
            node=node,
            term=fact.term,
            sentence=f"{node} told a client of the write at index {fact.index} {at} into the run,{ahead}"
            " before its timestamp was certainly past",
            looks_like=("no-commit-wait",),
        )


def _dated_too_early(node: str, known: Sequence[_Known]) -> Iterator[Breach]:
    for at, fact, span in known:
        if not isinstance(fact, Appended) or span is None or fact.latest_ns >= span.latest_ns:
            continue
        ends = {span.earliest_ns: ("T1",), span.ungrown_latest_ns: ("T2",)}
        yield Breach(
            rules=ends.get(fact.latest_ns, ("T1", "T2")),
            node=node,
            term=fact.term,
            sentence=f"{node} dated the entry at index {fact.index} {at} into the run,"
            f" {ms(span.latest_ns - fact.latest_ns)} before the latest that it could be",
        )
