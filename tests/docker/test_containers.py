"""What containers add to the conformance suite: the engine, the template, the namespaces, dead runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from docker_proxy import Proxy

from targets.clock import MS
from targets.cluster import (
    CLIENTS,
    Dropped,
    Held,
    Link,
    Open,
    ProcessState,
    Silenced,
    TargetError,
    Unsupported,
)
from targets.docker import netns, packets, project
from targets.docker.cluster import DockerCluster
from targets.docker.engine import Engine, EngineAbsentError, EngineSilentError
from targets.docker.heal import heal
from targets.docker.links import PacketLinks
from targets.docker.template import Service, compose_file
from targets.host import procfs, runtime
from targets.host.heal import heal as local_heal
from targets.leasekv.config import NodeConfig
from targets.leasekv.containers import LeaseKvContainers, leasekv_cluster

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("engine")]

NAMES = ("n1", "n2", "n3")
SHORT = NodeConfig(
    node="n1", nodes=NAMES, election_ns=300 * MS, election_jitter_ns=150 * MS, heartbeat_ns=40 * MS
)


def docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, timeout=60, check=True, text=True)
    return done.stdout.strip()


def everything() -> set[str]:
    """Return the names of all containers, networks and volumes with our label."""
    label = f"label={project.RUN_LABEL}"
    return {
        *docker("ps", "-a", "--filter", label, "--format", "{{.Names}}").split(),
        *docker("network", "ls", "--filter", label, "--format", "{{.Name}}").split(),
        *docker("volume", "ls", "--filter", label, "--format", "{{.Name}}").split(),
    }


def mine() -> set[str]:
    return {name for name in everything() if name.startswith(f"lantern-{os.getpid()}-")}


def started(run_dir: Path, work: Callable[[DockerCluster], Awaitable[None]]) -> None:
    async def run() -> None:
        cluster = leasekv_cluster(SHORT, run_dir)
        await cluster.start()
        try:
            await work(cluster)
        finally:
            await cluster.stop()

    asyncio.run(run())
    assert mine() == set()


def container_of(cluster: DockerCluster, node: str) -> str:
    return f"{cluster.run}-{node}"


def pid_of(cluster: DockerCluster, node: str) -> int:
    pid = cluster.container(node).pid
    assert pid is not None
    return pid


# The engine. Its library leaves the socket of a failed connection to the collector.

LEFT_OPEN = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@LEFT_OPEN
@pytest.mark.usefixtures("collected")
def test_without_an_engine_nothing_is_changed_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    cluster = leasekv_cluster(SHORT, tmp_path / "run")
    with pytest.raises(EngineAbsentError, match=r"no Docker engine answers at unix://.*: start one"):
        asyncio.run(cluster.start())
    assert not list((tmp_path).rglob("*.jsonl"))
    assert not [found for found in runtime.find() if found.owner.pid == os.getpid()]


def test_a_daemon_that_hangs_is_given_up_at_the_deadline() -> None:
    async def run() -> None:
        engine = await Engine.connect()
        begun = time.monotonic()
        with pytest.raises(EngineSilentError, match=r"did not dream within 0.2 s"):
            await engine.call("dream", lambda _client: time.sleep(1.0), deadline_s=0.2)
        assert time.monotonic() - begun < 0.8
        engine.close()

    asyncio.run(run())


@LEFT_OPEN
@pytest.mark.usefixtures("collected")
def test_an_engine_that_answers_with_garbage_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async def garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"\x00\x01\x02 not http\r\n\r\n")
            writer.close()

        server = await asyncio.start_unix_server(garbage, tmp_path / "garbage.sock")
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/garbage.sock")
        with pytest.raises(EngineAbsentError):
            await Engine.connect()
        server.close()

    asyncio.run(run())


# The template.


def test_the_harness_makes_what_the_compose_file_says(tmp_path: Path, compose: list[str]) -> None:
    """Compare a container of ours with what compose makes, in everything that the file speaks of."""
    ours: dict[str, Any] = {}

    async def look(cluster: DockerCluster) -> None:
        ours.update(json.loads(docker("inspect", container_of(cluster, "n2")))[0])

    started(tmp_path / "run", look)
    at = ["-p", f"lanterntest{os.getpid()}", "-f", str(compose_file())]
    try:
        subprocess.run(
            [*compose, *at, "up", "--no-start", "n2"], check=True, timeout=120, capture_output=True
        )
        (made,) = subprocess.run(
            [*compose, *at, "ps", "-aq", "n2"]
            if "docker" in compose
            else [*compose, *at, "ps", "-q", "n2"],
            check=True,
            timeout=60,
            capture_output=True,
            text=True,
        ).stdout.split()
        theirs = json.loads(docker("inspect", made))[0]
    finally:
        subprocess.run([*compose, *at, "down", "-v"], check=False, timeout=60, capture_output=True)
    assert ours["Image"] == theirs["Image"], "one and the same, by its id"
    for key in ("Entrypoint", "Cmd"):
        assert ours["Config"][key] == theirs["Config"][key], key
    assert set(theirs["Config"]["Env"]) <= set(ours["Config"]["Env"])
    assert ours["Config"]["ExposedPorts"] == theirs["Config"]["ExposedPorts"]
    for key in (
        "Memory",
        "PidsLimit",
        "ReadonlyRootfs",
        "Privileged",
        "CapAdd",
        "CapDrop",
        "SecurityOpt",
    ):
        assert ours["HostConfig"][key] == theirs["HostConfig"][key], key
    assert ours["HostConfig"]["Tmpfs"] == theirs["HostConfig"]["Tmpfs"]
    assert ours["HostConfig"]["LogConfig"] == theirs["HostConfig"]["LogConfig"]
    assert set(ours["HostConfig"]["PortBindings"]) == set(theirs["HostConfig"]["PortBindings"])
    mounts = {mount["Destination"] for mount in theirs["Mounts"]}
    assert mounts <= {mount["Destination"] for mount in ours["Mounts"]}


def test_a_missing_image_that_nobody_builds_is_named(tmp_path: Path) -> None:
    async def run() -> None:
        system = LeaseKvContainers(SHORT, tmp_path / "run")
        system.services = {
            name: Service(name=name, image="lantern-no-such-image") for name in system.services
        }
        cluster = DockerCluster(system, tmp_path / "run")
        with pytest.raises(TargetError, match="lantern-no-such-image is missing and cannot be pulled"):
            await cluster.start()

    asyncio.run(run())
    assert mine() == set()


# Links in the kernel.


def elements(listing: str) -> list[dict[str, Any]]:
    """Return what a table's sets hold, as nft says it."""
    sets = (item.get("set", {}) for item in json.loads(listing)["nftables"])
    return [each["elem"] for one in sets for each in one.get("elem", [])]


def test_a_cut_counts_what_it_stops_and_the_kernel_would_heal_it_by_itself(tmp_path: Path) -> None:
    async def work(cluster: DockerCluster) -> None:
        assert isinstance(cluster.links, PacketLinks)
        for source in ("n1", "n2"):
            cluster.set_link(Link(source, "n3"), Held())
        await asyncio.sleep(1.0)
        listing = netns.nft_list(pid_of(cluster, "n3"), packets.table(cluster.run))
        assert listing is not None
        cuts = elements(listing)
        assert len(cuts) == 2
        assert max(cut["counter"]["packets"] for cut in cuts) > 0, "whoever leads was talking to n3"
        assert all(0 < cut["expires"] <= 60 for cut in cuts)

    started(tmp_path / "run", work)


def test_a_hold_is_truly_one_way_and_a_silence_is_so_in_name_only(tmp_path: Path) -> None:
    """Two nodes' namespaces talk both ways on one connection while one direction is cut."""

    async def work(cluster: DockerCluster) -> None:
        here, there = pid_of(cluster, "n1"), pid_of(cluster, "n2")
        address = (cluster.links.peers("n1")["n2"], 7999)
        for state, goes_on in ((Held(), True), (Silenced(), False)):
            listener = netns.enter(there, lambda: socket.create_server(address))
            front = netns.enter(here, lambda: socket.create_connection(address, 2))
            back, _ = listener.accept()
            for end in (front, back):
                end.settimeout(0.05)
            cluster.set_link(Link("n1", "n2"), state)
            assert cluster.link_state(Link("n1", "n2")) == state
            front.send(b"asked")
            heard = b""
            for _ in range(30):
                with contextlib.suppress(TimeoutError):
                    back.send(b"x" * 20_000)
                with contextlib.suppress(TimeoutError):
                    heard = front.recv(65536)
                await asyncio.sleep(0.05)
            with pytest.raises(TimeoutError):
                back.recv(10)
            drained = _drain(front)
            back.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                for _ in range(200):
                    back.send(b"y" * 20_000)
            assert (b"y" in _drain(front)) is goes_on, (state, len(heard), drained)
            cluster.set_link(Link("n1", "n2"), Open())
            assert cluster.link_state(Link("n1", "n2")) == Open()
            back.settimeout(5)
            assert back.recv(10) == b"asked", "kept, and delivered after the heal"
            for end in (front, back, listener):
                end.close()

    started(tmp_path / "run", work)


def _drain(end: socket.socket) -> bytes:
    """Return what arrives until nothing does for a while."""
    heard = b""
    end.settimeout(0.4)
    with contextlib.suppress(TimeoutError):
        while data := end.recv(1 << 20):
            heard += data
    return heard


def test_foreign_rules_are_neither_obeyed_instead_nor_removed(tmp_path: Path) -> None:
    hook = "type filter hook input priority -150;"
    foreign = f"add table inet foo\nadd chain inet foo bar {{ {hook} }}\nadd rule inet foo bar accept\n"

    async def work(cluster: DockerCluster) -> None:
        pid = pid_of(cluster, "n1")
        assert netns.nft({pid: foreign}) == set()
        before = netns.nft_list(pid, "foo")
        for _ in range(2):
            cluster.set_link(Link("n2", "n1"), Held())
            assert cluster.link_state(Link("n2", "n1")) == Held()
        cluster.set_link(Link("n2", "n1"), Open())
        assert cluster.link_state(Link("n2", "n1")) == Open(), "cut twice, opened once"
        cluster.set_link(Link(CLIENTS, "n1"), Dropped())
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*cluster.address("n1"))
        await cluster.links.close()
        assert netns.nft_list(pid, "foo") == before

    started(tmp_path / "run", work)


def test_a_cut_outlives_a_restart_in_the_new_namespace_and_a_heal_of_a_dead_node_is_nothing(
    tmp_path: Path,
) -> None:
    async def work(cluster: DockerCluster) -> None:
        link = Link("n1", "n3")
        cluster.set_link(link, Held())
        before = pid_of(cluster, "n3")
        await cluster.kill("n3")
        assert cluster.link_state(link) == Held()
        await cluster.restart("n3")
        assert pid_of(cluster, "n3") != before
        assert cluster.link_state(link) == Held()
        docker("kill", container_of(cluster, "n3"))
        cluster.set_link(link, Open())
        assert cluster.link_state(link) == Open()
        await cluster.restart("n3")
        assert cluster.link_state(link) == Open()

    started(tmp_path / "run", work)


# Nodes.


def test_a_container_that_somebody_else_killed_under_a_fault_is_gone_not_a_failure(
    tmp_path: Path,
) -> None:
    async def work(cluster: DockerCluster) -> None:
        await cluster.pause("n2")
        docker("kill", container_of(cluster, "n2"))
        assert cluster.state("n2") is ProcessState.GONE
        await cluster.resume("n2")
        assert await cluster.status("n2") is None
        with pytest.raises(Unsupported, match="n2 is gone"):
            await cluster.pause("n2")
        await cluster.restart("n2")
        assert cluster.state("n2") is ProcessState.RUNNING

    started(tmp_path / "run", work)


def test_no_node_has_a_capability_or_a_writable_root_and_each_has_an_image(tmp_path: Path) -> None:
    async def work(cluster: DockerCluster) -> None:
        status = f"/proc/{pid_of(cluster, 'n1')}/status"
        with open(status) as file:  # noqa: PTH123, ASYNC230 - a few bytes of /proc
            held = {
                line.split()[0]: line.split()[1]
                for line in file
                if line.startswith(("CapEff", "NoNewPrivs"))
            }
        assert [image[:7] for image in cluster.images.values()] == ["sha256:"] * 3
        assert held == {"CapEff:": "0000000000000000", "NoNewPrivs:": "1"}
        with pytest.raises(subprocess.CalledProcessError):
            docker("exec", container_of(cluster, "n1"), "touch", "/opt/lantern/x")

    started(tmp_path / "run", work)


@LEFT_OPEN
@pytest.mark.usefixtures("collected")
def test_an_engine_that_is_gone_mid_run_leaves_cuts_and_pauses_to_the_kernel_and_no_node_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Proxy(tmp_path / "engine.sock")

    async def run() -> str:
        cluster = leasekv_cluster(SHORT, tmp_path / "run")
        with monkeypatch.context() as there:
            there.setenv("DOCKER_HOST", proxy.host)
            await cluster.start()
        proxy.stop()
        await cluster.pause("n1")
        assert cluster.state("n1") is ProcessState.STOPPED
        await cluster.resume("n1")
        cluster.set_link(Link("n1", "n2"), Held())
        assert cluster.link_state(Link("n1", "n2")) == Held()
        assert await cluster.status("n2") is not None
        nodes = [cluster.container(node).identity for node in cluster.nodes]
        name = cluster.run
        with pytest.raises(TargetError, match="did not remove run"):
            await cluster.stop()
        await asyncio.sleep(0.2)
        assert all(who is not None and procfs.state(who) is ProcessState.GONE for who in nodes)
        await cluster.stop()
        engine = await Engine.connect()
        assert await project.remove(engine, name) == ()
        engine.close()
        (kept,) = (found for found in runtime.find() if found.path.name == name)
        assert kept.manifest is not None, "what a heal goes by"
        shutil.rmtree(kept.path)
        return name

    try:
        asyncio.run(run())
    finally:
        proxy.stop()
    assert mine() == set()


# Runs beside each other, and dead ones.


def test_a_taken_network_name_is_said_and_leaves_nothing() -> None:
    async def run() -> None:
        engine = await Engine.connect()
        taken = f"lantern-{os.getpid()}-0-taken"
        labels = {project.RUN_LABEL: taken}
        await project.make_network(engine, taken, labels)
        try:
            with pytest.raises(TargetError, match=r"refused to create a network: .*already exists"):
                await project.make_network(engine, taken, labels)
        finally:
            assert await project.remove(engine, taken) == ()
            engine.close()

    asyncio.run(run())
    assert mine() == set()


def dry_run(run: str) -> list[str]:
    """Return what `lantern heal` would do."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "harness.cli.main",
        "heal",
        "--run",
        run,
        "--json",
        "--dry-run",
    ]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    said = json.loads(done.stdout)
    assert said["dry"]
    return [line for one in said["runs"] for line in one["done"]]


KILLED = """
import asyncio, sys
from pathlib import Path
from targets.cluster import Held, Link
from targets.leasekv.containers import leasekv_cluster
from targets.leasekv.config import NodeConfig

async def main():
    cluster = leasekv_cluster(NodeConfig(node="n1", nodes=("n1", "n2")), Path(sys.argv[1]))
    await cluster.start()
    await cluster.pause("n1")
    cluster.set_link(Link("n1", "n2"), Held())
    print(cluster.run, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_a_harness_killed_with_9_leaves_what_heal_removes_and_a_live_one_is_left_alone(
    tmp_path: Path,
) -> None:
    victim = f"victim-{os.getpid()}"
    bystander = docker("run", "-d", "--label", "somebody=else", "lantern-etcd")
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / victim)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        run = child.stdout.readline().strip()
        things = {name for name in everything() if name.startswith(run)}
        assert {f"{run}-n1", f"{run}-n2", run} <= things
        (seen,) = asyncio.run(heal(victim))
        assert seen.live
        assert {name for name in everything() if name.startswith(run)} == things
        child.send_signal(signal.SIGKILL)
        child.wait()
        told = dry_run(victim)
        assert {f"would remove {name}" for name in things} <= set(told)
        assert {name for name in everything() if name.startswith(run)} == things, "touched nothing"
        (healed,) = asyncio.run(heal(victim))
        assert not healed.live
        assert not healed.failed
        assert {f"removed {name}" for name in things} == set(healed.done)
        assert not {name for name in everything() if name.startswith(run)}
        assert asyncio.run(heal(victim)) == ()
        assert docker("inspect", "-f", "{{.State.Running}}", bystander) == "true"
        (rest,) = local_heal(victim)
        assert rest.failed == ()
        assert sorted(done.split()[0] for done in rest.done) == ["removed", "unmounted", "unmounted"]
        assert run not in Path("/proc/self/mountinfo").read_text()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        docker("rm", "-f", bystander)
