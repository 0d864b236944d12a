"""A container is all of its processes, and somebody else may do to it what was never asked for here."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from targets.cluster import CLIENTS, Dropped, Held, Link, Open, ProcessState
from targets.docker import netns, processes
from targets.docker.container import Container
from targets.docker.engine import Engine
from targets.docker.links import PacketLinks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

pytestmark = [
    pytest.mark.processes,
    pytest.mark.usefixtures("engine"),
    pytest.mark.timeout(60),
]

BASE = "debian:bookworm-slim"
MANY = ("sh", "-c", "sleep 600 & sleep 600 & wait")
BACK_S = 10.0


def docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, timeout=60, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def many(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a container of four processes, the first a mere init; ``param`` has options of its own."""
    options = getattr(request, "param", ())
    name = f"lantern-test-whole-{os.getpid()}"
    made = docker("run", "-d", "--init", "--stop-timeout", "0", "--name", name, *options, BASE, *MANY)
    try:
        yield made
    finally:
        docker("rm", "-f", "-v", made)


def states(container: str) -> list[str]:
    """Return the letter that the kernel has for each process in the container."""
    letters = []
    for line in docker("top", container, "-eo", "pid").splitlines()[1:]:
        stat = Path(f"/proc/{line.strip()}/stat").read_text()
        letters.append(stat.rpartition(")")[2].split()[0])
    return letters


def handled(container: str, work: Callable[[Container], Awaitable[None]]) -> None:
    async def run() -> None:
        engine = await Engine.connect()
        try:
            handle = Container(engine, "n1", container)
            await handle.refresh()
            await work(handle)
        finally:
            engine.close()

    asyncio.run(run())


def test_a_pause_stops_every_process_and_not_only_the_first(many: str) -> None:
    async def work(container: Container) -> None:
        await container.pause()
        assert states(many) == ["T"] * 4
        assert container.state() is ProcessState.STOPPED
        last = int(docker("top", many, "-eo", "pid").split()[-1])
        os.kill(last, signal.SIGCONT)
        assert container.state() is ProcessState.RUNNING, "one of them serves"
        await container.pause()
        assert container.state() is ProcessState.STOPPED
        await container.resume()
        assert "T" not in states(many)
        assert container.state() is ProcessState.RUNNING

    handled(many, work)


def test_one_that_the_engine_froze_is_stopped_and_is_thawed(many: str) -> None:
    async def work(container: Container) -> None:
        docker("pause", many)
        assert container.state() is ProcessState.STOPPED
        await container.resume()
        assert container.state() is ProcessState.RUNNING
        assert docker("inspect", "-f", "{{.State.Paused}}", many) == "false"

    handled(many, work)


def test_one_that_this_user_may_not_signal_is_frozen_by_the_engine(
    many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes.Group, "obeys", lambda _group: False)

    async def work(container: Container) -> None:
        await container.pause()
        assert container.state() is ProcessState.STOPPED
        assert docker("inspect", "-f", "{{.State.Paused}}", many) == "true"
        await container.resume()
        assert container.state() is ProcessState.RUNNING
        await container.kill()
        assert container.state() is ProcessState.GONE

    handled(many, work)


def test_one_that_somebody_else_started_again_is_taken_as_it_is(many: str) -> None:
    async def work(container: Container) -> None:
        before = container.pid
        docker("restart", "-t", "0", many)
        assert container.state() is ProcessState.GONE
        began_s = time.monotonic()
        await container.start()
        assert time.monotonic() - began_s < BACK_S / 2
        assert container.state() is ProcessState.RUNNING
        assert container.pid not in (None, before)

    handled(many, work)


@pytest.mark.parametrize("many", [("--restart", "always")], indirect=True)
def test_one_with_a_restart_policy_comes_back_from_a_kill_by_itself(many: str) -> None:
    async def work(container: Container) -> None:
        await container.kill()
        assert container.state() is ProcessState.GONE
        began_s = time.monotonic()
        await container.start()
        assert time.monotonic() - began_s < BACK_S / 2
        assert container.state() is ProcessState.RUNNING
        assert docker("inspect", "-f", "{{.RestartCount}}", many) == "1"

    handled(many, work)


def test_a_cut_that_somebody_opened_is_not_made_again_by_another_one(many: str) -> None:
    system: Any = SimpleNamespace(
        services={"n1": None, "n2": None}, client_port=1, peer_port=2, one_way_dials=False
    )
    run = f"lantern-{os.getpid()}-1-flushed"

    async def work(container: Container) -> None:
        assert container.pid is not None
        links = PacketLinks(run, system)
        links.know({"n1": "10.1.1.1", "n2": "10.1.1.2", CLIENTS: "10.1.1.3"})
        links.attach("n1", container.pid)
        first, second = Link("n2", "n1"), Link(CLIENTS, "n1")
        links.set(first, Held())
        netns.enter(container.pid, lambda: netns.nft_here("flush ruleset"))
        assert links.state(first) == Open(), "what the kernel does, not what was asked for"
        links.set(second, Held())
        assert (links.state(first), links.state(second)) == (Open(), Held()), "nobody knows since when"
        links.set(first, Open())
        links.set(first, Held())
        assert (links.state(first), links.state(second)) == (Held(), Held())
        netns.enter(container.pid, lambda: netns.nft_here("flush ruleset"))
        links.renew()
        assert (links.state(first), links.state(second)) == (Open(), Open())
        links.set(first, Held())
        links.set(second, Held())
        netns.enter(container.pid, lambda: netns.nft_here("flush ruleset"))
        links.set(first, Open())
        assert (links.state(first), links.state(second)) == (Open(), Open()), "another one's heal"
        links.set(second, Dropped())
        links.renew()
        assert links.state(second) == Dropped(), "what is whole is kept"
        netns.enter(container.pid, lambda: netns.nft_here("flush ruleset"))
        await links.close()
        assert netns.enter(container.pid, lambda: netns.nft_here("list tables")) == ""

    handled(many, work)
