"""What evidence says of locks and tokens: which of K1 to K4 it contradicts.

A grant speaks for itself: its token grows or it does not (K3), its session had ended or not (K4). Of an
accepted token that is lower than one before it, what counts is what the node that took it had in mind.
It has a *life*, from a boot or a leader's snapshot to the next; if in this very life it had accepted
the greater one, it compared wrongly or not at all. It did not compare at all (K1) if it took several
such tokens in that life and never refused one; of one alone nobody can tell (K1 or K3). If it had
accepted the greater one only in an earlier life, or got it with a snapshot, then it forgot (K2), if
fences were seen to hold elsewhere in the run: a storage that refuses nothing has nothing to forget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.evidence import Booted, Configured, Granted, Refused, SessionBegan, SessionEnded, Stored
from checker.values import show, tag

from .said import Breach, first_of_each

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from checker.timeline import Timeline, Timelines

FENCED = "FENCED"
SEVERAL = 2


def fence_breaches(timelines: Timelines) -> list[Breach]:
    """Return what is contradicted, once for each rule, the first of it."""
    return first_of_each((*_grants(timelines), *_accepted(timelines)))


def _grants(timelines: Timelines) -> Iterator[Breach]:
    for timeline in timelines.values():
        ended: set[str] = set()
        tokens: dict[Hashable, int] = {}
        for place in timeline.turns(Booted, Configured, SessionBegan, SessionEnded, Granted):
            match timeline.lines[place].what:
                case Booted() | Configured():  # what follows may be told again, or after a gap
                    ended.clear()
                    tokens.clear()
                case SessionBegan(session=session):
                    ended.discard(session)
                case SessionEnded(session=session):
                    ended.add(session)
                case Granted(term=term, index=index, key=key, session=session, token=token):
                    told = f"{timeline.node} granted {show(key)} at index {index}"
                    before = tokens.get(tag(key), 0)
                    tokens[tag(key)] = max(token, before)
                    if session in ended:
                        yield Breach(
                            rules=("K4",),
                            node=timeline.node,
                            term=term,
                            sentence=f"{told} to session {session}, which had ended while it waited",
                            looks_like=("lock-lease-not-rechecked",),
                        )
                    if token <= before:
                        yield Breach(
                            rules=("K3",),
                            node=timeline.node,
                            term=term,
                            sentence=f"{told} under token {token}, after a grant under {before}",
                            looks_like=("fence-compare-weak",),
                        )
                case _:
                    pass


class _Life(msgspec.Struct):
    """What a storage did in one life: refusals, and tokens taken below one of this life's own."""

    refused: int = 0
    fell: list[tuple[Stored, int]] = []


def _accepted(timelines: Timelines) -> Iterator[Breach]:
    newest = _newest_before(timelines)
    lives = {node: list(_lives(timeline)) for node, timeline in timelines.items()}
    held = any(life.refused for node in lives for life in lives[node])
    compared = True
    for node, its in lives.items():
        for life in its:
            for fact, before in life.fell[:1]:
                compared = False
                blind = not life.refused and len(life.fell) >= SEVERAL
                yield Breach(
                    rules=("K1",) if blind else ("K1", "K3"),
                    node=node,
                    term=fact.term,
                    sentence=(
                        f"{node} accepted token {fact.token} for {show(fact.key)} at index {fact.index}"
                        f" although it had accepted {before} since it started"
                        + (f"; of {len(life.fell)} such tokens it refused none" if blind else "")
                    ),
                    looks_like=("lock-no-fence",),
                )
    if not compared:
        return
    for node, timeline in timelines.items():
        for _, fact in timeline.facts(Stored):
            before = newest[tag(fact.key), fact.index]
            if fact.token < before:
                yield Breach(
                    rules=("K2",) if held else ("K1", "K2"),
                    node=node,
                    term=fact.term,
                    sentence=(
                        f"{node} accepted token {fact.token} for {show(fact.key)} at index {fact.index}"
                        f" after token {before}, which it had not heard of since it started"
                    ),
                    looks_like=("fence-not-durable",),
                )
                return


def _lives(timeline: Timeline) -> Iterator[_Life]:
    mine: dict[Hashable, int] = {}
    life = _Life()
    for place in timeline.turns(Booted, Configured, Refused, Stored):
        match timeline.lines[place].what:
            case Booted() | Configured():
                yield life
                life, mine = _Life(), {}
            case Refused(code=code):
                life.refused += code == FENCED
            case Stored(key=key, token=token) as fact:
                before = mine.get(tag(key), 0)
                if token < before:
                    life.fell.append((fact, before))
                mine[tag(key)] = max(before, token)
            case _:
                pass
    yield life


def _newest_before(timelines: Timelines) -> dict[tuple[Hashable, int], int]:
    """Return by key and index the greatest token that anybody accepted up to there."""
    facts = {fact for timeline in timelines.values() for _, fact in timeline.facts(Stored)}
    newest: dict[tuple[Hashable, int], int] = {}
    greatest: dict[Hashable, int] = {}
    for fact in sorted(facts, key=lambda each: each.index):
        key = tag(fact.key)
        greatest[key] = max(fact.token, greatest.get(key, 0))
        newest[key, fact.index] = greatest[key]
    return newest
