"""What a node said it would remember, and what it had forgotten when it came back (F6).

A term and a vote are said once the disk has them. So whoever led a term, or acknowledged a round of one
in a leader's hearing, comes back in that term at least. A node that comes back in an earlier one has
forgotten, whatever it wrote about its disk. That alone harms nobody; it does once the node does in an
earlier term what it may not do any more: acknowledges a round, or votes. What it acknowledged before it
was stopped counts only if the leader had heard it by then, so nothing is held against a node that died
with the words on its lips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.evidence import Booted, RoleChanged, RoundAcked, RoundSent, Voted
from checker.timeline import LEADER

from .said import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Boot, Timeline, Timelines


class _Word(msgspec.Struct, frozen=True):
    """``node`` had been in ``term``: it was known by ``true_ns`` at the latest, and why.

    ``votes_after`` is the last term in which it may not vote any more: who led has voted.
    """

    node: str
    term: int
    votes_after: int
    true_ns: int
    why: str


def memory_breaches(timelines: Timelines, *, until_true_ns: int, harmless: bool = False) -> list[Breach]:
    """Return the first node that forgot a term and acted on that before ``until_true_ns``, if any.

    ``harmless``: it counts even if it did nothing yet, because an invariant says so.
    """
    words = sorted(_words(timelines), key=lambda word: word.true_ns)
    for node, timeline in timelines.items():
        for boot in timeline.boots[1:]:
            booted = timeline.lines[boot.first].what
            if not isinstance(booted, Booted):
                continue
            known = [
                word
                for word in words
                if word.node == node and word.true_ns < timeline.before_ns[boot.first]
            ]
            best = max(known, key=lambda word: word.term, default=None)
            if best is None or best.term <= booted.term:
                continue
            votes_after = max(word.votes_after for word in known)
            deeds = _deeds(timelines, timeline, boot, (best.term, votes_after), until_true_ns)
            deed = next(deeds, None)
            if deed is not None or (harmless and timeline.before_ns[boot.first] <= until_true_ns):
                at = timelines.at(timeline.before_ns[boot.first])
                return [
                    Breach(
                        rules=("F6",),
                        node=node,
                        term=booted.term,
                        sentence=f"{node} booted in term {booted.term} {at} into the run, after"
                        f" {best.why}" + ("" if deed is None else f", and then {deed}"),
                        looks_like=("vote-not-durable",),
                    )
                ]
    return []


def _words(timelines: Timelines) -> Iterator[_Word]:
    for name, timeline in timelines.items():
        for place, role in timeline.facts(RoleChanged):
            if role.role == LEADER:
                why = f"it had led term {role.term}"
                yield _Word(name, role.term, role.term, timeline.after_ns[place], why)
        for place, acked in timeline.facts(RoundAcked):
            why = f"{name} had heard it acknowledge round {acked.round} of term {acked.term}"
            yield _Word(acked.peer, acked.term, acked.term - 1, timeline.after_ns[place], why)


def _deeds(
    timelines: Timelines, timeline: Timeline, boot: Boot, known: tuple[int, int], until_true_ns: int
) -> Iterator[str]:
    """Yield what a node did since a boot that it might not do.

    ``known`` are the term that it had been in, and the last one in which it may not vote any more.
    """
    term, votes_after = known
    begin_ns, end_ns = timeline.before_ns[boot.first], timeline.after_ns[boot.last]
    for place, vote in timeline.facts(Voted):
        real = vote.granted and not vote.pre and vote.term <= votes_after
        if boot.first < place <= boot.last and timeline.before_ns[place] <= until_true_ns and real:
            yield f"voted for {vote.candidate} in term {vote.term}"
    for name, leader in timelines.items():
        sent: dict[tuple[int, int], int] = {}
        for place, acked in leader.facts(RoundAcked):
            if acked.peer != timeline.node or acked.term >= term:
                continue
            sent = sent or _sent(leader)
            since_ns = sent.get((acked.term, acked.round))
            if since_ns is None or not begin_ns <= since_ns <= end_ns:
                continue
            if leader.before_ns[place] <= until_true_ns:
                yield f"acknowledged round {acked.round} of term {acked.term}, sent by {name}"


def _sent(leader: Timeline) -> dict[tuple[int, int], int]:
    return {(fact.term, fact.round): leader.before_ns[at] for at, fact in leader.facts(RoundSent)}
