"""`docker compose up` alone: a person's running cluster, with no harness in sight."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from targets.docker import images
from targets.docker.engine import Engine
from targets.docker.template import compose_file, parse
from targets.leasekv import wire
from targets.leasekv.messages import Op, Request, Response

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("engine"), pytest.mark.timeout(180)]

PORTS = range(7101, 7106)
SERVES_S = 40.0


@pytest.fixture
def up(compose: list[str]) -> Iterator[list[str]]:
    async def image() -> None:
        engine = await Engine.connect()
        one = parse(compose_file().read_text())["n1"]
        await images.ensure(engine, one.image, one.dockerfile)
        engine.close()

    asyncio.run(image())
    at = [*compose, "-p", f"lanternup{os.getpid()}", "-f", str(compose_file())]
    try:
        subprocess.run([*at, "up", "-d"], check=True, timeout=120, capture_output=True)
        yield at
    finally:
        subprocess.run([*at, "down", "-v"], check=False, timeout=60, capture_output=True)


async def ask(port: int, op: Op, value: Any = None) -> Response | None:
    """Ask one node, on a connection of its own; None if it gives no answer."""
    try:
        async with asyncio.timeout(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(wire.encode(Request(1, op, "x", value)))
                decoder = wire.response_decoder()
                while data := await reader.read(1 << 16):
                    if answers := list(decoder.feed(data)):
                        return answers[0]
            finally:
                writer.transport.abort()
    except OSError:
        pass
    return None


async def served(op: Op, value: Any = None) -> Response:
    """Ask one node after the other until one does it."""
    deadline_s = time.monotonic() + SERVES_S
    while time.monotonic() < deadline_s:
        for port in PORTS:
            answer = await ask(port, op, value)
            if answer is not None and answer.code is None:
                return answer
        await asyncio.sleep(0.2)
    raise AssertionError("nobody serves")


async def written_and_read(value: int) -> None:
    await served(Op.WRITE, value)
    assert (await served(Op.READ)).value == value


def test_compose_up_gives_a_cluster_that_serves_is_healthy_and_outlives_a_node(up: list[str]) -> None:
    asyncio.run(written_and_read(7))
    shown = scraped(7202)
    assert 'leasekv_build_info{policy="lease-renew",version="source"} 1.0' in shown
    assert "leasekv_leader_changes_total 1.0" in shown
    subprocess.run([*up, "kill", "n1"], check=True, timeout=60, capture_output=True)
    asyncio.run(written_and_read(8))
    deadline_s = time.monotonic() + SERVES_S
    while (found := health(up)) != ["healthy"] * 4:
        assert time.monotonic() < deadline_s, found
        time.sleep(0.5)


def scraped(port: int) -> str:
    """Return what a node shows a Prometheus."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def health(up: list[str]) -> list[str]:
    """Return what the health checks of the running nodes say."""
    project = up[up.index("-p") + 1]
    told = "{{.State.Health.Status}}"
    listed = ["docker", "ps", "-q", "--filter", f"label=com.docker.compose.project={project}"]
    ids = subprocess.run(listed, check=True, capture_output=True, text=True, timeout=30).stdout.split()
    said = subprocess.run(
        ["docker", "inspect", "-f", told, *ids], check=True, capture_output=True, text=True, timeout=30
    )
    return said.stdout.split()
