"""Starting and stopping a cluster, and what a node lives through: pause, kill, restart."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, SIGSTOP

import pytest
from conformance_kinds import (
    NAMES,
    SHORT,
    HostStage,
    Kind,
    Stage,
    Started,
    about_links,
    on_the_host,
)

from targets.cluster import ClockMode, Held, Link, ProcessState, TargetError, Unsupported
from targets.docker.cluster import DockerCluster
from targets.host import runtime
from targets.host.faketime import SHM
from targets.leasekv.config import ConfigError, NodeConfig
from targets.leasekv.messages import Op
from targets.local.cluster import LocalCluster


def node_pids() -> set[int]:
    """Return the nodes that are children of this process, dead ones that nobody reaped among them.

    Python's helpers, which live on after the first process pool of any test, are none.
    """
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            ours = int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid()
            if ours and b"from multiprocessing." not in (path.parent / "cmdline").read_bytes():
                found.add(int(path.parent.name))
    return found


def files_of(pids: set[int]) -> list[Path]:
    """Return our runtime directories and the preload's shared memory for these processes."""
    found = [path for base in runtime.bases() for path in base.glob(f"lantern-{os.getpid()}-*")]
    return found + [
        path for path in SHM.glob("*faketime_*") if int(path.name.rpartition("_")[2]) in pids
    ]


def addresses_here(stage: Stage) -> list[tuple[str, int]]:
    """Return where clients dial, as far as that is this host's; a container's goes with its network."""
    if not isinstance(stage, HostStage):
        return []
    addresses = [stage.cluster.address(name) for name in stage.cluster.nodes]
    return [address for address in addresses if address[0].startswith("127.")]


@pytest.mark.parametrize("clock", ClockMode)
def test_a_cluster_that_was_stopped_leaves_no_process_port_or_file(
    kind: Kind, tmp_path: Path, clock: ClockMode
) -> None:
    pids = set()

    async def run() -> None:
        stage = kind.stage(SHORT, tmp_path / "run", clock)
        cluster = stage.cluster
        await cluster.start()
        addresses = addresses_here(stage)
        await stage.leader()
        await cluster.kill("n2")
        await cluster.restart("n2")
        pids.update(node_pids())
        assert len(pids) == kind.children, "only processes are children"
        assert bool(files_of(pids)) is kind.on_host
        await cluster.pause("n1")
        await cluster.kill("n2")
        cluster.set_link(Link("n1", "n3"), Held())
        await cluster.stop()
        for address in addresses:
            with socket.socket() as again:
                again.bind(address)
        await cluster.stop()

    asyncio.run(run())
    assert node_pids() == set()
    assert files_of(pids) == []
    assert {path.name for path in (tmp_path / "run").rglob("*.*")} == kind.kept


def test_a_cluster_that_cannot_start_says_why(kind: Kind, tmp_path: Path) -> None:
    config = NodeConfig(node="n1", nodes=NAMES, policy="no-such-policy")

    async def run() -> None:
        with pytest.raises((TargetError, ConfigError), match="'no-such-policy'") as refusal:
            await kind.stage(config, tmp_path, ClockMode.NONE).cluster.start()
        assert "unknown policy" in str(refusal.value)
        if kind.on_host:
            assert re.match(r"n\d ended with code", str(refusal.value)), "its last words are told"

    asyncio.run(run())
    assert node_pids() == set()
    assert files_of(set()) == []


def test_a_cluster_that_was_not_started_has_no_addresses(kind: Kind, tmp_path: Path) -> None:
    cluster = kind.stage(SHORT, tmp_path, ClockMode.NONE).cluster
    with pytest.raises(TargetError, match=r"has not been started, or was stopped|dialled by name"):
        cluster.address("n1")


@on_the_host
def test_a_name_that_cannot_be_a_node_is_refused_before_anything_starts(
    kind: Kind, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"\.\./n1"):
        kind.stage(NodeConfig(node="../n1", nodes=("../n1",)), tmp_path, ClockMode.NONE)


@about_links
def test_two_clusters_live_side_by_side(kind: Kind, tmp_path: Path) -> None:
    async def run() -> None:
        stages = [kind.stage(SHORT, tmp_path / name, ClockMode.NONE) for name in ("a", "b")]
        await asyncio.gather(*(stage.cluster.start() for stage in stages))
        try:
            for number, stage in enumerate(stages):
                client = await stage.dial(await stage.leader())
                assert (await client.ask(Op.WRITE, "x", number)).code is None
                assert (await client.ask(Op.READ, "x")).value == number
                client.close()
        finally:
            await asyncio.gather(*(stage.cluster.stop() for stage in stages))

    asyncio.run(run())


def test_every_node_says_who_it_is_on_the_true_clock(on: Started) -> None:
    async def work(stage: Stage) -> None:
        for name in stage.cluster.nodes:
            before_ns = stage.now_ns()
            status = await stage.status(name)
            assert status.node == name
            assert status.boot == 1
            assert before_ns <= status.true_ns <= stage.now_ns()
        with pytest.raises(ValueError, match="'n9'"):
            await stage.cluster.status("n9")

    on(work)


def test_a_paused_node_stands_still_until_it_is_resumed(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        await cluster.pause("n2")
        assert cluster.state("n2") is ProcessState.STOPPED
        assert await cluster.status("n2") is None
        with pytest.raises(Unsupported, match="n2 is stopped"):
            await cluster.campaign("n2")
        await cluster.resume("n2")
        await cluster.resume("n2")
        assert cluster.state("n2") is ProcessState.RUNNING
        assert (await stage.status("n2")).boot == 1

    on(work)


@about_links
def test_a_killed_node_is_gone_and_refuses_clients(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        client = await stage.dial("n2")
        await client.ask(Op.READ, "x")
        await cluster.kill("n2")
        assert cluster.state("n2") is ProcessState.GONE
        assert await cluster.status("n2") is None
        with pytest.raises(ConnectionError):
            await client.answer()
        with pytest.raises(ConnectionRefusedError):
            await stage.dial("n2")
        await cluster.resume("n2")
        await cluster.kill("n2")
        with pytest.raises(Unsupported, match="n2 is gone"):
            await cluster.pause("n2")
        client.close()

    on(work)


def pid_of(stage: Stage, node: str) -> int:
    match stage.cluster:
        case DockerCluster() as cluster:
            pid = cluster.container(node).pid
        case LocalCluster() as cluster:
            process = cluster._nodes[node].process
            pid = None if process is None else process.identity.pid
        case other:
            raise AssertionError(other)
    assert pid is not None
    return pid


@on_the_host
def test_a_node_that_somebody_else_stops_and_kills_is_seen_to_be(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        assert await cluster.exit_code("n2") is None
        for number, state in ((SIGSTOP, ProcessState.STOPPED), (SIGKILL, ProcessState.GONE)):
            for _ in range(2):
                with suppress(ProcessLookupError):
                    os.kill(pid_of(stage, "n2"), number)
            async with asyncio.timeout(5):
                while cluster.state("n2") is not state:
                    await stage.sleep(0.01)
        async with asyncio.timeout(5):
            while (code := await cluster.exit_code("n2")) is None:
                await stage.sleep(0.01)
        assert code == -SIGKILL
        await cluster.restart("n2")
        assert await cluster.exit_code("n2") is None
        assert (await stage.status("n2")).boot == 2

    on(work)


def test_what_was_acknowledged_outlives_all_nodes(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        client = await stage.dial(await stage.leader())
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        assert (await client.ask(Op.CAS, "x", [1, 2])).code is None
        client.close()
        await cluster.pause("n3")
        for name in cluster.nodes:
            await cluster.kill(name)
        await asyncio.gather(*(cluster.restart(name) for name in cluster.nodes))
        assert {(await stage.status(name)).boot for name in cluster.nodes} == {2}
        client = await stage.dial(await stage.leader())
        assert (await client.ask(Op.READ, "x")).value == 2
        client.close()
        await cluster.restart("n1")
        assert (await stage.status("n1")).boot == 2, "a node that is there is left alone"

    on(work)
