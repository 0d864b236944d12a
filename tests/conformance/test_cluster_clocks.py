"""Clocks: a bend is what was asked for, lasts, and what cannot be bent is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from conformance_kinds import SHORT, Kind, Stage, Started

from targets.clock import MS
from targets.cluster import ClockBend, ClockMode, Primitive, Unsupported
from targets.leasekv.messages import Op

if TYPE_CHECKING:
    from pathlib import Path

BENDS = {
    Primitive.CLOCK_RATE: ClockBend(1000),
    Primitive.CLOCK_WALL: ClockBend(wall_offset_ns=MS),
}


def armed(kind: Kind, tmp_path: Path, clock: ClockMode, primitive: Primitive) -> None:
    reason = kind.stage(SHORT, tmp_path, clock).cluster.supports(primitive)
    if reason is not None:
        pytest.skip(reason)


async def bends_as_it_says(stage: Stage, primitive: Primitive, clock: ClockMode) -> None:
    """What was not armed for is refused, in word and in deed; what is not refused can be done."""
    reason = stage.cluster.supports(primitive)
    if reason is None:
        await stage.cluster.bend_clock("n1", BENDS[primitive])
        return
    assert f"armed for {clock.value}" in reason
    with pytest.raises(Unsupported, match="armed"):
        await stage.cluster.bend_clock("n1", BENDS[primitive])


@pytest.mark.parametrize("rate_ppm", [200_000, -200_000, 500_000])
def test_a_bent_rate_is_what_was_asked_for_and_begins_without_a_step(
    kind: Kind, on: Started, tmp_path: Path, rate_ppm: int
) -> None:
    armed(kind, tmp_path, ClockMode.RATE, Primitive.CLOCK_RATE)

    async def work(stage: Stage) -> None:
        async def pair() -> tuple[int, int]:
            status = await stage.status("n2")
            return status.own.mono_ns, status.true_ns

        async def rate(node: str = "n2") -> float:
            first = await stage.status(node)
            await stage.sleep(0.4)
            last = await stage.status(node)
            own_ns = last.own.mono_ns - first.own.mono_ns
            wall_ns = last.own.wall_ns - first.own.wall_ns
            if abs(own_ns - wall_ns) >= 1 * MS:  # a rate is every clock's of a node
                return math.nan
            return own_ns / (last.true_ns - first.true_ns)

        async def runs_at(wanted: float, node: str = "n2") -> bool:
            """Whether it does; a busy host may come between two readings, so three tries."""
            for _ in range(3):
                if abs(await rate(node) - wanted) < 0.01:
                    return True
            return False

        assert await runs_at(1)
        for bend in (ClockBend(rate_ppm), ClockBend(-rate_ppm // 2), ClockBend()):
            own, true = await pair()
            begun_ns = stage.now_ns()
            await stage.cluster.bend_clock("n2", bend)
            own_after, true_after = await pair()
            slack_ns = (stage.now_ns() - begun_ns) * abs(rate_ppm) // 10**6
            assert abs((own_after - own) - (true_after - true)) <= 10 * MS + slack_ns
            assert await runs_at(1 + bend.rate_ppm / 1e6)
        await stage.cluster.bend_clock("n2", ClockBend(rate_ppm))
        assert await runs_at(1, "n1"), "nobody touched this one"

    on(work, clock=ClockMode.RATE)


def test_a_jump_of_the_wall_clock_leaves_the_monotonic_clock_alone(
    kind: Kind, on: Started, tmp_path: Path
) -> None:
    armed(kind, tmp_path, ClockMode.WALL, Primitive.CLOCK_WALL)

    async def work(stage: Stage) -> None:
        before = await stage.status("n1")
        for offset_ns in (7_500 * MS, -7_500 * MS, 0):
            await stage.cluster.bend_clock("n1", ClockBend(wall_offset_ns=offset_ns))
            status = await stage.status("n1")
            assert abs(status.own.wall_ns - stage.wall_ns() - offset_ns) < 50 * MS
            own_ns = status.own.mono_ns - before.own.mono_ns
            assert abs(own_ns - (status.true_ns - before.true_ns)) < 1 * MS
        await bends_as_it_says(stage, Primitive.CLOCK_RATE, ClockMode.WALL)

    on(work, clock=ClockMode.WALL)


def test_a_bent_clock_stays_bent_over_a_restart_and_over_a_pause(
    kind: Kind, on: Started, tmp_path: Path
) -> None:
    armed(kind, tmp_path, ClockMode.RATE, Primitive.CLOCK_RATE)

    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        await cluster.pause("n3")
        await cluster.bend_clock("n3", ClockBend(300_000))
        await cluster.resume("n3")
        await cluster.kill("n3")
        await cluster.restart("n3")
        first = await stage.status("n3")
        await stage.sleep(0.3)
        second = await stage.status("n3")
        rate = (second.own.mono_ns - first.own.mono_ns) / (second.true_ns - first.true_ns)
        assert abs(rate - 1.3) < 0.01
        await bends_as_it_says(stage, Primitive.CLOCK_WALL, ClockMode.RATE)
        if kind.on_host:
            with pytest.raises(Unsupported, match="outside"):
                await cluster.bend_clock("n3", ClockBend(rate_ppm=-1_000_000))

    on(work, clock=ClockMode.RATE)


@pytest.mark.parametrize("clock", ClockMode)
def test_a_cluster_elects_and_serves_in_every_mode_of_its_clocks(on: Started, clock: ClockMode) -> None:
    async def work(stage: Stage) -> None:
        client = await stage.dial(await stage.leader())
        for value in range(20):
            assert (await client.ask(Op.WRITE, "x", value)).code is None
            assert (await client.ask(Op.READ, "x")).value == value
        client.close()

    on(work, clock=clock)


def test_a_clock_that_was_not_armed_is_not_bent(on: Started) -> None:
    async def work(stage: Stage) -> None:
        assert stage.cluster.supports(Primitive.PAUSE) is None
        for primitive in BENDS:
            await bends_as_it_says(stage, primitive, ClockMode.NONE)

    on(work)
