"""Who led later than a lease's holder, and when that leader first committed something of its own term.

Where voting is free a later leader is no breach by itself: what it commits while an older lease may
live is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Applied

if TYPE_CHECKING:
    from checker.timeline import Leadership, Timelines


def successors(timelines: Timelines, node: str, term: int) -> list[Leadership]:
    """Return the leaderships of terms after ``term`` by others than ``node``, by term."""
    newer = (
        lead
        for timeline in timelines.values()
        for lead in timeline.leaderships
        if lead.term > term and lead.node != node
    )
    return sorted(newer, key=lambda lead: lead.term)


def first_commit(timelines: Timelines, lead: Leadership) -> int | None:
    """Return the line on which a leader first applied an entry of its own term; None if it did not."""
    applied = (
        place
        for place, fact in timelines[lead.node].facts(Applied)
        if lead.first < place <= lead.last and fact.entry_term == lead.term
    )
    return next(applied, None)
