"""Oracle 4: Raft's invariants, as far as the facts that nodes wrote down can show them.

One leader a term. One real vote a term (within one boot: a vote that was written down and then lost in
a crash, before it was durable, was never said). Terms never go back within a boot, nor across boots
behind a term the node once led. Applied indices grow within a boot, entry terms never shrink along the
log, and the entry applied at an index has one term everywhere and for ever. A read is answered from
a state at least as new as its index.

Evidence that contradicts itself is what this looks for: it becomes a finding, never an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.evidence import Applied, Booted, RoleChanged, ServedRead, TermChanged, Voted
from checker.oracles.result import Finding, OracleResult, judged, unavailable
from checker.timeline import LEADER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Timeline, Timelines

NAME: Final = "raft"
KIND: Final = "invariant"


def raft(timelines: Timelines) -> OracleResult:
    """Judge all nodes together."""
    if not timelines:
        return unavailable(NAME, KIND, "no node left any evidence")
    findings = [
        *_one_leader_a_term(timelines),
        *_one_entry_an_index(timelines),
        *(found for timeline in timelines.values() for found in _one_vote_a_term(timeline)),
        *(found for timeline in timelines.values() for found in _terms_grow(timeline)),
        *(found for timeline in timelines.values() for found in _applied_grows(timeline)),
        *(found for timeline in timelines.values() for found in _reads_are_new_enough(timeline)),
    ]
    findings.sort(key=lambda finding: finding.during_ns or (0, 0))
    figures: dict[str, int | float] = {
        "leaders": len({lead.term for timeline in timelines.values() for lead in timeline.leaderships}),
        "applied_max": max(
            (fact.index for timeline in timelines.values() for _, fact in timeline.facts(Applied)),
            default=0,
        ),
    }
    return judged(NAME, KIND, findings, figures)


def _one_leader_a_term(timelines: Timelines) -> Iterator[Finding]:
    """Yield second leaders; one that leads its term again after a boot forgot its vote and is one."""
    leaders: dict[int, tuple[str, int]] = {}
    for timeline in timelines.values():
        for lead in timeline.leaderships:
            who = (lead.node, timeline.boot_at(lead.first).first)
            first = leaders.setdefault(lead.term, who)
            if first != who:
                beside = "again after a boot" if first[0] == lead.node else f"beside {first[0]}"
                sentence = f"{lead.node} became leader of term {lead.term} {beside}"
                yield _finding(timeline, lead.first, sentence, terms=(lead.term,))


def _one_entry_an_index(timelines: Timelines) -> Iterator[Finding]:
    entries: dict[int, tuple[int, str]] = {}
    for node, timeline in timelines.items():
        told: set[int] = set()
        for place, fact in timeline.facts(Applied):
            term, first = entries.setdefault(fact.index, (fact.entry_term, node))
            if term != fact.entry_term and fact.index not in told:
                told.add(fact.index)
                sentence = (
                    f"{node} applied an entry of term {fact.entry_term} at index {fact.index},"
                    f" where {first} applied one of term {term}"
                )
                yield _finding(timeline, place, sentence, terms=(term, fact.entry_term))


def _one_vote_a_term(timeline: Timeline) -> Iterator[Finding]:
    given: dict[tuple[int, int], str] = {}
    for place, vote in timeline.facts(Voted):
        if vote.pre or not vote.granted:
            continue
        candidate = given.setdefault((timeline.boot_at(place).first, vote.term), vote.candidate)
        if candidate != vote.candidate:
            sentence = (
                f"{timeline.node} voted for {vote.candidate} and for {candidate} in term {vote.term}"
            )
            yield _finding(timeline, place, sentence, terms=(vote.term,))


def _terms_grow(timeline: Timeline) -> Iterator[Finding]:
    """Only leading proves that a term was durable: a term merely moved to may be lost by a kill."""
    term = led = 0
    for place in timeline.turns(Booted, TermChanged, RoleChanged):
        fact = timeline.lines[place].what
        assert isinstance(fact, Booted | TermChanged | RoleChanged)
        floor = led if isinstance(fact, Booted) else term
        if fact.term < floor:
            how = "booted in" if isinstance(fact, Booted) else "went back to"
            sentence = f"{timeline.node} {how} term {fact.term} after it had been in term {floor}"
            yield _finding(timeline, place, sentence, terms=(floor, fact.term))
        term = fact.term
        if isinstance(fact, RoleChanged) and fact.role == LEADER:
            led = max(led, term)


def _applied_grows(timeline: Timeline) -> Iterator[Finding]:
    last: tuple[int, Applied] | None = None
    for place, fact in timeline.facts(Applied):
        boot = timeline.boot_at(place).first
        if last is not None and last[0] == boot:
            before = last[1]
            if fact.index < before.index or fact.entry_term < before.entry_term:
                sentence = (
                    f"{timeline.node} applied index {fact.index} of term {fact.entry_term}"
                    f" after index {before.index} of term {before.entry_term}"
                )
                yield _finding(timeline, place, sentence, terms=(before.entry_term, fact.entry_term))
        last = (boot, fact)


def _reads_are_new_enough(timeline: Timeline) -> Iterator[Finding]:
    for place, read in timeline.facts(ServedRead):
        if read.applied_index < read.read_index:
            sentence = (
                f"{timeline.node} answered a read of index {read.read_index}"
                f" from a state at index {read.applied_index}"
            )
            yield _finding(timeline, place, sentence, terms=(read.term,))


def _finding(timeline: Timeline, place: int, sentence: str, *, terms: tuple[int, ...]) -> Finding:
    return Finding(
        sentence=sentence,
        during_ns=timeline.lines[place].true_ns,
        nodes=(timeline.node,),
        terms=terms,
    )
