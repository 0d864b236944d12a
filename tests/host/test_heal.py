"""What a dead run leaves behind is ended and removed; what is alive or another's is not touched."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from targets.cluster import ProcessState
from targets.docker import heal as docker_heal
from targets.host import faketime, procfs, runtime
from targets.host.heal import ATTACHED, CONTAINERS, heal
from targets.host.procfs import Identity
from targets.host.runtime import MANIFEST, Manifest, Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.processes

HARNESS = """
import asyncio, sys
from pathlib import Path
from targets.cluster import ClockMode
from targets.leasekv.config import NodeConfig
from targets.leasekv.processes import leasekv_cluster

async def run():
    config = NodeConfig(node="n1", nodes=("n1", "n2", "n3"))
    cluster = leasekv_cluster(config, Path(sys.argv[1]), clock=ClockMode.RATE)
    await cluster.start()
    await cluster.pause("n1")
    pids = (node.process.identity.pid for node in cluster._nodes.values())
    print(cluster._runtime.path, *pids, flush=True)
    await asyncio.sleep(60)

asyncio.run(run())
"""


@pytest.fixture
def base(short: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Look for runtime directories in one place of our own."""
    monkeypatch.setattr(runtime, "bases", lambda: (short,))
    monkeypatch.setattr(runtime, "_has_room", lambda _path: True)
    return short


@pytest.fixture
def child() -> Iterator[Identity]:
    """Start somebody who sleeps."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        found = procfs.identity(process.pid)
        assert found is not None
        yield found
        process.kill()


def dead() -> Identity:
    """Return who somebody was."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        found = procfs.identity(process.pid)
        assert found is not None
    return found


def left_by(owner: Identity, base: Path, **manifest: object) -> Path:
    """Make the runtime directory that ``owner`` would have left."""
    path = base / f"lantern-{owner.pid}-{owner.start_ticks}-abcdefgh"
    path.mkdir(mode=0o700)
    content = {"run": "r", "host": runtime.this_host(), **manifest}
    (path / MANIFEST).write_bytes(msgspec.json.encode(Manifest(**content)))  # type: ignore[arg-type]
    return path


def test_a_harness_killed_outright_takes_its_nodes_along_and_heal_removes_the_rest(
    tmp_path: Path,
) -> None:
    run_dir = tmp_path / f"killed-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", HARNESS, run_dir], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        path, *pids = harness.stdout.readline().decode().split()
        live = heal(run_dir.name)
        assert [healed.live for healed in live] == [True]
        assert Path(path).is_dir(), "the run goes on and is left alone"
        harness.kill()
    deadline = time.monotonic() + 5
    while any(procfs.identity(int(pid)) for pid in pids):
        assert time.monotonic() < deadline, "the kernel ends nodes whose parent died, stopped ones too"
        time.sleep(0.01)
    (healed,) = heal(run_dir.name)
    assert not healed.failed
    assert not Path(path).exists()
    assert not [
        name for name in faketime.SHM.glob("*faketime_*") if name.name.rpartition("_")[2] in pids
    ]
    assert heal(run_dir.name) == ()


def test_a_node_that_outlived_its_harness_is_ended_even_if_it_is_stopped(
    base: Path, child: Identity
) -> None:
    procfs.send(child, signal.SIGSTOP)
    path = left_by(dead(), base, processes=(("n1", child),))
    (healed,) = heal()
    assert procfs.state(child) is ProcessState.GONE
    assert f"ended n1, process {child.pid}" in healed.done
    assert not healed.failed
    assert not path.exists()


def test_what_the_preload_left_is_swept_although_nobody_has_reaped_its_process(
    base: Path, child: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faketime, "SHM", base)
    left = base / f"faketime_shm_{child.pid}"
    left.touch()
    path = left_by(dead(), base, processes=(("n1", child),))
    (would,) = heal(dry=True)
    told = (f"end n1, process {child.pid}", f"remove {left}", f"remove {path}")
    assert would.done == tuple(f"would {what}" for what in told)
    assert left.exists()
    heal()
    assert procfs.identity(child.pid) == child, "a zombie until its parent asks"
    assert not left.exists()


def test_a_process_that_only_has_the_same_pid_is_not_touched(base: Path, child: Identity) -> None:
    impostor = Identity(child.pid, child.start_ticks - 1)
    path = left_by(dead(), base, processes=(("n1", impostor),))
    (healed,) = heal()
    assert procfs.state(child) is ProcessState.RUNNING
    assert healed.done == (f"removed {path}",)


def test_pids_of_another_boot_mean_nobody_here(base: Path, child: Identity) -> None:
    namespace = runtime.this_host().split(maxsplit=1)[1]
    path = left_by(dead(), base, processes=(("n1", child),), host=f"another-boot {namespace}")
    heal()
    assert procfs.state(child) is ProcessState.RUNNING
    assert not path.exists()


def test_a_run_in_another_container_is_left_alone(base: Path, child: Identity) -> None:
    boot = procfs.boot_id()
    path = left_by(dead(), base, processes=(("n1", child),), host=f"{boot} pid:[1]")
    (healed,) = heal()
    assert healed.live
    assert path.exists()
    assert procfs.state(child) is ProcessState.RUNNING


def test_a_run_in_another_container_of_an_earlier_boot_is_over(base: Path, child: Identity) -> None:
    path = left_by(dead(), base, processes=(("n1", child),), host="another-boot pid:[1]")
    (healed,) = heal()
    assert not healed.live
    assert not path.exists()
    assert procfs.state(child) is ProcessState.RUNNING


def test_an_owner_of_an_earlier_boot_is_dead_whoever_has_its_pid_now(
    base: Path, child: Identity
) -> None:
    namespace = runtime.this_host().split(maxsplit=1)[1]
    left_by(child, base, host=f"another-boot {namespace}")
    assert [healed.live for healed in heal()] == [False]


def test_the_record_of_what_was_attached_to_is_kept_until_that_is_left_as_found(
    base: Path, child: Identity
) -> None:
    path = left_by(dead(), base, processes=(("n1", child),))
    (path / ATTACHED).write_text("{}")
    (healed,) = heal()
    assert procfs.state(child) is ProcessState.GONE, "what can be healed here is"
    assert [str(path / ATTACHED) in said for said in healed.failed] == [True]
    assert (path / ATTACHED).exists()
    (path / ATTACHED).unlink()
    (healed,) = heal()
    assert not healed.failed
    assert not path.exists()


def test_what_was_attached_to_before_this_boot_keeps_nothing(base: Path) -> None:
    path = left_by(dead(), base, host="another-boot pid:[1]")
    (path / ATTACHED).write_text("{}")
    (healed,) = heal()
    assert not healed.failed
    assert not path.exists()


def test_what_goes_wrong_with_one_run_is_said_of_it_and_the_next_is_healed(
    base: Path, child: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = left_by(dead(), base, run="first", processes=(("n1", child),))
    second = left_by(dead(), base, run="second")

    def refuse(_who: Identity, _number: signal.Signals) -> bool:
        raise PermissionError("not yours")

    monkeypatch.setattr(procfs, "send", refuse)
    told = {healed.run: healed.failed for healed in heal()}
    monkeypatch.undo()
    assert ["not yours" in said for said in told["first"]] == [True]
    assert told["second"] == ()
    assert first.exists()
    assert not second.exists()


def test_a_directory_whose_owner_died_before_it_wrote_anything_is_removed(base: Path) -> None:
    path = left_by(dead(), base)
    (path / MANIFEST).unlink()
    (healed,) = heal()
    assert healed.run is None
    assert not path.exists()


def test_a_run_that_goes_on_is_left_alone(base: Path) -> None:
    ours = Runtime("going on")
    (healed,) = heal()
    assert (healed.run, healed.live, healed.done) == ("going on", True, ())
    assert ours.path.parent == base
    ours.remove()
    assert heal() == ()


def test_a_harness_that_was_killed_is_dead_before_it_is_reaped(base: Path, child: Identity) -> None:
    left_by(child, base)
    assert [healed.live for healed in heal()] == [True]
    procfs.send(child, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while procfs.state(child) is not ProcessState.GONE:
        assert time.monotonic() < deadline
    assert [healed.live for healed in heal()] == [False]


def test_a_run_that_somebody_else_heals_just_now_is_left_to_them(base: Path, child: Identity) -> None:
    path = left_by(dead(), base, processes=(("n1", child),))
    held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(held, fcntl.LOCK_EX)
    (healed,) = heal()
    assert healed.done == ("somebody else heals it just now",)
    assert procfs.state(child) is ProcessState.RUNNING
    assert path.exists()
    os.close(held)
    (healed,) = heal()
    assert not path.exists()


def test_only_the_run_that_is_named_is_healed(base: Path) -> None:
    first = left_by(dead(), base, run="first")
    second = left_by(dead(), base, run="second")
    assert [healed.run for healed in heal("second")] == ["second"]
    assert first.exists()
    assert not second.exists()


def test_what_may_be_somebody_elses_trap_is_not_opened(base: Path) -> None:
    owner = dead()
    open_to_all = left_by(owner, base)
    open_to_all.chmod(0o755)
    elsewhere = base / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (base / f"lantern-{owner.pid}-1-link").symlink_to(elsewhere)
    (base / f"lantern-{owner.pid}-1-file").touch(mode=0o700)
    assert heal() == ()
    assert open_to_all.exists()
    assert elsewhere.exists()


def test_the_runtime_directory_and_its_sockets_are_the_users_alone() -> None:
    ours = Runtime("private")
    try:
        assert ours.path.stat().st_mode & 0o777 == 0o700
    finally:
        ours.remove()


def test_the_directory_of_a_run_with_containers_is_kept_until_an_engine_was_asked(base: Path) -> None:
    path = base / "lantern-1073741824-1-abcdefgh"
    path.mkdir(mode=0o700)
    host = runtime.this_host()
    (path / MANIFEST).write_bytes(msgspec.json.encode(Manifest(run="r", host=host)))
    (path / CONTAINERS).touch()
    (healed,) = heal()
    assert (healed.done, path.exists()) == ((), True)
    assert healed.failed == (
        "its containers may be there still: no engine could be asked to remove them",
    )
    docker_heal._note_removed("r", {path.name}, dry=False)
    docker_heal._note_removed("another", set(), dry=False)
    docker_heal._note_removed("r", set(), dry=True)
    assert heal()[0].failed == healed.failed
    docker_heal._note_removed("r", set(), dry=False)
    (healed,) = heal()
    assert (healed.done, healed.failed) == ((f"removed {path}",), ())
