"""Links that the kernel delays: one way, in order, nothing left over when healed or abandoned."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from targets.clock import MS
from targets.cluster import CLIENTS, Delayed, Held, Link, Open
from targets.docker import netns, queues
from targets.docker.heal import heal
from targets.host.heal import heal as local_heal
from targets.leasekv.config import NodeConfig
from targets.leasekv.containers import leasekv_cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from targets.docker.cluster import DockerCluster

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("queued")]

CONFIG = NodeConfig(node="n1", nodes=("n1", "n2"), election_ns=300 * MS, heartbeat_ns=40 * MS)
THERE, BACK = Link("n1", "n2"), Link("n2", "n1")
PORT = 7999


@pytest.fixture
def queued(engine: None) -> None:
    del engine
    if (reason := queues.obstacle()) is not None:
        pytest.skip(reason)


class Ends:
    """Both ends of a connection from one node's namespace to another's."""

    def __init__(self, front: socket.socket, back: socket.socket) -> None:
        self.front = front
        self.back = back
        for end in (front, back):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setblocking(False)

    async def took_s(self, data: bytes, *, back: bool = False) -> float:
        """Return how long it takes until all of ``data`` has arrived, as it was sent."""
        loop = asyncio.get_running_loop()
        source, sink = (self.back, self.front) if back else (self.front, self.back)
        begun_s = time.monotonic()
        sending = asyncio.ensure_future(loop.sock_sendall(source, data))
        heard = b""
        async with asyncio.timeout(10):
            while len(heard) < len(data):
                heard += await loop.sock_recv(sink, 1 << 16)
            await sending
        assert heard == data
        return time.monotonic() - begun_s


def connect(pids: tuple[int, int], address: str) -> Ends:
    here, there = pids
    with netns.enter(there, lambda: socket.create_server((address, PORT))) as listener:
        front = netns.enter(here, lambda: socket.create_connection((address, PORT), 5))
        return Ends(front, listener.accept()[0])


@asynccontextmanager
async def started(run_dir: Path) -> AsyncIterator[tuple[DockerCluster, Ends]]:
    cluster = leasekv_cluster(CONFIG, run_dir)
    await cluster.start()
    try:
        ends = connect(pids_of(cluster), cluster.links.peers("n1")["n2"])
        yield cluster, ends
        ends.front.close()
        ends.back.close()
    finally:
        await cluster.stop()


def pids_of(cluster: DockerCluster) -> tuple[int, int]:
    first, second = (cluster.container(node).pid for node in cluster.nodes)
    assert first is not None
    assert second is not None
    return first, second


def saved(pid: int) -> str:
    """Return every rule and table of a namespace, without what counts packets."""
    done = netns.enter(
        pid,
        lambda: subprocess.run(
            ["iptables-save", "-t", "raw"], capture_output=True, check=True, text=True, timeout=10
        ),
    )
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("#"))


def test_a_delay_is_one_way_exact_and_in_order_and_ends_with_all_delivered(tmp_path: Path) -> None:
    async def run() -> None:
        async with started(tmp_path / "run") as (cluster, ends):
            assert await ends.took_s(b"soon") < 0.1
            cluster.set_link(THERE, Delayed(200 * MS))
            assert cluster.link_state(THERE) == Delayed(200 * MS)
            assert cluster.link_state(BACK) == Open()
            took_s = sorted([await ends.took_s(b"late") for _ in range(5)])
            assert took_s[0] >= 0.2
            assert took_s[2] < 0.26
            assert await ends.took_s(b"prompt", back=True) < 0.1
            assert await ends.took_s(bytes(range(256)) * 2000) >= 0.2
            cluster.set_link(THERE, Delayed(30_000 * MS))
            assert cluster.link_state(THERE) == Delayed(30_000 * MS)
            slow = asyncio.ensure_future(ends.took_s(b"0123456789" * 100))
            await asyncio.sleep(0.3)
            assert not slow.done()
            cluster.set_link(THERE, Open())
            assert cluster.link_state(THERE) == Open()
            assert 0.3 <= await slow < 0.4, "let go at once"
            assert await ends.took_s(b"soon") < 0.1

    asyncio.run(run())


def test_a_delay_whose_rules_somebody_removed_is_none(tmp_path: Path) -> None:
    async def run() -> None:
        async with started(tmp_path / "run") as (cluster, ends):
            cluster.set_link(THERE, Delayed(200 * MS))
            pid = pids_of(cluster)[1]
            netns.enter(pid, lambda: netns.nft_here("delete table ip raw"))
            assert await ends.took_s(b"soon") < 0.1
            assert cluster.link_state(THERE) == Open()
            cluster.set_link(THERE, Open())
            assert cluster.link_state(THERE) == Open()

    asyncio.run(run())


def test_what_is_on_its_way_late_does_not_pass_a_cut_and_comes_after_the_heal(tmp_path: Path) -> None:
    async def run() -> None:
        async with started(tmp_path / "run") as (cluster, ends):
            cluster.set_link(THERE, Delayed(300 * MS))
            late = asyncio.ensure_future(ends.took_s(b"late"))
            await asyncio.sleep(0.1)
            cluster.set_link(THERE, Held())
            assert cluster.link_state(THERE) == Held()
            await asyncio.sleep(0.6)
            assert not late.done()
            cluster.set_link(THERE, Delayed(300 * MS))
            assert cluster.link_state(THERE) == Delayed(300 * MS)
            assert await late >= 0.7

    asyncio.run(run())


def test_clients_links_are_late_either_way_and_a_restart_keeps_them_so(tmp_path: Path) -> None:
    async def run() -> None:
        async with started(tmp_path / "run") as (cluster, _):
            for link in (Link(CLIENTS, "n1"), Link("n1", CLIENTS), BACK):
                cluster.set_link(link, Delayed(150 * MS))
            begun_s = time.monotonic()
            _, writer = await asyncio.open_connection(*cluster.address("n1"))
            assert 0.3 <= time.monotonic() - begun_s < 0.45, "a handshake goes there and back"
            writer.close()
            await cluster.kill("n1")
            assert cluster.link_state(BACK) == Delayed(150 * MS)
            await cluster.restart("n1")
            assert cluster.link_state(BACK) == Delayed(150 * MS)
            assert cluster.link_state(Link(CLIENTS, "n1")) == Delayed(150 * MS)

    asyncio.run(run())


def test_the_end_leaves_no_rule_and_nobody_elses_is_touched(tmp_path: Path) -> None:
    async def run() -> None:
        async with started(tmp_path / "run") as (cluster, _):
            first, second = pids_of(cluster)
            foreign = ["iptables", "-t", "raw", "-A", "OUTPUT", "-d", "10.9.9.9", "-j", "NOTRACK"]
            netns.enter(second, lambda: subprocess.run(foreign, check=True, timeout=10))
            before = [netns.enter(first, lambda: netns.nft_here("list tables")), saved(second)]
            for link in (THERE, BACK):
                cluster.set_link(link, Delayed(50 * MS))
            await cluster.links.close()
            tables = netns.enter(first, lambda: netns.nft_here("list tables"))
            assert [f"{tables}table inet {cluster.run.replace('-', '_')}\n", saved(second)] == before

    asyncio.run(run())


ABANDONED = """
import asyncio, sys
from pathlib import Path
from targets.cluster import Delayed, Link
from targets.leasekv.containers import leasekv_cluster
from targets.leasekv.config import NodeConfig

async def main():
    cluster = leasekv_cluster(NodeConfig(node="n1", nodes=("n1", "n2")), Path(sys.argv[1]))
    await cluster.start()
    cluster.set_link(Link("n1", "n2"), Delayed(60_000_000_000))
    pids = [cluster.container(node).pid for node in cluster.nodes]
    print(*pids, cluster.links.peers("n1")["n2"], flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_a_harness_killed_with_9_delays_nothing_any_more(tmp_path: Path) -> None:
    name = f"abandoned-{tmp_path.parent.name}"
    command = [sys.executable, "-c", ABANDONED, str(tmp_path / name)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None

    async def run(here: int, there: int, address: str) -> None:
        listener = netns.enter(there, lambda: socket.create_server((address, PORT)))
        front = netns.enter(here, socket.socket)
        front.setblocking(False)
        loop = asyncio.get_running_loop()
        dialing = asyncio.ensure_future(loop.sock_connect(front, (address, PORT)))
        await asyncio.sleep(0.5)
        assert not dialing.done(), "its first packet waits in the queue"
        child.send_signal(signal.SIGKILL)
        async with asyncio.timeout(5):
            await dialing
        ends = Ends(front, listener.accept()[0])
        assert await ends.took_s(b"soon") < 0.1
        for end in (ends.front, ends.back, listener):
            end.close()

    try:
        here, there, address = child.stdout.readline().split()
        asyncio.run(run(int(here), int(there), address))
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        asyncio.run(heal(name))
        local_heal(name)


def test_without_the_package_the_reason_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "netfilterqueue", None)
    queues.obstacle.cache_clear()
    assert queues.obstacle() == queues.NO_PACKAGE
    monkeypatch.undo()
    queues.obstacle.cache_clear()
    assert queues.obstacle() is None


def test_a_kernel_that_refuses_is_told_of_with_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "iptables-restore"
    broken.write_text("#!/bin/sh\necho 'Extension NFQUEUE is not known' >&2\nexit 2\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    queues.obstacle.cache_clear()
    assert "iptables-restore refused: Extension NFQUEUE is not known" in (queues.obstacle() or "")
    queues.obstacle.cache_clear()
