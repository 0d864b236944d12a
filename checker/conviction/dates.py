"""Timestamps of writes held against the time that their nodes knew (T3; T1 and T2 beside it).

Kept, a write's timestamp is no earlier than the latest that it can be when the entry is appended, and a
client hears of it once that is certainly past: before the earliest that it can be by then. Both spans
are recounted from the time service's words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Appended, Dated
from checker.timeline import ms

from .said import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from checker.timeline import Timelines

    from .incident import Incident
    from .spans import Spans


def date_breaches(
    timelines: Timelines, incident: Incident, spans: Mapping[str, Spans]
) -> Iterator[Breach]:
    """Yield what is wrong with the timestamps that an incident is about, the first of each node."""
    told = list(_told_too_soon(timelines, incident, spans))
    yield from told or _dated_too_early(timelines, incident, spans)


def _told_too_soon(
    timelines: Timelines, incident: Incident, spans: Mapping[str, Spans]
) -> Iterator[Breach]:
    timeline = timelines[incident.node]
    for place in incident.dated:
        fact = timeline.lines[place].what
        span = spans[incident.node].at(place)
        if not isinstance(fact, Dated) or (span is not None and fact.stamp_ns < span.earliest_ns):
            continue
        ahead = "" if span is None else f" {ms(fact.stamp_ns - span.earliest_ns)}"
        yield Breach(
            rules=("T3",),
            node=incident.node,
            term=fact.term,
            sentence=f"{incident.node} told a client of the write at index {fact.index}"
            f" {timelines.at(timeline.before_ns[place])} into the run,{ahead} before its timestamp was"
            " certainly past",
            looks_like=("no-commit-wait",),
        )
        return


def _dated_too_early(
    timelines: Timelines, incident: Incident, spans: Mapping[str, Spans]
) -> Iterator[Breach]:
    timeline = timelines[incident.node]
    for place in incident.dated:
        fact = timeline.lines[place].what
        span = spans[incident.node].at(place)
        if not isinstance(fact, Appended) or span is None or fact.latest_ns >= span.latest_ns:
            continue
        ends = {span.earliest_ns: ("T1",), span.ungrown_latest_ns: ("T2",)}
        yield Breach(
            rules=ends.get(fact.latest_ns, ("T1", "T2")),
            node=incident.node,
            term=fact.term,
            sentence=f"{incident.node} dated the entry at index {fact.index}"
            f" {timelines.at(timeline.before_ns[place])} into the run,"
            f" {ms(span.latest_ns - fact.latest_ns)} before the latest that it could be",
        )
        return
