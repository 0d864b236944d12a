"""A system that nobody has heard of runs as processes: a command line and a question are enough."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from targets.clock import Reading
from targets.cluster import (
    ClockBend,
    Dropped,
    Held,
    Link,
    NodeStatus,
    Open,
    Primitive,
    ProcessState,
    Role,
    TargetError,
    Unsupported,
)
from targets.host import procfs
from targets.local.cluster import LocalCluster
from targets.local.system import Home, Launch
from targets.local.tether import EXIT_NO_PROGRAM, tethered
from targets.system import PlainSystem
from targets.trueclock import raw_ns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from targets.cluster import Address

pytestmark = pytest.mark.processes

# Answers "count" with how many lines it has on disk and adds one; relays "PEER count" to that peer.
SERVER = """
import socketserver, socket, sys
data, client, peer, *peers = sys.argv[1:]
peers = dict(each.split("=") for each in peers)

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            *there, _word = line.decode().split()
            self.wfile.write(relay(peers[there[0]]) if there else count())

def relay(address):
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), 5) as link:
        link.sendall(b"count\\n")
        return link.makefile("rb").readline()

def count():
    with open(data, "a+") as log:
        log.write("one\\n")
        log.seek(0)
        return f"{len(log.readlines())}\\n".encode()

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    allow_reuse_port = True

import threading
for port in (client, peer):
    server = Server(("127.0.0.1", int(port)), Handler)
    threading.Thread(target=server.serve_forever).start()
print("listening", flush=True)
"""


class Counters(PlainSystem):
    """See `targets.local.system.ProcessSystem`: this is all of it."""

    def __init__(self, *nodes: str, program: tuple[str, ...] = (sys.executable, "-c", SERVER)) -> None:
        self.nodes = nodes
        self._program = program

    def launch(self, node: str, home: Home) -> Launch:
        assert node in self.nodes
        peers = (f"{peer}={host}:{port}" for peer, (host, port) in home.peers.items())
        ports = (str(home.client[1]), str(home.peer[1]))
        return Launch(command=tethered((*self._program, str(home.data / "log"), *ports, *peers)))

    async def status(self, node: str, address: Address) -> NodeStatus | None:
        try:
            _, writer = await asyncio.open_connection(*address)
        except OSError:
            return None
        writer.close()
        return NodeStatus(
            node=node,
            role=Role.FOLLOWER,
            term=0,
            leader=None,
            commit_index=0,
            applied_index=0,
            lease_remaining_ns=None,
            own=Reading(time.monotonic_ns(), time.time_ns()),
            true_ns=raw_ns(),
        )


def on(tmp_path: Path, work: Callable[[LocalCluster], Awaitable[None]]) -> None:
    async def run() -> None:
        cluster = LocalCluster(Counters("n1", "n2"), tmp_path / "run", keep=True)
        await cluster.start()
        try:
            await work(cluster)
        finally:
            await cluster.stop()

    asyncio.run(run())


async def asked(cluster: LocalCluster, node: str, question: str = "count") -> int:
    reader, writer = await asyncio.open_connection(*cluster.address(node))
    try:
        writer.write(f"{question}\n".encode())
        return int(await asyncio.wait_for(reader.readline(), 0.5))
    finally:
        writer.transport.abort()


def test_it_is_frozen_killed_and_started_again_on_what_it_had(tmp_path: Path) -> None:
    async def work(cluster: LocalCluster) -> None:
        assert [await asked(cluster, "n1") for _ in range(3)] == [1, 2, 3]
        await cluster.pause("n1")
        assert cluster.state("n1") is ProcessState.STOPPED
        with pytest.raises(TimeoutError):
            await asked(cluster, "n1")
        await cluster.resume("n1")
        counted = await asked(cluster, "n1")
        await cluster.kill("n1")
        assert cluster.state("n1") is ProcessState.GONE
        with pytest.raises(ConnectionRefusedError):
            await asked(cluster, "n1")
        await cluster.restart("n1")
        assert await asked(cluster, "n1") > counted
        assert await asked(cluster, "n2") == 1

    on(tmp_path, work)
    assert (tmp_path / "run/data/n1/log").read_text().count("one") > 4
    assert "listening" in (tmp_path / "run/logs/n1.log").read_text()


def test_its_links_are_held_cut_and_opened_without_its_knowing(tmp_path: Path) -> None:
    there, back = Link("n1", "n2"), Link("n2", "n1")

    async def work(cluster: LocalCluster) -> None:
        assert await asked(cluster, "n1", "n2 count") == 1
        for link in (there, back):  # one connection carries both directions here, for all we know
            cluster.set_link(link, Held())
            with pytest.raises(TimeoutError):
                await asked(cluster, "n1", "n2 count")
            cluster.set_link(link, Open())
            cluster.set_link(link, Dropped())
            with pytest.raises((TimeoutError, ConnectionError, ValueError)):
                await asked(cluster, "n1", "n2 count")
            cluster.set_link(link, Open())
        assert await asked(cluster, "n1", "n2 count") > 1

    on(tmp_path, work)


def test_what_it_has_not_got_is_refused_by_name(tmp_path: Path) -> None:
    async def work(cluster: LocalCluster) -> None:
        assert cluster.supports(Primitive.PAUSE) is cluster.supports(Primitive.DELAY) is None
        for primitive in (Primitive.CAMPAIGN, Primitive.CLOCK_RATE, Primitive.DISK_ROOM):
            assert cluster.supports(primitive)
        with pytest.raises(Unsupported, match="n1: it has no such knob"):
            await cluster.campaign("n1")
        with pytest.raises(Unsupported, match="n1: its clock"):
            await cluster.bend_clock("n1", ClockBend(rate_ppm=1))
        await cluster.bend_clock("n1", ClockBend())
        await cluster.set_disk_room("n1", None)

    on(tmp_path, work)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    cluster = LocalCluster(Counters("n1", program=("no-such-program",)), tmp_path / "run")
    with pytest.raises(TargetError, match="no-such-program cannot be run: No such file") as caught:
        asyncio.run(cluster.start())
    assert f"n1 ended with code {EXIT_NO_PROGRAM}" in str(caught.value)


PARENT = """
import subprocess, sys, time
from targets.local.tether import tethered
print(subprocess.Popen(tethered(("sleep", "60"))).pid, flush=True)
time.sleep(60)
"""


def test_it_dies_with_whoever_started_it(tmp_path: Path) -> None:
    command = (sys.executable, "-c", PARENT)
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        found = procfs.identity(pid)
        assert found is not None
        parent.kill()
    while procfs.state(found) is not ProcessState.GONE:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_it_does_not_begin_if_its_parent_is_gone_already(tmp_path: Path) -> None:
    command = list(tethered(("touch", str(tmp_path / "ran"))))
    command[command.index(str(os.getpid()))] = str(1 << 22)
    assert subprocess.run(command, check=False, cwd=tmp_path).returncode != 0
    assert not (tmp_path / "ran").exists()
