"""Somebody's own cluster: a compose project with other names, their client, all left as found."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from docker_proxy import Proxy

from checker.events import EventType
from targets.attach import found, record
from targets.attach.bridge import BridgeClient
from targets.attach.client import load
from targets.attach.cluster import AttachedCluster
from targets.clock import MS
from targets.cluster import (
    CLIENTS,
    Delayed,
    Dropped,
    Held,
    Link,
    Open,
    Primitive,
    ProcessState,
    Role,
    TargetError,
)
from targets.docker import netns
from targets.docker.engine import Engine
from targets.host.heal import heal as local_heal
from targets.session import Call, Completion

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("engine"), pytest.mark.timeout(180)]

EXAMPLE = Path(__file__).parents[2] / "docs/examples/etcd_client.py"
COLOURS = ("blue", "green", "red")


def compose_text() -> str:
    cluster = ",".join(f"{name}=http://{name}:2380" for name in COLOURS)
    services = {
        name: {
            "image": "lantern-etcd",
            "ports": ["127.0.0.1::2379"],
            "command": [
                *("--name", name, "--listen-client-urls", "http://0.0.0.0:2379"),
                *("--advertise-client-urls", f"http://{name}:2379"),
                *("--listen-peer-urls", "http://0.0.0.0:2380"),
                *("--initial-advertise-peer-urls", f"http://{name}:2380"),
                *("--initial-cluster", cluster, "--data-dir", "/var/lib/etcd/data"),
            ],
        }
        for name in COLOURS
    }
    return json.dumps({"version": "3.8", "services": services})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, compose: list[str]) -> Iterator[Path]:
    asyncio.run(_image())
    place = tmp_path_factory.mktemp(f"paint{os.getpid()}")
    file = place / "docker-compose.yml"
    file.write_text(compose_text())
    at = [*compose, "-f", str(file)]
    try:
        subprocess.run([*at, "up", "-d"], check=True, timeout=120, capture_output=True)
        yield file
    finally:
        subprocess.run([*at, "down", "-v"], check=False, timeout=60, capture_output=True)


async def _image() -> None:
    from targets.docker import images

    engine = await Engine.connect()
    await images.ensure(engine, "lantern-etcd", "targets/etcd/Dockerfile")
    engine.close()


def ids(project: Path) -> list[str]:
    made = f"label=com.docker.compose.project.working_dir={project.parent}"
    said = subprocess.run(
        ["docker", "ps", "-aq", "--no-trunc", "--filter", made],
        check=True, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    return sorted(said.stdout.split())


def inspected(project: Path) -> list[dict[str, Any]]:
    """Return what an owner would miss if it changed."""
    said = subprocess.run(
        ["docker", "inspect", *ids(project)], check=True, capture_output=True, timeout=30
    )
    kept = []
    for one in json.loads(said.stdout):
        state, network = one["State"], one["NetworkSettings"]["Networks"]
        pid = state["Pid"]
        kept.append(
            {
                "id": one["Id"],
                "state": state["Status"],
                "config": one["Config"],
                "host": one["HostConfig"],
                "networks": {
                    name: (said["IPAddress"], said["Aliases"]) for name, said in network.items()
                },
                "tables": netns.enter(pid, lambda: netns.nft_here("list tables")),
                "process": Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T",
            }
        )
    return kept


async def leader_of(cluster: AttachedCluster) -> str:
    for _ in range(400):
        for node in cluster.nodes:
            status = await cluster.status(node)
            if status is not None and status.role is Role.LEADER:
                return node
        await asyncio.sleep(0.02)
    raise AssertionError("nobody leads")


def test_every_fault_is_made_on_somebodys_containers_and_all_is_left_as_found(
    project: Path, tmp_path: Path
) -> None:
    before = inspected(project)

    async def run() -> None:
        cluster = AttachedCluster(
            load(EXAMPLE), "linearizable", tmp_path / "r", count=3, compose=project
        )
        await cluster.start()
        try:
            leader = await leader_of(cluster)
            others = [node for node in cluster.nodes if node != leader]
            for other in others:
                cluster.set_link(Link(leader, other), Held())
                cluster.set_link(Link(other, leader), Held())
            assert cluster.link_state(Link(leader, others[0])) == Held()
            for _ in range(300):
                found = [await cluster.status(other) for other in others]
                if any(status is not None and status.role is Role.LEADER for status in found):
                    break
                await asyncio.sleep(0.02)
            else:
                pytest.fail("nobody else was elected")
            cluster.set_link(Link(CLIENTS, leader), Dropped())
            if cluster.supports(Primitive.DELAY) is None:
                late = Link(others[0], others[1])
                cluster.set_link(late, Delayed(200 * MS))
                assert cluster.link_state(late) == Delayed(200 * MS)
            await cluster.pause(others[0])
            assert cluster.state(others[0]) is ProcessState.STOPPED
            assert [*cluster.known_as] == [*cluster.nodes]
            assert sorted(cluster.known_as.values()) == [*cluster.known_as.values()]
            assert cluster.link_state(Link(leader, others[1])) == Held()
        finally:
            await cluster.stop()

    asyncio.run(run())
    assert inspected(project) == before


def test_a_killed_member_comes_back_with_its_links_and_is_left_running(
    project: Path, tmp_path: Path
) -> None:
    async def run() -> None:
        cluster = AttachedCluster(
            load(EXAMPLE), "linearizable", tmp_path / "r", count=3, compose=project
        )
        await cluster.start()
        try:
            # A member that cannot hear its leader does not come back, so two followers are taken.
            led = [
                status.node
                for status in await asyncio.gather(*map(cluster.status, cluster.nodes))
                if status is not None and status.role is Role.LEADER
            ]
            killed, other = [node for node in cluster.nodes if node not in led][:2]
            cluster.set_link(Link(other, killed), Held())
            await cluster.kill(killed)
            assert cluster.state(killed) is ProcessState.GONE
            await cluster.restart(killed)
            assert cluster.link_state(Link(other, killed)) == Held()
            cluster.set_link(Link(other, killed), Open())
            await cluster.kill(other)
        finally:
            await cluster.stop()

    asyncio.run(run())
    assert [one["state"] for one in inspected(project)] == ["running"] * 3


def test_containers_that_are_not_there_or_too_few_are_said_before_anything_happens(
    project: Path, tmp_path: Path
) -> None:
    async def refused(match: str, **where: Any) -> None:
        cluster = AttachedCluster(load(EXAMPLE), "linearizable", tmp_path / "r", **where)
        with pytest.raises(TargetError, match=match):
            await cluster.start()

    before = inspected(project)
    asyncio.run(refused("no such container", count=1, containers=["lantern-nobody"]))
    asyncio.run(refused("same container", count=2, containers=[ids(project)[0]] * 2))
    asyncio.run(refused("cannot be looked up", count=1, containers=[""]))
    asyncio.run(
        refused("say --nodes 3, or name those to test .* of blue, green", count=2, compose=project)
    )
    asyncio.run(refused("nothing was started from", count=3, compose=tmp_path / "docker-compose.yml"))
    assert inspected(project) == before


def test_a_paused_container_is_said_at_once_and_stays_so(project: Path, tmp_path: Path) -> None:
    (first, *_) = ids(project)
    cluster = AttachedCluster(load(EXAMPLE), "linearizable", tmp_path / "r", count=3, compose=project)
    subprocess.run(["docker", "pause", first], check=True, timeout=30, capture_output=True)
    try:
        with pytest.raises(TargetError, match="is paused: `docker unpause` it"):
            asyncio.run(cluster.start())
        assert "paused" in [one["state"] for one in inspected(project)]
    finally:
        subprocess.run(["docker", "unpause", first], check=True, timeout=30, capture_output=True)


def test_a_project_is_found_through_a_link_to_its_folder(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project.parent)

    async def find(file: Path) -> list[str]:
        engine = await Engine.connect()
        try:
            return [one.name for one in await found.by_compose(engine, file)]
        finally:
            engine.close()

    assert asyncio.run(find(tmp_path / "link" / project.name)) == list(COLOURS)
    with pytest.raises(TargetError, match="nothing was started from"):
        asyncio.run(find(project.with_name("compose.yml")))


def healed_by_command(run: str, *options: str) -> tuple[int, list[list[str]]]:
    """Return the exit code of `lantern heal`, and what it did or would do to each thing it found."""
    command = [sys.executable, "-P", "-m", "harness.cli.main", "heal", "--run", run, "--json", *options]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    return done.returncode, [[*one["done"]] for one in json.loads(done.stdout)["runs"]]


KILLED = """
import asyncio, sys
from pathlib import Path
from targets.attach.bridge import BridgeClient
from targets.attach.client import load
from targets.attach.cluster import AttachedCluster
from targets.cluster import Delayed, Held, Link, Primitive

async def main():
    example, run, compose = (Path(one) for one in sys.argv[1:])
    cluster = AttachedCluster(load(example), "linearizable", run, count=3, compose=compose)
    await cluster.start()
    await cluster.pause("n1")
    cluster.set_link(Link("n2", "n3"), Held())
    if cluster.supports(Primitive.DELAY) is None:
        cluster.set_link(Link("n3", "n2"), Delayed(1_000_000_000))
    print("attached", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_what_a_killed_harness_had_done_to_them_is_healed(project: Path, tmp_path: Path) -> None:
    before = inspected(project)
    victim = f"attached-{os.getpid()}"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(EXAMPLE), str(tmp_path / victim), str(project)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "attached\n"
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    after = inspected(project)
    assert after != before

    code, found = healed_by_command(victim, "--dry-run")
    told = [line for done in found for line in done]
    assert code == 0
    assert [line for line in told if not line.startswith("would remove")] == [
        "would continue n1",
        "would open the links of n1",
        "would open the links of n2",
        "would open the links of n3",
    ]
    assert any(line.startswith("would remove") for line in told)
    assert inspected(project) == after, "touched nothing"

    (healed,) = asyncio.run(record.heal(victim))
    done = healed.done
    assert "continued n1" in done
    assert "opened the links of n3" in done
    assert inspected(project) == before
    (rest,) = local_heal(victim)
    assert not rest.failed
    assert asyncio.run(record.heal(victim)) == ()


def test_the_same_keys_of_two_runs_are_different_keys_of_the_cluster(
    project: Path, tmp_path: Path
) -> None:
    async def run(name: str, value: int) -> list[Completion]:
        cluster = AttachedCluster(
            load(EXAMPLE), "linearizable", tmp_path / name, count=3, compose=project
        )
        client = BridgeClient(timeout_ns=0)
        await cluster.start()
        try:
            await leader_of(cluster)  # the test before may have left them without one
            reader, writer = await asyncio.open_connection(*cluster.address("n1"))
            said: list[Completion] = []
            for call in (Call("read", "k"), Call("write", "k", value), Call("read", "k")):
                writer.write(client.encode(call))
                said += client.reader().feed(await reader.readline())
            writer.close()
        finally:
            await cluster.stop()
        return said

    def answered(value: int) -> list[Any]:
        """Run anew until each call is answered: one that a busy member leaves unknown says nothing."""
        for attempt in range(10):
            said = asyncio.run(run(f"{value}-{attempt}", value))
            if [one.type for one in said] == [EventType.OK] * 3:
                return [one.value for one in said]
        pytest.fail("never were all three calls answered")

    assert answered(1) == [None, 1, 1]
    assert answered(2) == [None, 2, 2]


def test_a_cluster_on_another_machine_is_frozen_by_its_engine_and_left_as_found(
    project: Path, tmp_path: Path
) -> None:
    """An engine reached by TCP, from among other process ids: as far away as makes a difference."""
    before = inspected(project)
    proxy = Proxy()
    elsewhere = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-P"]
    options = ["--target", str(EXAMPLE), "--compose", str(project), "--rate", "100", "--time", "9"]
    try:
        done = subprocess.run(
            [*elsewhere, "-m", "harness.cli.main", "run", "--json", *options, "--out", tmp_path / "r"],
            env={**os.environ, "DOCKER_HOST": proxy.host},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    finally:
        proxy.stop()
    said = json.loads(done.stdout)
    assert said["outcome"] == "pass", done.stderr
    assert said["faults"]["pause"]["installed"] > 1, "each episode waits for another leader"
    assert inspected(project) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no class Client"),
        ("class Client: pass", "async def connect"),
        ("import no_such_module", "cannot be imported"),
    ],
)
def test_a_client_that_lacks_something_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(TargetError, match=said):
        load(file)
