"""Oracle 3: nobody votes for another while a lease that rests on their own acknowledgement is alive.

A lease is alive where its holder certainly would have served from it (`holdings`). It rests on the
acknowledgements that the holder had when it checked, of the voters that its log then named: for each
the newest acknowledged round, by when that round was *sent*. Those at or after the newest send that a
majority reaches (the holder itself counts as now) are the ones a majority needs; in a joint
configuration, a majority of either set. An acknowledged round whose sending was not written down counts
as just sent for anyone else, and as nothing for the voter accused.

A real vote counts, a pre-vote does not; a candidate's vote for itself does. A holder's own vote moves
it to a new term first, where its belief counts as gone. This names the voter behind an overlap, and
sees the promise broken even if the new leader never came to serve.

A vote for a transfer token breaks nothing by itself: the leader to which it was promised asked for it.
That leader may lease again once it has seen to it that nobody is elected so, by an entry that a majority
has and the target has not; its word may reach the target long after that. So such a vote counts if its
candidate went on to lead.

Off for policies that leave voting free (newleader-waits, lease-log).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from checker.evidence import (
    Checked,
    Configured,
    GrantAcked,
    GrantAsked,
    Promised,
    RoleChanged,
    RoundAcked,
    RoundSent,
    Voted,
)
from checker.oracles.holdings import Holding, holdings
from checker.oracles.result import Finding, Oracle, OracleResult, judged, unavailable
from checker.timeline import ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.timeline import FactT, Timeline, Timelines

NAME: Final = Oracle.PROMISE
KIND: Final = "promise"
NEVER: Final = -(1 << 62)
JUST_SENT: Final = 1 << 62


def promise(
    timelines: Timelines,
    *,
    nodes: Sequence[str] = (),
    held: Mapping[str, Sequence[Holding]] | None = None,
) -> OracleResult:
    """Judge every vote; ``nodes`` are all voters (those with evidence, if none are named)."""
    if not timelines:
        return unavailable(NAME, KIND, "no node left any evidence")
    if held is None:
        held = {node: holdings(timeline) for node, timeline in timelines.items()}
    voters = sorted({*nodes, *timelines})
    led = {
        (node, role.term)
        for node, timeline in timelines.items()
        for _, role in timeline.facts(RoleChanged)
        if role.role == "leader"
    }
    findings = []
    votes = 0
    for voter, timeline in timelines.items():
        for place, vote in timeline.facts(Voted):
            if vote.pre or not vote.granted:
                continue
            votes += 1
            if vote.token and (vote.candidate, vote.term) not in led:
                continue
            for holding in _alive(timeline, place, held):
                if holding.node == vote.candidate or holding.term >= vote.term:
                    continue
                check = _last_check(timelines[holding.node], holding, timeline, place)
                if voter in supporters(timelines[holding.node], check, voters):
                    findings.append(_finding(timelines, place, vote, holding=holding, voter=voter))
    findings.sort(key=lambda finding: finding.during_ns or (0, 0))
    return judged(NAME, KIND, findings, {"votes": votes})


def supporters(holder: Timeline, check: int, voters: Sequence[str]) -> set[str]:
    """Return the voters on whose acknowledgement the lease at line ``check`` certainly rests."""
    line = holder.lines[check]
    assert isinstance(line.what, Checked)
    term = line.what.term
    first = holder.boot_at(check).first
    sent, acked = _exchanges(holder, term, first, check)
    known: dict[str, int] = {}
    for_others: dict[str, int] = {}
    for peer, number in acked:
        sent_ns = sent.get(number)
        if sent_ns is not None:
            known[peer] = max(known.get(peer, sent_ns), sent_ns)
        for_others[peer] = max(for_others.get(peer, NEVER), JUST_SENT if sent_ns is None else sent_ns)
    found: set[str] = set()
    for quorum in _quorums(holder, check, voters):
        needed = len(quorum) // 2 + (holder.node not in quorum)
        for voter in known.keys() & set(quorum):
            newer = [
                peer for peer in quorum if peer != voter and for_others.get(peer, NEVER) > known[voter]
            ]
            if len(newer) < needed:
                found.add(voter)
    return found


def _exchanges(
    holder: Timeline, term: int, first: int, last: int
) -> tuple[dict[int, int], list[tuple[str, int]]]:
    """Return what the leases of a term rest on: when each number was sent, and who acknowledged it.

    Those are rounds; or the newest request, where a leader asks for leases by requests of their own.
    """
    asked = {
        fact.seq: holder.lines[place].own_ns
        for place, fact in _between(holder, GrantAsked, first, last)
        if fact.term == term
    }
    if asked:
        newest = max(asked)
        granted = _between(holder, GrantAcked, first, last)
        peers = [fact.peer for _, fact in granted if (fact.term, fact.seq) == (term, newest)]
        return {newest: asked[newest]}, [(peer, newest) for peer in peers]
    sent: dict[int, int] = {}
    for place, round_sent in _between(holder, RoundSent, first, last):
        if round_sent.term == term:
            sent.setdefault(round_sent.round, holder.lines[place].own_ns)
    rounds = _between(holder, RoundAcked, first, last)
    return sent, [(fact.peer, fact.round) for _, fact in rounds if fact.term == term]


def _quorums(holder: Timeline, check: int, voters: Sequence[str]) -> list[Sequence[str]]:
    """Return the sets of voters of which each must back the lease, as the holder's log had them."""
    places = holder.places.get(Configured, [])
    known = bisect_left(places, check)
    if known == 0:
        return [voters]
    config = holder.lines[places[known - 1]].what
    assert isinstance(config, Configured)
    return [config.voters, config.incoming] if config.incoming else [config.voters]


def _between(holder: Timeline, kind: type[FactT], first: int, last: int) -> Iterator[tuple[int, FactT]]:
    places = holder.places.get(kind, [])
    for place in places[bisect_left(places, first) : bisect_left(places, last)]:
        what = holder.lines[place].what
        assert isinstance(what, kind)
        yield place, what


def _alive(timeline: Timeline, place: int, held: Mapping[str, Sequence[Holding]]) -> Iterator[Holding]:
    """Yield the holdings that were certainly alive at the vote on line ``place``."""
    before_ns, after_ns = timeline.lines[place].true_ns
    for node, holds in held.items():
        index = bisect_left(holds, before_ns, key=lambda holding: holding.start_ns) - 1
        if index < 0 or node == timeline.node:
            continue
        holding = holds[index]
        if not holding.point and after_ns < holding.end_ns:
            yield holding


def _last_check(holder: Timeline, holding: Holding, voter: Timeline, place: int) -> int:
    """Return the last granted check that was certainly made before the vote."""
    before_ns = voter.before_ns[place]
    return max(check for check in holding.checks if holder.after_ns[check] <= before_ns)


def _finding(timelines: Timelines, place: int, vote: Voted, *, holding: Holding, voter: str) -> Finding:
    timeline = timelines[voter]
    line = timeline.lines[place]
    lived = f"for at least {ms(holding.end_ns - line.true_ns[1])}"
    vote_at = (
        f"{voter} voted for {vote.candidate} in term {vote.term}, {timelines.at(line.true_ns[0])}"
        " into the run"
    )
    lease = f"lease of {holding.node} (term {holding.term})"
    left_ns = _promise_left_ns(timeline, place, holding)
    if left_ns is None:
        sentence = (
            f"{vote_at}, while a {lease} that rests on its acknowledgement lived on {lived};"
            " it had made no promise since it booted"
        )
    elif left_ns > 0:
        sentence = (
            f"{vote_at}, while a {lease} that rests on its acknowledgement lived on {lived};"
            f" its promise still ran for {ms(left_ns)} on its own clock"
        )
    else:
        sentence = (
            f"a {lease} outlived the promise of {voter} that it rests on: that had ended"
            f" {ms(-left_ns)} before on {voter}'s own clock when {vote_at}, and the lease"
            f" lived on {lived}"
        )
    return Finding(
        sentence=sentence,
        during_ns=line.true_ns,
        nodes=(voter, holding.node),
        terms=(vote.term, holding.term),
    )


def _promise_left_ns(timeline: Timeline, place: int, holding: Holding) -> int | None:
    """Return how long the voter's promise still ran on its own clock; None if it made none."""
    first = timeline.boot_at(place).first
    made = _between(timeline, Promised, first, place)
    return max(
        (
            promise.until_ns - timeline.showing(place, promise.clock)
            for _, promise in made
            if promise.holder == holding.node
        ),
        default=None,
    )
