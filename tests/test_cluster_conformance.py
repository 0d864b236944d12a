"""What every kind of cluster owes its users (`targets.cluster.Cluster`), one suite for all of them.

A kind is a way to make a cluster that is not started yet. Elections are short here, so that a test
takes a second; nothing below says anything about leases.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from nemesis import means
from nemesis.faults import FillDisk, Standing
from targets.clock import MS
from targets.cluster import (
    CLIENTS,
    ClockBend,
    ClockMode,
    Cluster,
    Delayed,
    Dropped,
    Held,
    Link,
    LinkState,
    NodeStatus,
    Open,
    Primitive,
    ProcessState,
    Role,
    Silenced,
    TargetError,
    Unsupported,
)
from targets.host import runtime
from targets.host.faketime import SHM
from targets.leasekv import processes, wire
from targets.leasekv.config import NodeConfig
from targets.leasekv.containers import leasekv_cluster
from targets.leasekv.messages import Op, Request, Response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

pytestmark = pytest.mark.processes

NAMES = ("n1", "n2", "n3")
SHORT = NodeConfig(
    node="n1",
    nodes=NAMES,
    election_ns=300 * MS,
    election_jitter_ns=150 * MS,
    heartbeat_ns=40 * MS,
)
PATIENT = NodeConfig(node="n1", nodes=NAMES, election_ns=5_000 * MS, heartbeat_ns=500 * MS)


class Kind(Protocol):
    """Make a cluster."""

    def __call__(self, config: NodeConfig, run_dir: Path, *, clock: ClockMode) -> Cluster:
        """Return one that is not started yet."""


KINDS: dict[str, Kind] = {
    "local": processes.leasekv_cluster,
    "docker": leasekv_cluster,
    "docker-gates": partial(leasekv_cluster, gates=True),
}


class Started:
    """Starts clusters in a loop and ends them, whatever the test does."""

    def __init__(self, kind: Kind, run_dir: Path) -> None:
        self._kind = kind
        self._run_dir = run_dir

    def __call__(
        self,
        work: Callable[[Cluster], Awaitable[None]],
        *,
        config: NodeConfig = SHORT,
        clock: ClockMode = ClockMode.NONE,
    ) -> None:
        async def run() -> None:
            cluster = self._kind(config, self._run_dir, clock=clock)
            await cluster.start()
            try:
                await work(cluster)
            finally:
                await cluster.stop()

        asyncio.run(run())


IN_MINUTES = ["local", "docker", pytest.param("docker-gates", marks=pytest.mark.soak)]
"""Gates differ in links alone: what has nothing to do with links is tested with them by `make soak`."""

about_links = pytest.mark.parametrize("kind", KINDS, indirect=True)


@pytest.fixture(params=IN_MINUTES)
def kind(request: pytest.FixtureRequest) -> Kind:
    if request.param.startswith("docker"):
        request.getfixturevalue("engine")
    return KINDS[request.param]


@pytest.fixture
def on(kind: Kind, tmp_path: Path) -> Started:
    return Started(kind, tmp_path / "run")


class Client:
    """The plainest client: sends requests, keeps answers in the order they came."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = wire.response_decoder()
        self._answers: list[Response] = []
        self._last = 0

    @classmethod
    async def dial(cls, cluster: Cluster, node: str) -> Client:
        return cls(*await asyncio.open_connection(*cluster.address(node)))

    def send(self, op: Op, key: str, value: Any = None) -> None:
        self._last += 1
        self._writer.write(wire.encode(Request(self._last, op, key, value)))

    async def answer(self, within_s: float = 5.0) -> Response:
        async with asyncio.timeout(within_s):
            while not self._answers:
                data = await self._reader.read(1 << 16)
                if not data:
                    raise ConnectionResetError
                self._answers += self._decoder.feed(data)
        return self._answers.pop(0)

    async def ask(self, op: Op, key: str, value: Any = None) -> Response:
        self.send(op, key, value)
        return await self.answer()

    def close(self) -> None:
        self._writer.transport.abort()


async def statuses(cluster: Cluster, within_s: float = 10.0) -> AsyncIterator[dict[str, NodeStatus]]:
    """Ask all nodes again and again until the time is up."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        found = [await cluster.status(name) for name in cluster.nodes]
        yield {status.node: status for status in found if status is not None}
        await asyncio.sleep(0.01)


async def leader(cluster: Cluster) -> str:
    """Return the node that leads and has committed an entry of its own."""
    async for found in statuses(cluster):
        for status in found.values():
            if status.role is Role.LEADER and status.commit_index:
                return status.node
    raise AssertionError("no leader in time")


async def status_of(cluster: Cluster, node: str) -> NodeStatus:
    status = await cluster.status(node)
    assert status is not None
    return status


def others(cluster: Cluster, node: str) -> list[str]:
    return [name for name in cluster.nodes if name != node]


def raw_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


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


def is_ours(address: tuple[str, int]) -> bool:
    """Tell whether an address is this host's; a container's goes with its network."""
    return address[0].startswith("127.")


def files_of(pids: set[int]) -> list[Path]:
    """Return our runtime directories and the preload's shared memory for these processes."""
    found = [path for base in runtime.bases() for path in base.glob(f"lantern-{os.getpid()}-*")]
    return found + [
        path for path in SHM.glob("*faketime_*") if int(path.name.rpartition("_")[2]) in pids
    ]


# Starting and stopping.


@pytest.mark.parametrize("clock", ClockMode)
def test_a_cluster_that_was_stopped_leaves_no_process_port_or_file(
    kind: Kind, tmp_path: Path, clock: ClockMode
) -> None:
    pids = set()

    async def run() -> None:
        cluster = kind(SHORT, tmp_path / "run", clock=clock)
        await cluster.start()
        addresses = [cluster.address(name) for name in cluster.nodes]
        await leader(cluster)
        await cluster.kill("n2")
        await cluster.restart("n2")
        pids.update(node_pids())
        assert len(pids) == (3 if kind is processes.leasekv_cluster else 0), (
            "only processes are children"
        )
        assert files_of(pids)
        await cluster.pause("n1")
        await cluster.kill("n2")
        cluster.set_link(Link("n1", "n3"), Held())
        await cluster.stop()
        for address in filter(is_ours, addresses):
            with socket.socket() as again:
                again.bind(address)
        await cluster.stop()

    asyncio.run(run())
    assert node_pids() == set()
    assert files_of(pids) == []
    kept = {path.name for path in (tmp_path / "run").rglob("*.*")}
    assert kept == {f"{name}.{kind}" for name in NAMES for kind in ("jsonl", "log")}


def test_a_node_that_never_starts_is_a_target_error_with_its_last_words(
    kind: Kind, tmp_path: Path
) -> None:
    async def run() -> None:
        cluster = kind(
            NodeConfig(node="n1", nodes=NAMES, policy="no-such-policy"), tmp_path, clock=ClockMode.NONE
        )
        with pytest.raises(TargetError, match=r"n\d ended with code") as refusal:
            await cluster.start()
        assert "unknown policy 'no-such-policy'" in str(refusal.value)
        with pytest.raises(TargetError, match="has not been started, or was stopped"):
            cluster.address("n1")

    asyncio.run(run())
    assert node_pids() == set()
    assert files_of(set()) == []


def test_a_name_that_cannot_be_a_node_is_refused_before_anything_starts(
    kind: Kind, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"\.\./n1"):
        kind(NodeConfig(node="../n1", nodes=("../n1",)), tmp_path, clock=ClockMode.NONE)


@about_links
def test_two_clusters_live_side_by_side(kind: Kind, tmp_path: Path) -> None:
    async def run() -> None:
        clusters = [kind(SHORT, tmp_path / name, clock=ClockMode.NONE) for name in ("a", "b")]
        await asyncio.gather(*(cluster.start() for cluster in clusters))
        try:
            for number, cluster in enumerate(clusters):
                client = await Client.dial(cluster, await leader(cluster))
                assert (await client.ask(Op.WRITE, "x", number)).code is None
                assert (await client.ask(Op.READ, "x")).value == number
                client.close()
        finally:
            await asyncio.gather(*(cluster.stop() for cluster in clusters))

    asyncio.run(run())


def test_every_node_says_who_it_is_on_the_true_clock(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        for name in cluster.nodes:
            before_ns = raw_ns()
            status = await status_of(cluster, name)
            assert status.node == name
            assert status.boot == 1
            assert before_ns <= status.true_ns <= raw_ns()
        with pytest.raises(ValueError, match="'n9'"):
            await cluster.status("n9")

    on(work)


# Pause, kill, restart.


def test_a_paused_node_stands_still_until_it_is_resumed(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        await cluster.pause("n2")
        assert cluster.state("n2") is ProcessState.STOPPED
        assert await cluster.status("n2") is None
        with pytest.raises(Unsupported, match="n2 is stopped"):
            await cluster.campaign("n2")
        await cluster.resume("n2")
        await cluster.resume("n2")
        assert cluster.state("n2") is ProcessState.RUNNING
        assert (await status_of(cluster, "n2")).boot == 1

    on(work)


@about_links
def test_a_killed_node_is_gone_and_refuses_clients(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        client = await Client.dial(cluster, "n2")
        await client.ask(Op.READ, "x")
        await cluster.kill("n2")
        assert cluster.state("n2") is ProcessState.GONE
        assert await cluster.status("n2") is None
        with pytest.raises(ConnectionError):
            await client.answer()
        with pytest.raises(ConnectionRefusedError):
            await Client.dial(cluster, "n2")
        await cluster.resume("n2")
        await cluster.kill("n2")
        with pytest.raises(Unsupported, match="n2 is gone"):
            await cluster.pause("n2")
        client.close()

    on(work)


def test_what_was_acknowledged_outlives_all_nodes(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        client = await Client.dial(cluster, await leader(cluster))
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        assert (await client.ask(Op.CAS, "x", [1, 2])).code is None
        client.close()
        await cluster.pause("n3")
        for name in cluster.nodes:
            await cluster.kill(name)
        await asyncio.gather(*(cluster.restart(name) for name in cluster.nodes))
        assert {(await status_of(cluster, name)).boot for name in cluster.nodes} == {2}
        client = await Client.dial(cluster, await leader(cluster))
        assert (await client.ask(Op.READ, "x")).value == 2
        client.close()
        await cluster.restart("n1")
        assert (await status_of(cluster, "n1")).boot == 2, "a node that is there is left alone"

    on(work)


# Links.


@about_links
def test_links_are_open_until_they_are_set_and_can_be_read_back(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        ends = (*cluster.nodes, CLIENTS)
        links = [Link(a, b) for a in ends for b in ends if a != b]
        assert {type(cluster.link_state(link)) for link in links} == {Open}
        delays = [Delayed(5 * MS)] if cluster.supports(Primitive.DELAY) is None else []
        silences = [Silenced()] if cluster.supports(Primitive.SILENCE) is None else []
        states: tuple[LinkState, ...] = (Held(), Dropped(), *delays, *silences, Open())
        for state in states:
            cluster.set_link(Link("n1", "n2"), state)
            assert cluster.link_state(Link("n1", "n2")) == state
            assert cluster.link_state(Link("n2", "n1")) == Open()

    on(work)


@about_links
def test_a_held_client_link_delivers_everything_in_order_once_it_opens(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        node = await leader(cluster)
        client = await Client.dial(cluster, node)
        for link in (Link(CLIENTS, node), Link(node, CLIENTS)):
            await client.ask(Op.READ, "x")
            cluster.set_link(link, Held())
            for value in range(5):
                client.send(Op.WRITE, "x", value)
            with pytest.raises(TimeoutError):
                await client.answer(0.2)
            cluster.set_link(link, Open())
            assert [(await client.answer()).code for _ in range(5)] == [None] * 5
            assert (await client.ask(Op.READ, "x")).value == 4
        client.close()

    on(work)


@about_links
def test_a_held_link_between_peers_is_one_way(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        node = await leader(cluster)
        follower, _ = others(cluster, node)
        client = await Client.dial(cluster, node)

        async def write_and_compare() -> bool:
            """Return whether the follower heard of a write."""
            assert (await client.ask(Op.WRITE, "x", 1)).code is None
            committed = (await status_of(cluster, node)).commit_index
            deadline = time.monotonic() + 0.2
            while time.monotonic() < deadline:
                if (await status_of(cluster, follower)).commit_index >= committed:
                    return True
                await asyncio.sleep(0.01)
            return False

        cluster.set_link(Link(follower, node), Held())
        assert await write_and_compare(), "what the leader says still arrives"
        cluster.set_link(Link(node, follower), Held())
        assert not await write_and_compare()
        cluster.set_link(Link(node, follower), Open())
        cluster.set_link(Link(follower, node), Open())
        client.close()

    on(work)


@about_links
def test_a_node_that_was_cut_off_catches_up_after_the_heal(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        node = await leader(cluster)
        follower, _ = others(cluster, node)
        for state in (Held(), Dropped()):
            for link in (Link(node, follower), Link(follower, node)):
                cluster.set_link(link, state)
            client = await Client.dial(cluster, node)
            for value in range(50):
                assert (await client.ask(Op.WRITE, "x", value)).code is None
            client.close()
            for link in (Link(node, follower), Link(follower, node)):
                cluster.set_link(link, Open())
            async for found in statuses(cluster):
                if len({status.applied_index for status in found.values()}) == 1:
                    break
            else:
                pytest.fail(f"not caught up after {state}")
            node = await leader(cluster)
            follower, _ = others(cluster, node)

    on(work)


@about_links
def test_a_dropped_client_link_resets_and_refuses_until_it_opens(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        for link in (Link(CLIENTS, "n1"), Link("n1", CLIENTS)):
            client = await Client.dial(cluster, "n1")
            await client.ask(Op.READ, "x")
            cluster.set_link(link, Dropped())
            with pytest.raises(ConnectionError):
                await client.answer()
            with pytest.raises(ConnectionRefusedError):
                await Client.dial(cluster, "n1")
            client.close()
            cluster.set_link(link, Open())
            client = await Client.dial(cluster, "n1")
            await client.ask(Op.READ, "x")
            client.close()

    on(work)


@about_links
def test_a_delayed_link_delays_its_direction_only(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        if (reason := cluster.supports(Primitive.DELAY)) is not None:
            with pytest.raises(Unsupported):
                cluster.set_link(Link(CLIENTS, "n1"), Delayed(100 * MS))
            pytest.skip(reason)
        node = await leader(cluster)
        client = await Client.dial(cluster, node)

        async def took_s() -> float:
            begun = time.monotonic()
            await client.ask(Op.READ, "x")
            return time.monotonic() - begun

        assert min([await took_s() for _ in range(5)]) < 0.3
        cluster.set_link(Link(CLIENTS, node), Delayed(400 * MS))
        assert 0.4 <= await took_s() < 0.8
        cluster.set_link(Link(node, CLIENTS), Delayed(400 * MS))
        assert 0.8 <= await took_s() < 1.2
        cluster.set_link(Link(CLIENTS, node), Open())
        assert 0.4 <= await took_s() < 0.8
        client.close()

    on(work)


# Clocks.


def armed(kind: Kind, tmp_path: Path, clock: ClockMode, primitive: Primitive) -> None:
    reason = kind(SHORT, tmp_path, clock=clock).supports(primitive)
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.parametrize("rate_ppm", [200_000, -200_000, 500_000])
def test_a_bent_rate_is_what_was_asked_for_and_begins_without_a_step(
    kind: Kind, on: Started, tmp_path: Path, rate_ppm: int
) -> None:
    armed(kind, tmp_path, ClockMode.RATE, Primitive.CLOCK_RATE)

    async def work(cluster: Cluster) -> None:
        async def pair() -> tuple[int, int]:
            status = await status_of(cluster, "n2")
            return status.own.mono_ns, status.true_ns

        async def rate() -> float:
            own, true = await pair()
            await asyncio.sleep(0.4)
            own_later, true_later = await pair()
            return (own_later - own) / (true_later - true)

        assert abs(await rate() - 1) < 0.01
        for bend in (ClockBend(rate_ppm), ClockBend(-rate_ppm // 2), ClockBend()):
            own, true = await pair()
            begun = raw_ns()
            await cluster.bend_clock("n2", bend)
            own_after, true_after = await pair()
            slack_ns = (raw_ns() - begun) * abs(rate_ppm) // 10**6
            assert abs((own_after - own) - (true_after - true)) <= 10 * MS + slack_ns
            assert abs(await rate() - (1 + bend.rate_ppm / 1e6)) < 0.01
        untouched = await status_of(cluster, "n1")
        assert abs(untouched.own.mono_ns - untouched.own.wall_ns) < 50 * MS

    on(work, clock=ClockMode.RATE)


def test_a_jump_of_the_wall_clock_leaves_the_monotonic_clock_alone(
    kind: Kind, on: Started, tmp_path: Path
) -> None:
    armed(kind, tmp_path, ClockMode.WALL, Primitive.CLOCK_WALL)

    async def work(cluster: Cluster) -> None:
        for offset_ns in (7_500 * MS, -7_500 * MS, 0):
            await cluster.bend_clock("n1", ClockBend(wall_offset_ns=offset_ns))
            status = await status_of(cluster, "n1")
            now_ns, mono_ns, true_ns = time.time_ns(), time.monotonic_ns(), raw_ns()
            assert abs(status.own.wall_ns - now_ns - offset_ns) < 50 * MS
            assert abs((mono_ns - status.own.mono_ns) - (true_ns - status.true_ns)) < 1 * MS
        with pytest.raises(Unsupported, match="armed for jumps"):
            await cluster.bend_clock("n1", ClockBend(rate_ppm=1000))

    on(work, clock=ClockMode.WALL)


def test_a_bent_clock_stays_bent_over_a_restart_and_over_a_pause(
    kind: Kind, on: Started, tmp_path: Path
) -> None:
    armed(kind, tmp_path, ClockMode.RATE, Primitive.CLOCK_RATE)

    async def work(cluster: Cluster) -> None:
        await cluster.pause("n3")
        await cluster.bend_clock("n3", ClockBend(300_000))
        await cluster.resume("n3")
        await cluster.kill("n3")
        await cluster.restart("n3")
        first = await status_of(cluster, "n3")
        await asyncio.sleep(0.3)
        second = await status_of(cluster, "n3")
        rate = (second.own.mono_ns - first.own.mono_ns) / (second.true_ns - first.true_ns)
        assert abs(rate - 1.3) < 0.01
        with pytest.raises(Unsupported, match="armed for rates"):
            await cluster.bend_clock("n3", ClockBend(wall_offset_ns=1))
        with pytest.raises(Unsupported, match="outside"):
            await cluster.bend_clock("n3", ClockBend(rate_ppm=-1_000_000))

    on(work, clock=ClockMode.RATE)


@pytest.mark.parametrize("clock", ClockMode)
def test_a_cluster_elects_and_serves_in_every_mode_of_its_clocks(on: Started, clock: ClockMode) -> None:
    async def work(cluster: Cluster) -> None:
        client = await Client.dial(cluster, await leader(cluster))
        for value in range(20):
            assert (await client.ask(Op.WRITE, "x", value)).code is None
            assert (await client.ask(Op.READ, "x")).value == value
        client.close()

    on(work, clock=clock)


def test_a_clock_that_was_not_armed_is_not_bent(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        assert cluster.supports(Primitive.PAUSE) is None
        for primitive in (Primitive.CLOCK_RATE, Primitive.CLOCK_WALL):
            assert "armed for none" in (cluster.supports(primitive) or "")
        with pytest.raises(Unsupported, match="not armed"):
            await cluster.bend_clock("n1", ClockBend(1000))

    on(work)


# Knobs.


def test_a_node_that_is_asked_to_campaign_does_so_through_the_vote_rules(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        await cluster.campaign("n2")
        assert await leader(cluster) == "n2", "nobody had promised anything yet"
        term = (await status_of(cluster, "n2")).term
        await cluster.campaign("n3")
        await asyncio.sleep(0.2)
        assert (await status_of(cluster, "n3")).role is not Role.LEADER, "the others promised n2 silence"
        assert (await status_of(cluster, "n2")).term == term

    on(work, config=PATIENT)


def test_a_slow_apply_keeps_a_node_behind_its_commit_index(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        node = await leader(cluster)
        follower, _ = others(cluster, node)
        await cluster.set_apply_delay(follower, 1_000 * MS)
        client = await Client.dial(cluster, node)
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        await asyncio.sleep(0.1)
        behind = await status_of(cluster, follower)
        assert behind.applied_index < behind.commit_index
        await asyncio.sleep(1.5)
        caught = await status_of(cluster, follower)
        assert caught.applied_index >= behind.commit_index
        client.close()

    on(work)


def test_a_slow_sync_makes_writes_wait_and_reads_not(on: Started) -> None:
    async def work(cluster: Cluster) -> None:
        await cluster.campaign("n1")
        node = await leader(cluster)
        client = await Client.dial(cluster, node)
        await client.ask(Op.WRITE, "x", 1)
        for name in others(cluster, node):
            await cluster.set_sync_delay(name, 400 * MS)
        begun = time.monotonic()
        assert (await client.ask(Op.WRITE, "x", 2)).code is None
        assert 0.4 <= time.monotonic() - begun < 1.2
        begun = time.monotonic()
        assert (await client.ask(Op.READ, "x")).value == 2
        assert time.monotonic() - begun < 0.35
        for name in others(cluster, node):
            await cluster.set_sync_delay(name, 0)
        client.close()

    on(work, config=PATIENT)


def test_a_full_disk_ends_a_node_in_the_middle_of_a_record_and_a_restart_finds_room(
    on: Started, tmp_path: Path
) -> None:
    async def work(cluster: Cluster) -> None:
        node = await leader(cluster)
        client = await Client.dial(cluster, node)
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        full = FillDisk((others(cluster, node)[0],))
        (name,) = full.nodes
        boot = (await status_of(cluster, name)).boot
        page = "x" * 1000  # a file system's room is counted in pages of some thousand bytes
        client.send(Op.WRITE, "x", page)  # some write is on its way; the next beat carries what is left
        filling = asyncio.create_task(means.inject(cluster, full))
        while not filling.done():
            client.send(Op.WRITE, "x", page)
            await asyncio.sleep(0.02)
        verification = filling.result()
        assert verification.standing is Standing.INSTALLED
        assert verification.evidence["states"] == {name: "gone"}
        healed = await means.heal(cluster, full)
        assert healed.standing is Standing.INSTALLED
        assert healed.evidence["boots"] == {name: boot + 1}
        client.close()
        async for found in statuses(cluster):
            applied = {status.applied_index for status in found.values()}
            if len(found) == len(NAMES) and len(applied) == 1:
                break
        else:
            raise AssertionError("the node never caught up")

    on(work)
    told = "".join(path.read_text() for path in (tmp_path / "run" / "logs").iterdir())
    assert "event=end code=74 why='the disk failed: [Errno 28] No space left on device'" in told
    assert "event=cut note=" in told, "the record that was begun is cut off"
