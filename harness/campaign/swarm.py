"""The swarm: every seed draws a run of its own, so that no fixed recipe hides a mistake.

Drawn are the size of the cluster, its timings and declared bounds, the weather it lives in, the
families of faults and the episodes made of them, and the workload. What is left out matters as much as
what is put in: a fault that is always there masks what only shows without it, so every family, and
every unpleasantness of the weather, is absent from many runs.

Nothing here knows of a mistake: a plan is drawn for a policy, and what is planted is planted into it.
Clocks stay within the declared bound, so a right policy must stay clean in every drawn run.
"""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from harness.plan.plan import Plan, ScheduleFrom, seats_min
from harness.plan.schedules import dumped
from nemesis import FAMILIES
from nemesis.drawn.draw import Draw
from nemesis.drawn.storms import stormy
from targets.catalog import find
from targets.clock import MS
from targets.cluster import ClockMode
from targets.sim.weather import Weather
from targets.target import Place

SIZES: Final = (3, 3, 3, 5, 5, 7)
ELECTIONS_MS: Final = (400, 600, 1000)
DRIFTS_PPM: Final = (10_000, 50_000, 100_000, 200_000)
RATES: Final = (5, 50, 100, 200, 400)
"""A load that is nearly none shows what only writes keep hidden."""
SECONDS: Final = (6, 10, 16)
BATCHES: Final = (1, 1, 4, 256)
"""A leader that can send little at a time is still catching up when it is deposed."""

ELSEWHERE: Final = frozenset({"full", "strobe", "stuck"})
"""A simulated disk has all the room there is; storms have stuck syncs and quick bends of their own."""

HERE: Final = tuple(family for family in FAMILIES if family not in ELSEWHERE)

OPERATORS: Final = frozenset({"transfer", "membership", "time-service"})
"""What an operator does: drawn less often, and on its own, since most runs are without."""

SNAPSHOTS: Final = (Plan().compact_entries, Plan().compact_entries, 10, 50)
"""Entries between snapshots: more than a run has, or so few that one brings up whoever was away."""


def swarm_plan(asked: Plan) -> Plan:
    """Draw anew, from the seed of a plan, everything in it but what is tested."""
    rng = Random(f"{asked.seed}/swarm")
    nodes = rng.choice(SIZES)
    election_ns = rng.choice(ELECTIONS_MS) * MS
    drift_ppm = rng.choice(DRIFTS_PPM)
    families = frozenset(
        family for family in HERE if family not in OPERATORS and rng.randrange(100) < 55
    )
    operator = Random(f"{asked.seed}/swarm/operator")
    families |= _operated(operator, asked)
    clock = rng.choice((ClockMode.WALL, ClockMode.RATE)) if "clock" in families else ClockMode.NONE
    plan = Plan(
        name=asked.name,
        target=asked.target,
        on=Place.SIM,
        policy=asked.policy,
        mistakes=asked.mistakes,
        workload=asked.workload,
        require=asked.require,
        nodes=nodes,
        voters=_voters(operator, nodes) if "membership" in families else 0,
        clients=seats_min(nodes) + rng.randrange(6),
        keys=rng.randint(1, 4),
        rate=rng.choice(RATES),
        readindex_one_in=rng.choice((0, 0, 3, 10)),
        time_s=float(rng.choice(SECONDS)),
        seed=asked.seed,
        faults=tuple(family for family in HERE if family in families),
        clock=clock,
        peer_delay_ns=rng.choice((0, 0, 0, 2, 10)) * MS,
        election_ns=election_ns,
        heartbeat_ns=election_ns // rng.choice((20, 10, 10, 5)),
        margin_ns=rng.choice((2, 10, 20)) * MS,
        append_max=rng.choice(BATCHES),
        compact_entries=operator.choice(SNAPSHOTS),
        drift_ppm=drift_ppm,
        read_timeout_ns=rng.choice((300, 600, 1500)) * MS,
        write_timeout_ns=rng.choice((600, 1500)) * MS,
        settle_ns=election_ns,
        check_s=20.0,
        allow=("not-exercised",),
        weather=weather(rng, drift_ppm=drift_ppm),
        schedule_from=ScheduleFrom.SEED,
    )
    draw = Draw(rng, nodes, families or frozenset({"partition"}), clock)
    return msgspec.structs.replace(
        plan, schedule=dumped(stormy(draw, plan.time_s * 1e9 / plan.election_ns))
    )


def _operated(operator: Random, asked: Plan) -> frozenset[str]:
    """Draw what operators do here, of what this target and policy take."""
    target = find(asked.target)
    taken = {"transfer"}
    if "voters" in target.takes:
        taken.add("membership")
    if target.modes[asked.policy].synced:
        taken.add("time-service")
    drawn = (family for family in HERE if family in taken and operator.randrange(100) < 30)
    return frozenset(drawn)


def _voters(operator: Random, nodes: int) -> int:
    """Draw how many vote to begin with: mostly all, at times one alone."""
    return operator.choice((0, 0, 1, operator.randint(2, nodes)))


def weather(rng: Random, *, drift_ppm: int) -> Weather:
    """Draw what the cluster lives in; each unpleasantness is absent more often than not."""

    def at_times(one_in: int, most: int) -> int:
        return rng.randint(1, most) if rng.randrange(one_in) == 0 else 0

    least_ns = rng.randint(20_000, MS)
    return Weather(
        latency_min_ns=least_ns,
        latency_max_ns=least_ns + rng.choice((50_000, 500_000, 3 * MS)),
        tail_ppm=at_times(3, 20_000),
        tail_max_ns=rng.randint(5, 100) * MS,
        loss_ppm=at_times(3, 20_000),
        duplicate_ppm=at_times(3, 50_000),
        reorder_ppm=at_times(3, 50_000),
        break_ppm=at_times(4, 5_000),
        sync_min_ns=rng.choice((20_000, 200_000, MS)),
        sync_max_ns=rng.choice((MS, 2 * MS, 8 * MS)),
        stall_ppm=at_times(3, 20_000),
        stall_max_ns=rng.randint(10, 300) * MS,
        torn=rng.randrange(2) == 0,
        skew_max_ns=rng.choice((0, 100, 10_000)) * MS,
        rate_max_ppm=rng.choice((0, 0, drift_ppm // 20)),
        suspend_ppm=at_times(3, 1_000_000),
        timer_late_max_ns=rng.choice((0, 200_000, 2 * MS)),
        shuffle=rng.randrange(2) == 0,
    )
