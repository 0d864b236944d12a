"""The lease-length sweep: what a longer lease gives, and the bill that comes with it.

A lease is as long as its election timeout allows, so the sweep goes over election timeouts, at one
heartbeat and one uneven network. The leader is killed now and then and comes back later. For each
length: which share of the reads answered by a leader were answered from its lease, how long such reads
took, and for how long nobody acknowledged a write after the leader's death.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

import msgspec

from checker.events import EventType, ReadPath
from harness.outcome import Outcome
from harness.plan.plan import Plan, ScheduleFrom
from harness.plan.schedules import dumped
from harness.run.simulate import Recording, judge_recording, simulate
from harness.run.where import simulated
from nemesis import Episode, Schedule, Step
from nemesis.faults import Kill
from nemesis.schedule import For, KillAt, ProbeAt, ProbeKind, Span, TimeUnit, Wait
from targets.clock import MS
from targets.sim.weather import Weather
from targets.target import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

ELECTIONS_MS: Final = (200, 300, 500, 1000, 2000, 4000)
HEARTBEAT_NS: Final = 40 * MS
DEATHS: Final = 6
UNEVEN: Final = Weather(
    latency_min_ns=500_000,
    latency_max_ns=3 * MS,
    tail_ppm=100_000,
    tail_max_ns=300 * MS,
    loss_ppm=50_000,
)


class Length(msgspec.Struct, frozen=True, kw_only=True):
    """One lease length. Shares are of 1; times are of the clients."""

    election_ns: int
    lease_ns: int
    lease_share: float
    read_p50_ns: int
    read_p99_ns: int
    deaths: int
    silent_p50_ns: int | None
    silent_max_ns: int | None
    outcome: Outcome


def length_plan(policy: str, seed: int, election_ms: int) -> Plan:
    """Return the plan of one length."""
    election_ns = election_ms * MS
    kill = Step(do=KillAt(("leader",)), when=Wait(Span(2.0)), until=For(Span(4.0, TimeUnit.ELECTIONS)))
    after = Step(do=ProbeAt(ProbeKind.READ, ("all",)), when=Wait(Span(4.5, TimeUnit.ELECTIONS)))
    episode = Episode(name="deaths", steps=(kill, after), times=DEATHS, required=False)
    each_s = 2.0 + 7 * election_ms / 1000
    return Plan(
        name="sweep-lease-length",
        on=Place.SIM,
        policy=policy,
        clients=12,
        rate=200,
        time_s=DEATHS * each_s + 4.0,
        seed=seed,
        faults=(),
        election_ns=election_ns,
        heartbeat_ns=HEARTBEAT_NS,
        margin_ns=10 * MS,
        read_timeout_ns=300 * MS,
        write_timeout_ns=600 * MS,
        allow=("not-exercised",),
        weather=UNEVEN,
        schedule_from=ScheduleFrom.FILE,
        schedule=dumped(Schedule((episode,))),
    )


def length(policy: str, seed: int, election_ms: int) -> Length:
    """Run one length and measure it."""
    plan = length_plan(policy, seed, election_ms)
    recording = simulate(plan)
    by_path = _reads(recording)
    led = [ns for path in (ReadPath.LEASE, ReadPath.READINDEX) for ns in by_path.get(path, ())]
    silences = sorted(_silences(recording))
    return Length(
        election_ns=plan.election_ns,
        lease_ns=simulated(plan).lease_ns(plan.setup),
        lease_share=len(by_path.get(ReadPath.LEASE, ())) / max(1, len(led)),
        read_p50_ns=round(median(led)) if led else 0,
        read_p99_ns=sorted(led)[len(led) * 99 // 100] if led else 0,
        deaths=len(silences),
        silent_p50_ns=round(median(silences)) if silences else None,
        silent_max_ns=silences[-1] if silences else None,
        outcome=judge_recording(recording).outcome,
    )


def _reads(recording: Recording) -> dict[ReadPath, list[int]]:
    """Return how long the reads of each path took."""
    began: dict[int | str, int] = {}
    took: dict[ReadPath, list[int]] = {}
    for event in recording.events:
        if event.type is EventType.INVOKE:
            began[event.process] = event.time_ns
        elif event.type is EventType.OK and event.f == "read" and event.evidence is not None:
            path = event.evidence.path
            if path is not None:
                took.setdefault(path, []).append(event.time_ns - began[event.process])
    return took


def _silences(recording: Recording) -> Iterator[int]:
    """Yield how long after each death a write was first acknowledged again."""
    load_ns = recording.seen.load_ns
    if load_ns is None:
        return
    written = [
        event.time_ns
        for event in recording.events
        if event.type is EventType.OK and event.f in ("write", "cas")
    ]
    for fault in recording.record.faults:
        if not isinstance(fault.fault, Kill) or fault.installed_ns is None:
            continue
        died_ns = load_ns[0] + fault.installed_ns
        again = next((at_ns for at_ns in written if at_ns > died_ns + 5 * MS), None)
        if again is not None:
            yield again - died_ns


def lengths(policy: str, seed: int) -> Iterator[Length]:
    """Yield every length of the sweep."""
    for election_ms in ELECTIONS_MS:
        yield length(policy, seed, election_ms)
