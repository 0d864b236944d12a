"""Who held which lock, and which tokens the storage took: bands and marks, from what nodes applied.

All nodes apply one log, so each entry is told once, by the node that applied it first. A lock is held
from its grant until its session ends or somebody else is granted it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checker.evidence import Granted, SessionEnded, Stored
from checker.values import shorten, show

from .bands import Band
from .marks import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from checker.timeline import Timelines

HELD: Final = "held"
STORED: Final = "stored"
FELL: Final = "fell"
_CHARS_MAX: Final = 40

_Fact = Granted | SessionEnded | Stored


def locks_of(timelines: Timelines) -> tuple[tuple[Band, ...], tuple[Mark, ...]]:
    """Return bands and marks by lock; the ``node`` of each is the lock's name."""
    facts = _facts(timelines)
    return tuple(_held(facts)), tuple(_stored(facts))


def _facts(timelines: Timelines) -> list[tuple[int, _Fact]]:
    """Return what was applied, each fact at the time when a node first wrote it, in the log's order."""
    first: dict[tuple[int, str, Any], tuple[int, _Fact]] = {}
    for timeline in timelines.values():
        for place in timeline.turns(Granted, SessionEnded, Stored):
            fact = timeline.lines[place].what
            assert isinstance(fact, _Fact)
            at_ns = timeline.before_ns[place] - timelines.origin_ns
            name = (fact.index, type(fact).__name__, getattr(fact, "session", None))
            known = first.get(name)
            if known is None or at_ns < known[0]:
                first[name] = (at_ns, fact)
    return sorted(first.values(), key=lambda pair: (pair[1].index, isinstance(pair[1], Granted)))


def _held(facts: Iterable[tuple[int, _Fact]]) -> Iterator[Band]:
    holding: dict[str, tuple[int, Granted]] = {}
    last_ns = 0
    for at_ns, fact in facts:
        last_ns = max(last_ns, at_ns)
        if isinstance(fact, Granted):
            name = shorten(show(fact.key), _CHARS_MAX)
            if name in holding:
                yield _band(name, *holding[name], at_ns)
            holding[name] = (at_ns, fact)
        elif isinstance(fact, SessionEnded):
            for name, (since_ns, grant) in [*holding.items()]:
                if grant.session == fact.session:
                    yield _band(name, since_ns, grant, at_ns)
                    del holding[name]
    for name, (since_ns, grant) in holding.items():
        yield _band(name, since_ns, grant, last_ns)


def _band(name: str, since_ns: int, grant: Granted, until_ns: int) -> Band:
    text = f"token {grant.token}, session {shorten(grant.session, _CHARS_MAX)}"
    return Band(
        kind=HELD,
        node=name,
        start_ns=since_ns,
        end_ns=max(since_ns, until_ns),
        text=text,
        term=grant.term,
    )


def _stored(facts: Iterable[tuple[int, _Fact]]) -> Iterator[Mark]:
    greatest: dict[str, int] = {}
    for at_ns, fact in facts:
        if isinstance(fact, Stored):
            name = shorten(show(fact.key), _CHARS_MAX)
            before = greatest.get(name, 0)
            fell = fact.token < before
            greatest[name] = max(before, fact.token)
            text = f"the storage takes token {fact.token}" + f" after {before}" * fell
            yield Mark(kind=FELL if fell else STORED, node=name, at_ns=at_ns, text=text, term=fact.term)
