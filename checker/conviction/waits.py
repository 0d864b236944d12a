"""A new leader held against the leases that were alive when it was elected, where voting is free.

Kept, every voter says with its vote what may be left of the leases of others, reckoning from the last
round that it heard with the longest that a lease lasts on any clock (W1); and the winner commits nothing
of its own term before all of that has passed on its own clock (W2). A majority that voted and one that
backs the old lease share a node, so no lease is overlooked.

So an entry of the new term that was applied while a right lease was alive convicts somebody. The winner,
if less had passed since it asked than the least that any majority of its voters can have told it. Else a
voter, if it said less than was left since the leader *sent* the round that this voter acknowledged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Checked, RoundAcked, RoundSent, Voted
from checker.oracles.promise import supporters
from checker.timeline import ms

from .owed import PPM
from .said import Breach
from .successors import first_commit, successors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Leadership, Timelines

    from .owed import Owed


def wait_breaches(
    timelines: Timelines, node: str, check: int, *, until_true_ns: int, owed: Owed
) -> list[Breach]:
    """Return what let a newer leader commit before ``until_true_ns``, under ``node``'s right lease."""
    fact = timelines[node].lines[check].what
    assert isinstance(fact, Checked)
    for lead in successors(timelines, node, fact.term):
        committed = first_commit(timelines, lead)
        if committed is None or timelines[lead.node].before_ns[committed] > until_true_ns:
            continue
        found = [
            *_winner(timelines, lead, committed, owed=owed),
            *_voters(timelines, lead, owed=owed, holder=node, check=check),
        ]
        if found:
            return found[:1]
    return []


def _votes(timelines: Timelines, lead: Leadership) -> dict[str, tuple[int, Voted]]:
    """Return the votes that made a leader, by voter, with their lines."""
    return {
        voter: (place, vote)
        for voter, timeline in timelines.items()
        for place, vote in timeline.facts(Voted)
        if (vote.term, vote.candidate) == (lead.term, lead.node) and vote.granted and not vote.pre
    }


def _winner(timelines: Timelines, lead: Leadership, committed: int, *, owed: Owed) -> Iterator[Breach]:
    """W2: the least that it was told, by whichever majority it was."""
    votes = _votes(timelines, lead)
    own = votes.pop(lead.node, None)
    needed = len(owed.voters) // 2
    if own is None or len(votes) < needed or needed == 0:
        return
    timeline = timelines[lead.node]
    others = sorted(vote.left_ns for _, vote in votes.values())
    told_ns = max(own[1].left_ns, others[needed - 1])
    passed_ns = timeline.lines[committed].own_ns - timeline.lines[own[0]].own_ns
    if passed_ns < told_ns:
        yield Breach(
            rules=("W2",),
            node=lead.node,
            term=lead.term,
            sentence=(
                f"{lead.node} (term {lead.term}) committed {timelines.at(timeline.before_ns[committed])}"
                f" into the run, {ms(passed_ns)} after it asked for votes, when its voters had told it"
                f" of leases that last {ms(told_ns)}"
            ),
            looks_like=("newleader-no-wait",),
        )


def _voters(
    timelines: Timelines, lead: Leadership, *, owed: Owed, holder: str, check: int
) -> Iterator[Breach]:
    """W1: what each voter behind the old lease had to say, and said."""
    owing = supporters(timelines[holder], check, owed.voters)
    for voter, (place, vote) in sorted(_votes(timelines, lead).items()):
        sent_ns = _last_acknowledged(timelines, holder, check, voter) if voter in owing else None
        if sent_ns is None:
            continue
        since_ns = (timelines[voter].after_ns[place] - sent_ns) * (PPM + owed.drift_ppm) // PPM
        least_ns = owed.reckoned_ns - since_ns
        if vote.left_ns < least_ns:
            yield Breach(
                rules=("W1",),
                node=voter,
                term=vote.term,
                sentence=(
                    f"{voter} voted for {vote.candidate} in term {vote.term}"
                    f" {timelines.at(timelines[voter].before_ns[place])} into the run, telling of"
                    f" {ms(vote.left_ns)} left of older leases, when {holder}'s could last"
                    f" {ms(least_ns)}"
                ),
                looks_like=("newleader-no-wait",),
            )


def _last_acknowledged(timelines: Timelines, holder: str, check: int, voter: str) -> int | None:
    """Return when, on the true clock, the newest round was sent that ``voter`` had acknowledged."""
    timeline = timelines[holder]
    fact = timeline.lines[check].what
    assert isinstance(fact, Checked)
    acked = {
        one.round
        for at, one in timeline.facts(RoundAcked)
        if (one.term, one.peer) == (fact.term, voter) and at < check
    }
    sent = (
        timeline.before_ns[at]
        for at, one in timeline.facts(RoundSent)
        if one.term == fact.term and one.round in acked and at < check
    )
    return max(sent, default=None)
