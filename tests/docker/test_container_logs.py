"""A node that writes a lot: the engine cuts its log while it runs, and what a run keeps is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.store.rundir import LOG_MAX_BYTES
from targets.clock import Reading
from targets.cluster import NodeStatus, Role, TargetError
from targets.docker.cluster import LOG_BYTES_MAX, DockerCluster
from targets.docker.system import Launch, PlainContainers
from targets.docker.template import Service
from targets.etcd.system import EtcdSystem
from targets.leasekv.config import NodeConfig
from targets.leasekv.containers import LeaseKvContainers
from targets.trueclock import raw_ns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from targets.docker.container import Container

FILE_BYTES_MAX = 100_000
SMALL = {"max-size": "100k", "max-file": "2"}
LINE_BYTES_MAX = 16_384  # the engine cuts a line that is longer

TALKS = ("bash", "-c", "yes 'event=nothing-new' | head -c 4000000; echo the end; exec sleep 100")
"""4 MB of short lines, which take five times as much in the engine's file; then it lives on."""


class One(PlainContainers):
    """One container that says what it is told to; it is taken to answer as soon as it runs."""

    client_port = peer_port = 7000

    def __init__(self, entrypoint: tuple[str, ...], driver: str, options: dict[str, str]) -> None:
        self.services = {
            "n1": Service(
                name="n1",
                image="lantern-leasekv",
                dockerfile="targets/leasekv/Dockerfile",
                entrypoint=entrypoint,
                log_driver=driver,
                log_options=options,
            )
        }

    def launch(self, node: str, address: str, peers: object) -> Launch:
        del node, address, peers
        return Launch()

    async def status(self, node: str, address: object) -> NodeStatus | None:
        del address
        return NodeStatus(
            node=node,
            role=Role.FOLLOWER,
            term=1,
            leader=None,
            commit_index=0,
            applied_index=0,
            lease_remaining_ns=None,
            own=Reading(0, 0),
            true_ns=raw_ns(),
        )


class Mute(One):
    async def status(self, node: str, address: object) -> None:
        del node, address


def run_one(system: One, run_dir: Path, work: Callable[[Container], Awaitable[None]]) -> None:
    """Start the container, do the work on it, and leave nothing but the run directory."""

    async def run() -> None:
        cluster = DockerCluster(system, run_dir)
        await cluster.start()
        try:
            await work(cluster.container("n1"))
        finally:
            await cluster.stop()

    asyncio.run(run())


def inspected(container: Container) -> dict[str, Any]:
    said = subprocess.run(
        ["docker", "inspect", container.id], check=True, capture_output=True, timeout=30
    ).stdout
    return dict(json.loads(said)[0])


def kept_bytes(files: Path) -> int:
    """Return what the engine's files of one log take, all of them; one may be renamed meanwhile."""
    found = 0
    for one in files.parent.glob(f"{files.name}*"):
        with contextlib.suppress(FileNotFoundError):
            found += one.stat().st_size
    return found


@pytest.mark.processes
@pytest.mark.usefixtures("engine")
def test_the_log_of_a_node_that_writes_a_lot_stays_small_while_it_writes(tmp_path: Path) -> None:
    async def work(container: Container) -> None:
        seen = inspected(container)
        assert seen["HostConfig"]["LogConfig"] == {"Type": "json-file", "Config": SMALL}
        files = Path(seen["LogPath"])
        sizes = []
        while b"the end" not in await container.log(bytes_max=2000):
            sizes.append(kept_bytes(files))
            await asyncio.sleep(0.01)
        sizes.append(kept_bytes(files))
        assert max(sizes) <= 2 * (FILE_BYTES_MAX + LINE_BYTES_MAX)
        await container.refresh()
        assert container.running
        assert 1000 < len(await container.log(bytes_max=5000)) <= 5000

    run_one(One(TALKS, "json-file", SMALL), tmp_path, work)
    kept = (tmp_path / "logs/n1.log").read_bytes()
    assert 1000 < len(kept) <= 2 * FILE_BYTES_MAX
    assert kept.endswith(b"the end\n")


@pytest.mark.processes
@pytest.mark.usefixtures("engine")
def test_a_driver_that_keeps_no_log_is_a_sentence_and_the_run_ends_as_ever(tmp_path: Path) -> None:
    async def work(container: Container) -> None:
        with pytest.raises(TargetError, match=r"the engine has no log of n1: .*logging driver"):
            await container.log(bytes_max=2000)
        assert (await container.last_words()).startswith("the engine has no log of n1: ")

    run_one(One(("sleep", "100"), "none", {}), tmp_path, work)
    assert not list((tmp_path / "logs").iterdir())


@pytest.mark.processes
@pytest.mark.usefixtures("engine")
def test_a_node_that_ends_at_once_is_named_whether_it_left_a_log_or_not(tmp_path: Path) -> None:
    async def run(driver: str) -> str:
        system = Mute(("bash", "-c", "echo no such thing; exit 3"), driver, {})
        with pytest.raises(TargetError) as refused:
            await DockerCluster(system, tmp_path / driver).start()
        return str(refused.value)

    assert asyncio.run(run("json-file")) == "n1 ended with code 3 as it started: no such thing"
    assert asyncio.run(run("none")).startswith(
        "n1 ended with code 3 as it started: the engine has no log"
    )


def test_every_target_that_is_made_here_has_a_limit_to_its_logs(tmp_path: Path) -> None:
    config = NodeConfig(node="n1", nodes=("n1", "n2", "n3"))
    ours = LeaseKvContainers(config, tmp_path).services["n2"]
    theirs = EtcdSystem(config.nodes, image="lantern-etcd", dockerfile=None).services["n2"]
    for service in (ours, theirs, Service(name="n1", image="somebody's")):
        assert service.log_driver == "json-file"
        assert service.log_options == {"max-size": "10m", "max-file": "2"}, "what compose would say"
    assert LOG_BYTES_MAX <= LOG_MAX_BYTES, "what is kept of it is not cut again"
