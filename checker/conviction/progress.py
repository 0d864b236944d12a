"""A leadership under which nothing succeeded, held against when it should have ended (L8, L9).

Kept, a leader whose state machine has not moved for 2E, though something is committed that it could
apply, makes room (L8); that something was committed shows by another node that has applied it. And a
transfer that has come to nothing is given up after E (L9). A node looks at both when it next beats; it
is given E more than that, so that nobody is accused of a loop that came round late.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from checker.evidence import Applied, RoundSent, Transferred
from checker.timeline import ms

from .said import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Leadership, Timeline, Timelines

    from .owed import Owed


def progress_breaches(timelines: Timelines, lead: Leadership, owed: Owed) -> list[Breach]:
    """Return what a leader breaks that leads on."""
    return [*_not_given_up(timelines, lead, owed), *_stuck(timelines, lead, owed)][:1]


def _not_given_up(timelines: Timelines, lead: Leadership, owed: Owed) -> Iterator[Breach]:
    timeline = timelines[lead.node]
    begun: tuple[int, Transferred] | None = None
    for place, fact in timeline.facts(Transferred):
        if not lead.first <= place <= lead.last:
            continue
        if fact.stage == "started":
            begun = place, fact
        elif fact.stage == "given-up":
            begun = None
    if begun is None:
        return
    place, fact = begun
    on_ns = _led_on_ns(timeline, place, lead.last)
    if on_ns > 2 * owed.election_ns:
        yield Breach(
            rules=("L9",),
            node=lead.node,
            term=lead.term,
            sentence=f"{lead.node} (term {lead.term}) began to hand over to {fact.target}"
            f" {timelines.at(timeline.before_ns[place])} into the run, and led on for {ms(on_ns)}"
            " without giving that up",
            looks_like=("readindex-blocks-failover",),
        )


def _stuck(timelines: Timelines, lead: Leadership, owed: Owed) -> Iterator[Breach]:
    """Yield the first stretch in which it had something to apply and applied nothing."""
    timeline = timelines[lead.node]
    boot = timeline.boot_at(lead.first)
    applied = [
        (place, fact.index)
        for place, fact in timeline.facts(Applied)
        if boot.first <= place <= lead.last
    ]
    turns = [lead.first, *(place for place, _ in applied if place > lead.first), lead.last]
    for begin, end in pairwise(turns):
        reached = max((index for place, index in applied if place <= begin), default=0)
        ahead = _ahead(timelines, lead, reached)
        if ahead is None:
            return
        node, index, known_ns = ahead
        since = next((at for at in range(begin, end) if timeline.before_ns[at] >= known_ns), end)
        on_ns = _led_on_ns(timeline, since, end)
        if on_ns > 3 * owed.election_ns:
            yield Breach(
                rules=("L8",),
                node=lead.node,
                term=lead.term,
                sentence=f"{lead.node} (term {lead.term}) led on for {ms(on_ns)} and applied nothing"
                f" behind index {reached}, when {node} had applied its entry at {index} by"
                f" {timelines.at(known_ns)} into the run",
                looks_like=("faux-leader",),
            )
            return


def _ahead(timelines: Timelines, lead: Leadership, reached: int) -> tuple[str, int, int] | None:
    """Return who was the first to apply an entry of this leader's behind ``reached``, which and when."""
    found = [
        (timeline.after_ns[place], node, fact.index)
        for node, timeline in timelines.items()
        for place, fact in timeline.facts(Applied)
        if node != lead.node and fact.index > reached and fact.term == fact.entry_term == lead.term
    ]
    if not found:
        return None
    known_ns, node, index = min(found)
    return node, index, known_ns


def _led_on_ns(timeline: Timeline, since: int, until: int) -> int:
    """Return for how long, on its own clock, it still sent rounds between two lines."""
    rounds = [place for place, _ in timeline.facts(RoundSent) if since < place < until]
    return timeline.lines[rounds[-1]].own_ns - timeline.lines[since].own_ns if rounds else 0
