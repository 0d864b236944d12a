"""A vote held against the promise it broke, and so let a new leader be while a right lease lived.

Kept: a node that takes a leader's round promises silence for E from the receipt, on its own monotonic
clock, and writes that down before it answers (F1). Until then it votes for nobody else (F2) nor for
itself (F3), and nothing but time shortens that (F5); a node that booted does not know what it promised,
and keeps silent for E (F4). Its leader alone can set it free, by a token.

A vote tells what the voter then took its promise to be. So three stories differ: it knew that it was
bound and voted (F2, F3); it took the promise for over though it had written a later end (F5); what it
had written was too short, or nothing at all (F1). Evidence without that field cannot tell the first from
the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import Booted, Checked, OwnClock, Promised, RoundAcked, RoundSent, Voted
from checker.oracles.promise import supporters
from checker.timeline import MS

from .said import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Timeline, Timelines

    from .owed import Owed


def promise_breaches(
    timelines: Timelines, node: str, check: int, *, until_true_ns: int, owed: Owed
) -> list[Breach]:
    """Return the broken promises behind a lease: votes for a later term, cast before ``until_true_ns``.

    ``check`` is the line of ``node`` at which it rightly held its lease; only the voters on whose
    acknowledgements that rests owed it their silence.
    """
    fact = timelines[node].lines[check].what
    assert isinstance(fact, Checked)
    owing = supporters(timelines[node], check, owed.nodes)
    found = [
        breach
        for voter in sorted(owing & set(timelines))
        for place, vote in timelines[voter].facts(Voted)
        if vote.granted and not vote.pre and not vote.token
        if vote.term > fact.term and vote.candidate != node
        if timelines[voter].before_ns[place] <= until_true_ns
        for breach in vote_breaches(timelines, voter, place, vote, owed=owed, holder=node, check=check)
    ]
    return _first_of_each(found)


def _first_of_each(found: list[Breach]) -> list[Breach]:
    """Two voters that break one rule are one conviction: the first to vote stands for both."""
    kept: dict[tuple[str, ...], Breach] = {}
    for breach in found:
        kept.setdefault(breach.rules, breach)
    return list(kept.values())


def vote_breaches(
    timelines: Timelines, voter: str, place: int, vote: Voted, *, owed: Owed, holder: str, check: int
) -> Iterator[Breach]:
    """Yield what one vote breaks."""
    timeline = timelines[voter]
    own_ns = timeline.lines[place].own_ns
    boot = timeline.boot_at(place)
    made = [
        (timeline.lines[at].own_ns, fact)
        for at, fact in timeline.facts(Promised)
        if boot.first <= at < place
    ]
    other = next((fact.clock for _, fact in made if fact.clock is not OwnClock.MONOTONIC), None)
    written_ns = max(
        (fact.until_ns for _, fact in made if fact.clock is OwnClock.MONOTONIC), default=None
    )
    owed_ns = max((given_ns + owed.election_ns for given_ns, _ in made), default=None)
    himself = vote.candidate == voter
    whom = "itself" if himself else vote.candidate
    at = timelines.at(timeline.before_ns[place])
    who = f"{voter} voted for {whom} in term {vote.term} {at} into the run"

    def breach(rules: tuple[str, ...], what: str, *looks_like: str) -> Breach:
        said = f"{who}, {what}"
        return Breach(rules=rules, node=voter, term=vote.term, sentence=said, looks_like=looks_like)

    ignored = "F3" if himself else "F2"
    if other is not None and owed_ns is not None and own_ns < owed_ns:
        left = f"{_ms(owed_ns - own_ns)} of it were left on its monotonic clock"
        what = f"having measured its promise on its {other} clock: {left}"
        yield breach(("L13",), what, "promise-wall-clock")
        return
    if written_ns is not None and own_ns < written_ns:
        left = f"its promise of silence had {_ms(written_ns - own_ns)} to run on its own clock"
        if vote.bound_until_ns is None:
            yield breach((ignored, "F5"), left, "vote-ignores-promise", "disconnect-clears-promise")
        elif vote.bound_until_ns > own_ns:
            yield breach((ignored,), f"knowing that {left}", "vote-ignores-promise")
        else:
            yield breach(
                ("F5",),
                f"taking its promise for over, when {left}",
                "disconnect-clears-promise",
            )
    elif owed_ns is not None and own_ns < owed_ns:
        what = f"having promised too little: {_ms(owed_ns - own_ns)} of E were left since its last round"
        yield breach(("F1",), what, "promise-too-short")
    elif _unwritten(timelines, voter, place, owed=owed, holder=holder, check=check):
        what = f"having acknowledged a round of {holder} less than E before without any promise"
        yield breach(("F1",), what)
    elif (
        since_ns := _since_boot(timeline, boot.first, own_ns)
    ) is not None and since_ns < owed.election_ns:
        what = f"{_ms(since_ns)} after it booted, when it could not know what it had promised"
        yield breach(("F4",), what, "restart-forgets-promise")


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
    sent = {
        fact.round: leader.before_ns[at]
        for at, fact in leader.facts(RoundSent)
        if fact.term == lease.term and at < check
    }
    voted_ns = timeline.after_ns[place]
    return any(
        fact.term == lease.term
        and fact.peer == voter
        and at < check
        and (fact.term, fact.round) not in written
        and voted_ns < sent.get(fact.round, -owed.promise_true_ns) + owed.promise_true_ns
        for at, fact in leader.facts(RoundAcked)
    )


def _ms(length_ns: int) -> str:
    return f"{length_ns / MS:.3f} ms"
