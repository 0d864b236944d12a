"""A vote held against the promise it broke, and so let a new leader be while a right lease lived.

Kept: a node that takes a leader's round promises silence for E from the receipt, on its own monotonic
clock, and writes that down before it answers (F1). Until then it votes for nobody else (F2) nor for
itself (F3), and nothing but time shortens that (F5); a node that booted does not know what it promised,
and keeps silent for E (F4). Its leader alone can set it free, by a token.

A vote tells what the voter then took its promise to be. So three stories differ: it knew that it was
bound and voted (F2, F3); it took the promise for over though it had written a later end (F5); what it
had written was too short, or nothing at all (F1). Evidence without that field cannot tell the first from
the second.

Where grants are asked for one by one, a grant is what a promise is (S2), and heartbeats do not touch it
(S5). Where instants are spans of true time, `span_promises` holds promises against them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import (
    Booted,
    Checked,
    GrantAcked,
    GrantAsked,
    OwnClock,
    Promised,
    RoundAcked,
    RoundSent,
    Voted,
)
from checker.oracles.promise import supporters
from checker.timeline import ms

from .owed import Family
from .said import Breach, first_of_each
from .span_promises import Vow, span_vote_breach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.timeline import Timeline, Timelines

    from .owed import Owed
    from .span_promises import Found
    from .spans import Spans


def promise_breaches(
    timelines: Timelines,
    node: str,
    check: int,
    *,
    spans: Mapping[str, Spans],
    until_true_ns: int,
    owed: Owed,
) -> list[Breach]:
    """Return the broken promises behind a lease: votes for a later term, cast before ``until_true_ns``.

    ``check`` is the line of ``node`` at which it rightly held its lease; only the voters on whose
    acknowledgements that rests owed it their silence.
    """
    fact = timelines[node].lines[check].what
    assert isinstance(fact, Checked)
    owing = supporters(timelines[node], check, owed.voters)
    found = [
        breach
        for voter in sorted(owing & set(timelines))
        for place, vote in timelines[voter].facts(Voted)
        if vote.granted and not vote.pre and not vote.token
        if vote.term > fact.term and vote.candidate != node
        if timelines[voter].before_ns[place] <= until_true_ns
        for breach in vote_breaches(
            timelines, voter, place, vote, spans=spans[voter], owed=owed, holder=node, check=check
        )
    ]
    return first_of_each(found)  # two voters that break one rule are one conviction


def vote_breaches(
    timelines: Timelines,
    voter: str,
    place: int,
    vote: Voted,
    *,
    spans: Spans,
    owed: Owed,
    holder: str,
    check: int,
) -> Iterator[Breach]:
    """Yield what one vote breaks."""
    timeline = timelines[voter]
    vow = Vow(timeline, place, vote, spans, owed)
    first = timeline.boot_at(place).first
    made = [(at, fact) for at, fact in timeline.facts(Promised) if first <= at < place]
    found = _of_another_clock(vow, made)
    if found is None:
        by_spans = owed.clock is OwnClock.INTERVAL
        found = span_vote_breach(vow, made) if by_spans else _of_the_promise(vow, made)
    if found is None and _unwritten(timelines, voter, place, owed=owed, holder=holder, check=check):
        said = f"having acknowledged a round of {holder} less than E before without any promise"
        found = ("F1",), said
    if found is None:
        found = _of_the_boot(vow, first)
    if found is None:
        return
    rules, said, *looks_like = found
    whom = "itself" if vote.candidate == voter else vote.candidate
    at = timelines.at(timeline.before_ns[place])
    yield Breach(
        rules=tuple(dict.fromkeys(map(owed.called, rules))),
        node=voter,
        term=vote.term,
        sentence=f"{voter} voted for {whom} in term {vote.term} {at} into the run, {said}",
        looks_like=tuple(looks_like),
    )


def _of_another_clock(vow: Vow, made: Sequence[tuple[int, Promised]]) -> Found | None:
    """L13: a promise on a clock that none is owed on, not over by the monotonic one."""
    known = {OwnClock.MONOTONIC, vow.owed.clock}
    other = next((fact.clock for _, fact in made if fact.clock not in known), None)
    left_ns = _owed_ns(vow, made) - vow.own_ns
    if other is None or left_ns <= 0:
        return None
    left = f"{ms(left_ns)} of it were left on its monotonic clock"
    return ("L13",), f"having measured its promise on its {other} clock: {left}", "promise-wall-clock"


def _of_the_promise(vow: Vow, made: Sequence[tuple[int, Promised]]) -> Found | None:
    """F1, F2, F3, F5: what it had written, what it took that for, and what it should have written."""
    written = [fact.until_ns for _, fact in made if fact.clock is OwnClock.MONOTONIC]
    left_ns = max(written, default=vow.own_ns) - vow.own_ns
    if left_ns <= 0:
        left_ns = _owed_ns(vow, made) - vow.own_ns
        if left_ns <= 0:
            return None
        said = f"having promised too little: {ms(left_ns)} of it were owed since its last round"
        return ("F1",), said, "promise-too-short"
    left = f"its promise of silence had {ms(left_ns)} to run on its own clock"
    shortened = ("S2", "S5") if Family.GRANT in vow.owed.families else ("F5",)
    if vow.vote.bound_until_ns is None:
        looks_like = ("vote-ignores-promise", "disconnect-clears-promise")
        return (vow.ignored, *shortened), left, *looks_like
    if vow.vote.bound_until_ns > vow.own_ns:
        return (vow.ignored,), f"knowing that {left}", "vote-ignores-promise"
    return shortened, f"taking its promise for over, when {left}", "disconnect-clears-promise"


def _owed_ns(vow: Vow, made: Sequence[tuple[int, Promised]]) -> int:
    """Return when, on the monotonic clock, the longest promise ends that was owed at these places."""
    ends = (vow.timeline.lines[at].own_ns + vow.owed.promise_ns for at, _ in made)
    return max(ends, default=vow.own_ns)


def _of_the_boot(vow: Vow, first: int) -> Found | None:
    """F4: it votes, having lived before, too soon after it booted."""
    since_ns = _since_boot(vow.timeline, first, vow.own_ns)
    if since_ns is None or since_ns >= vow.owed.promise_ns:
        return None
    said = f"{ms(since_ns)} after it booted, when it could not know what it had promised"
    return ("F4",), said, "restart-forgets-promise"


def _since_boot(timeline: Timeline, first: int, own_ns: int) -> int | None:
    """Return how long ago the node booted; None if that was its first boot, when it owed nothing."""
    fact = timeline.lines[first].what
    if not isinstance(fact, Booted) or fact.term == 0:
        return None
    return own_ns - timeline.lines[first].own_ns


def _unwritten(
    timelines: Timelines, voter: str, place: int, *, owed: Owed, holder: str, check: int
) -> bool:
    """Whether a round that the voter acknowledged, sent less than E ago, left no promise on its side.

    Sent at most that long ago on the true clock, it was received later, so its promise would certainly
    still bind.
    """
    timeline, leader = timelines[voter], timelines[holder]
    lease = leader.lines[check].what
    assert isinstance(lease, Checked)
    written = {(fact.term, fact.round) for _, fact in timeline.facts(Promised) if fact.holder == holder}
    sent, acked = _asked(leader, owed)
    voted_ns = timeline.after_ns[place]
    return any(
        term == lease.term
        and peer == voter
        and at < check
        and (term, number) not in written
        and voted_ns < sent.get((term, number), -owed.promise_true_ns) + owed.promise_true_ns
        for at, term, number, peer in acked
    )


def _asked(
    leader: Timeline, owed: Owed
) -> tuple[dict[tuple[int, int], int], list[tuple[int, int, int, str]]]:
    """Return when what asks for promises was sent, by term and number; and who acknowledged what."""
    if Family.GRANT in owed.families:
        asked = [(at, fact.term, fact.seq) for at, fact in leader.facts(GrantAsked)]
        acked = [(at, fact.term, fact.seq, fact.peer) for at, fact in leader.facts(GrantAcked)]
    else:
        asked = [(at, fact.term, fact.round) for at, fact in leader.facts(RoundSent)]
        acked = [(at, fact.term, fact.round, fact.peer) for at, fact in leader.facts(RoundAcked)]
    return {(term, number): leader.before_ns[at] for at, term, number in asked}, acked
