"""The drift sweep: how far a lease is from a promise when clocks run fast and slow.

For rates from well inside the declared bound to well outside it, with every sign on the leader and on
the followers, the leader is cut off and the earliest election that the vote rules allow is forced: a
follower is asked to campaign every few milliseconds. Fresh reads at both show when the old leader last
served from its lease and when the new one first did. The time between is the *margin*; below zero two
leases are alive at once.

Theory says when the promise ends and when the lease does: E/(1+f) and D/(1+l) of true time after the
last round, for rates l of the leader and f of the followers. Inside the bound the difference is never
negative. Outside it is negative first where a slow leader meets fast followers; a leader that is fast,
or followers that are slow, are safe at any rate. A grant takes the place of E where leases are one-shot.
Where a time service decides, nothing is predicted: no lease may overlap inside the bound, and none must.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Final

import msgspec

from checker.oracles.holdings import holdings
from checker.timeline import build
from harness.outcome import Outcome
from harness.plan.plan import Plan, ScheduleFrom, seats_min
from harness.plan.schedules import dumped
from harness.run.simulate import Recording, judge_recording, simulate
from harness.run.where import simulated
from nemesis import Episode, Schedule, Step
from nemesis.drawn.draw import elections
from nemesis.drawn.pieces import after, write_first
from nemesis.grudges import Shape
from nemesis.schedule import (
    BendAt,
    CampaignAt,
    CutAt,
    EventName,
    ProbeAt,
    ProbeKind,
    Rate,
    RateUnit,
    ShapedLinks,
    Span,
    TimeUnit,
    Wait,
)
from targets.clock import MS
from targets.cluster import ClockMode
from targets.sim.weather import STILL
from targets.target import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUNDS: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Rates of the sweep, in declared bounds."""

SIGNS: Final = ((-1, 1), (-1, 0), (0, 1), (1, -1), (-1, -1), (1, 1))
"""Leader and followers: slow is -1, fast is 1."""

SLACK_NS: Final = 10 * MS
"""How far beyond the edge a lease must be caught: an election's messages, and the reads' spacing."""

_READS: Final = Span(0.002, TimeUnit.ELECTIONS)
_WRITES: Final = Span(0.004, TimeUnit.ELECTIONS)
_CAMPAIGNS: Final = Span(0.0025, TimeUnit.ELECTIONS)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One pair of rates, in ppm. Margins are of true time; None where no lease was seen at one end.

    ``predicted_ns`` is None where rates do not decide.
    """

    leader_ppm: int
    followers_ppm: int
    bounds: float
    predicted_ns: int | None
    margin_ns: int | None
    outcome: Outcome
    kind: str | None

    @property
    def inside(self) -> bool:
        """Whether both rates keep the declared bound."""
        return self.bounds <= 1

    @property
    def counted(self) -> Outcome:
        """What the cell means for the sweep; one without a verdict keeps its own word."""
        caught = self.outcome is Outcome.VIOLATION
        if not caught and self.outcome is not Outcome.PASS:
            return self.outcome
        if self.margin_ns is None and not caught:
            return Outcome.NOT_EXERCISED
        if caught and (self.inside if self.predicted_ns is None else self.predicted_ns >= 0):
            return Outcome.VIOLATION
        if not caught and self.predicted_ns is not None and self.predicted_ns < -SLACK_NS:
            return Outcome.EXPECTATION_MISSED
        return Outcome.PASS


def drift_plan(policy: str, seed: int, leader: float, followers: float, drift_ppm: int) -> Plan:
    """Return the plan of one cell, rates in declared bounds."""
    plan = Plan(
        name="sweep-drift",
        on=Place.SIM,
        policy=policy,
        clients=seats_min(3),
        keys=1,
        rate=20,
        time_s=4.0,
        seed=seed,
        faults=(),
        clock=ClockMode.RATE,
        drift_ppm=drift_ppm,
        allow=("not-exercised",),
        weather=STILL,
        schedule_from=ScheduleFrom.FILE,
    )
    promise_ns = simulated(plan).promise_ns(plan.setup) or plan.election_ns
    long = max(1, round(promise_ns / plan.election_ns))
    first, campaigns = (60, 260) if long == 1 else (5, 460)  # a grant may be nearly over

    def every(span: Span) -> Span:
        return msgspec.structs.replace(span, amount=span.amount * long)

    reads = [
        Step(do=ProbeAt(ProbeKind.READ, (who,), 700, every(_READS))) for who in ("leader", "follower-1")
    ]
    steps = (
        Step(do=BendAt(("leader",), rate=Rate(leader, RateUnit.BOUNDS))),
        Step(do=BendAt(("followers",), rate=Rate(followers, RateUnit.BOUNDS))),
        msgspec.structs.replace(write_first(), when=after(EventName.INSTALLED, wait=elections(30))),
        Step(do=CutAt(ShapedLinks(Shape.ISOLATE_ONE, "leader")), when=after(EventName.ACKED)),
        *reads,
        Step(do=ProbeAt(ProbeKind.WRITE, ("follower-1",), 350, every(_WRITES))),
        Step(do=CampaignAt(("follower-1",)), when=Wait(elections(first))),
        *(Step(do=CampaignAt(("follower-1",)), when=Wait(every(_CAMPAIGNS))) for _ in range(campaigns)),
    )
    episode = Episode(name="sweep-drift", steps=steps, required=False)
    schedule = dumped(Schedule((episode,)))
    return msgspec.structs.replace(plan, schedule=schedule, time_s=plan.time_s * long)


def cell(policy: str, seed: int, bounds: float, signs: tuple[int, int], drift_ppm: int) -> Cell:
    """Run one cell and measure it."""
    plan = drift_plan(policy, seed, signs[0] * bounds, signs[1] * bounds, drift_ppm)
    rates_ppm = [round(sign * bounds * drift_ppm) for sign in signs]
    recording = simulate(plan)
    judged = judge_recording(recording)
    target = simulated(plan)
    promise_ns, lease_ns = target.promise_ns(plan.setup), target.lease_ns(plan.setup)
    predicted_ns = None
    if promise_ns is not None:
        promise_ends, lease_ends = (
            length * 1_000_000 // (1_000_000 + rate_ppm)
            for length, rate_ppm in ((promise_ns, rates_ppm[1]), (lease_ns, rates_ppm[0]))
        )
        predicted_ns = promise_ends - lease_ends
    return Cell(
        leader_ppm=rates_ppm[0],
        followers_ppm=rates_ppm[1],
        bounds=bounds,
        predicted_ns=predicted_ns,
        margin_ns=margin_ns(recording),
        outcome=judged.outcome,
        kind=judged.kind,
    )


def margin_ns(recording: Recording) -> int | None:
    """Return the least time from the last instant of a lease to the first of the next term's."""
    timelines = build(line for lines in recording.evidence.values() for line in lines)
    spans: dict[int, tuple[int, int]] = {}
    for timeline in timelines.values():
        for held in holdings(timeline):
            first, last = spans.get(held.term, (held.start_ns, held.end_ns))
            spans[held.term] = (min(first, held.start_ns), max(last, held.end_ns))
    terms = sorted(spans)
    gaps = [spans[later][0] - spans[term][1] for term, later in pairwise(terms)]
    return min(gaps, default=None)


def drift(policy: str, seed: int, drift_ppm: int) -> Iterator[Cell]:
    """Yield every cell of the sweep."""
    for bounds, signs in product(BOUNDS, SIGNS):
        yield cell(policy, seed, bounds, signs, drift_ppm)
