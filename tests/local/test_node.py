"""One node as a process: how it ends when something fails, and what it tells of it."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import pytest

from checker import evidence_lines
from checker.evidence import Booted
from targets.clock import MS, SECOND
from targets.cluster import ProcessState, Role, TargetError
from targets.leasekv import admin, node, wire
from targets.leasekv.config import NodeConfig
from targets.leasekv.messages import Op, Request, Response
from targets.leasekv.place import NodePlace, Start
from targets.leasekv.processes import leasekv_cluster
from targets.local.process import NodeProcess, environment, python

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from targets.local.cluster import LocalCluster
    from targets.local.node import LocalNode

pytestmark = pytest.mark.processes

ALONE = NodeConfig(
    node="n1", nodes=("n1",), election_ns=100 * MS, election_jitter_ns=0, heartbeat_ns=20 * MS
)


def on_one(tmp_path: Path, work: Callable[[LocalCluster, LocalNode], Awaitable[None]]) -> None:
    async def run() -> None:
        cluster = leasekv_cluster(ALONE, tmp_path / "run")
        await cluster.start()
        try:
            await work(cluster, cluster._nodes["n1"])
        finally:
            await cluster.stop()

    asyncio.run(run())


def evidence(tmp_path: Path) -> Path:
    return tmp_path / "run/evidence/n1.jsonl"


async def ask(cluster: LocalCluster, op: Op, value: object = None) -> Response:
    """Ask on a connection of its own; `ConnectionError` if there is no answer."""
    reader, writer = await asyncio.open_connection(*cluster.address("n1"))
    decoder = wire.response_decoder()
    try:
        writer.write(wire.encode(Request(1, op, "x", value)))
        while True:
            data = await asyncio.wait_for(reader.read(1 << 16), 5)
            if not data:
                raise ConnectionResetError
            for response in decoder.feed(data):
                return response
    finally:
        writer.transport.abort()


async def led(cluster: LocalCluster) -> None:
    deadline = time.monotonic() + 5
    while (status := await cluster.status("n1")) is None or status.role is not Role.LEADER:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def gone(cluster: LocalCluster) -> None:
    deadline = time.monotonic() + 5
    while cluster.state("n1") is not ProcessState.GONE:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_a_full_disk_ends_the_node_with_a_reason_and_loses_nothing_acknowledged(tmp_path: Path) -> None:
    async def work(cluster: LocalCluster, one: LocalNode) -> None:
        await led(cluster)
        assert (await ask(cluster, Op.WRITE, 0)).code is None
        process = one.process
        assert process is not None
        room = max(path.stat().st_size for path in (evidence(tmp_path), one._data / "wal")) + 900
        resource.prlimit(process.identity.pid, resource.RLIMIT_FSIZE, (room, room))
        acknowledged = 0
        with suppress(ConnectionError):
            while True:
                assert (await ask(cluster, Op.WRITE, acknowledged + 1)).code is None
                acknowledged += 1
        await gone(cluster)
        assert process.exit_code == node.EXIT_DISK
        log = one.log.read_text()
        assert re.search(
            r"node=n1 level=critical at=\d+\.\d{6} event=end code=74 why='the disk failed", log
        )
        await cluster.restart("n1")
        await led(cluster)
        found = await ask(cluster, Op.READ)
        assert found.value in (acknowledged, acknowledged + 1), "the last write may have been unheard"

    on_one(tmp_path, work)


def test_a_torn_log_is_cut_with_a_note_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    async def work(cluster: LocalCluster, one: LocalNode) -> None:
        await led(cluster)
        assert (await ask(cluster, Op.WRITE, 7)).code is None
        log = one._data / "wal"
        await cluster.kill("n1")
        whole = log.read_bytes()
        log.write_bytes(whole + b"\0" * 700)
        await cluster.restart("n1")
        await led(cluster)
        assert (await ask(cluster, Op.READ)).value == 7
        assert f"{log}: cut 700 bytes at offset {len(whole)}: NUL bytes" in one.log.read_text()
        await cluster.kill("n1")
        damaged = bytearray(log.read_bytes())
        damaged[len(whole) // 2] ^= 4
        log.write_bytes(damaged)
        with pytest.raises(TargetError, match=rf"code {node.EXIT_DATA}(?s:.*)damaged at offset \d+"):
            await cluster.restart("n1")
        assert log.read_bytes() == damaged

    on_one(tmp_path, work)


def test_evidence_goes_on_in_the_same_file_after_a_kill(tmp_path: Path) -> None:
    async def work(cluster: LocalCluster, _one: LocalNode) -> None:
        await led(cluster)
        await cluster.kill("n1")
        with evidence(tmp_path).open("ab") as file:
            file.write(b'{"node":"n1","own_')
        await cluster.restart("n1")

    on_one(tmp_path, work)
    data = evidence(tmp_path).read_bytes()
    facts = [line.what for line in evidence_lines.read(data, "n1")]
    assert [fact.boot for fact in facts if isinstance(fact, Booted)] == [1, 2]


def test_the_admin_socket_is_the_users_alone_and_answers_nonsense_with_a_reason(tmp_path: Path) -> None:
    async def work(_cluster: LocalCluster, one: LocalNode) -> None:
        path = one._runtime.admin_socket("n1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"do":"format-the-disk"}\n[1]\n' + admin.encode(admin.Status()))
        answers = [admin.decode_answer(await reader.readline()) for _ in range(3)]
        assert [type(answer) for answer in answers] == [admin.Denied, admin.Denied, admin.Told]
        writer.write(b"x" * 100_000)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(1), 5)
        writer.transport.abort()

    on_one(tmp_path, work)


def test_a_stranger_on_the_peer_port_is_dropped_and_not_heard(tmp_path: Path) -> None:
    async def work(cluster: LocalCluster, one: LocalNode) -> None:
        await led(cluster)
        for talk in (
            b"GET / HTTP/1.1\r\n\r\n",
            wire.encode(wire.Hello("another run", "n1")),
            b"\0\0\0\1\xc1",
        ):
            reader, writer = await asyncio.open_connection(*one.peer_port.address)
            writer.write(talk)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await asyncio.wait_for(reader.readexactly(1), 5)
            writer.transport.abort()
        assert (await ask(cluster, Op.WRITE, 1)).code is None
        assert one.log.read_text().count("event=dropped") == 3

    on_one(tmp_path, work)


def start_file(tmp_path: Path, **changes: object) -> Path:
    place = NodePlace(
        cluster="c",
        peer_address=("127.0.0.1", 0),
        client_address=("127.0.0.1", 0),
        peers={},
        data_dir=str(tmp_path),
        evidence=str(tmp_path / "evidence"),
        admin=str(tmp_path / "admin"),
        parent_pid=os.getpid(),
        spawned_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
    )
    path = tmp_path / "start.json"
    changed = msgspec.structs.replace(place, **changes)
    path.write_bytes(msgspec.json.encode(Start(config=ALONE, place=changed)))
    return path


def ended(tmp_path: Path, start: Path) -> tuple[int, str]:
    """Run a node that should not come up; return its exit code and what it told."""
    log = tmp_path / "log"
    command = python("targets.leasekv.node", str(start))
    process = NodeProcess("n1", command, env=environment({}), cwd=tmp_path, log=log)
    deadline = time.monotonic() + 20
    while process.exit_code is None:
        if time.monotonic() > deadline:
            asyncio.run(process.kill())
            pytest.fail(f"it came up: {log.read_text()}")
        time.sleep(0.01)
    return process.exit_code, log.read_text()


@pytest.mark.parametrize("off_ns", [200 * SECOND, -SECOND], ids=["late", "before it was started"])
def test_a_node_whose_true_clock_is_not_its_parents_does_not_come_up(
    tmp_path: Path, off_ns: int
) -> None:
    spawned_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - off_ns
    code, told = ended(tmp_path, start_file(tmp_path, spawned_ns=spawned_ns))
    assert code == node.EXIT_CONFIG
    assert "the true clock is faked" in told


def test_a_node_whose_parent_is_gone_already_does_not_come_up(tmp_path: Path) -> None:
    code, told = ended(tmp_path, start_file(tmp_path, parent_pid=1 << 22))
    assert code == node.EXIT_ORPHAN
    assert "the parent 4194304 is gone" in told


def test_a_node_whose_port_is_taken_says_so(tmp_path: Path) -> None:
    import socket

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()
        code, told = ended(tmp_path, start_file(tmp_path, client_address=taken))
    assert code == node.EXIT_DISK
    assert f"{taken}" in told
    assert "address already in use" in told


@pytest.mark.parametrize("content", [b"", b"{}", b'{"schema":99}', b"\xff\xfe"])
def test_a_start_file_that_is_none_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    start = tmp_path / "start.json"
    start.write_bytes(content)
    code, told = ended(tmp_path, start)
    assert code == node.EXIT_CONFIG
    assert "Traceback" not in told


def test_a_node_with_no_start_file_says_so_in_one_line(tmp_path: Path) -> None:
    code, told = ended(tmp_path, tmp_path / "missing.json")
    assert code == node.EXIT_DISK
    assert "missing.json" in told
    assert "Traceback" not in told


def test_the_end_of_a_node_asked_to_end_is_in_its_log(tmp_path: Path) -> None:
    async def work(cluster: LocalCluster, one: LocalNode) -> None:
        process = one.process
        assert process is not None
        os.kill(process.identity.pid, 15)
        await gone(cluster)
        assert process.exit_code == 0
        assert "node=n1 level=info" in one.log.read_text().splitlines()[-1]
        assert "event=stopped" in one.log.read_text().splitlines()[-1]

    on_one(tmp_path, work)
