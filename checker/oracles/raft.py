"""Oracle 4: Raft's invariants, as far as the facts that nodes wrote down can show them.

One leader a term. One real vote a term (within one boot: a vote that was written down and then lost in
a crash, before it was durable, was never said). Terms never go back within a boot, nor across boots
behind a term the node once led. Applied indices grow within a boot. What is applied, anywhere and at any
time, is of one log: the entry at an index has one term for ever, and terms never shrink from an index
to a later one, whoever told of them. So an entry that was applied and is not in a later leader's log is
found as soon as anything else is applied in its place. A read is answered from a state at least as
new as its index.

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
        *_one_log(timelines),
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


def _one_log(timelines: Timelines) -> Iterator[Finding]:
    """Yield what was applied beside the one log that all terms and indices have to fit in."""
    told: dict[tuple[int, int], tuple[str, int]] = {}
    for node, timeline in timelines.items():
        for place, fact in timeline.facts(Applied):
            told.setdefault((fact.index, fact.entry_term), (node, place))
    highest: tuple[int, int] | None = None  # the highest term so far, where it was last seen
    for at, (node, place) in sorted(told.items()):
        index, term = at
        last, high = highest or at
        if term < high or (index == last and term != high):
            where = "where" if index == last else f"beyond index {last}, where"
            sentence = (
                f"{node} applied an entry of term {term} at index {index},"
                f" {where} {told[last, high][0]} applied one of term {high}"
            )
            yield _finding(timelines[node], place, sentence, terms=(high, term))
        if term >= high:
            highest = at


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
            if fact.index < before.index:
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
