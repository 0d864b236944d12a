"""Real processes: who they are, what the kernel says of them, how they stop, go on and end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from targets.cluster import ProcessState, TargetError
from targets.host import procfs
from targets.leasekv import node as leasekv_node
from targets.local.process import NodeProcess, environment, python

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.processes

THREADS = """
import threading, time
for _ in range(4):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[NodeProcess]:
    """Start a process of five threads, and end it whatever happens."""
    log = tmp_path / "log"
    command = (sys.executable, "-c", THREADS)
    process = NodeProcess("n1", command, env=environment({}), cwd=tmp_path, log=log)
    while "ready" not in log.read_text():
        time.sleep(0.005)
    yield process
    asyncio.run(process.kill())


def test_a_pause_holds_every_thread_and_a_resume_lets_them_go(sleeper: NodeProcess) -> None:
    tasks = list(Path(f"/proc/{sleeper.identity.pid}/task").iterdir())
    assert len(tasks) == 5

    async def work() -> None:
        for _ in range(3):
            await sleeper.pause()
            assert all(
                (task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in tasks
            )
            assert sleeper.state() is ProcessState.STOPPED
            await sleeper.pause()
            sleeper.resume()
            sleeper.resume()
            assert sleeper.state() is ProcessState.RUNNING

    asyncio.run(work())


def test_a_stopped_process_is_killed_and_reaped(sleeper: NodeProcess) -> None:
    async def work() -> None:
        await sleeper.pause()
        await sleeper.kill()
        assert procfs.identity(sleeper.identity.pid) is None
        assert sleeper.state() is ProcessState.GONE
        assert sleeper.exit_code == -signal.SIGKILL
        sleeper.resume()
        await sleeper.kill()
        with pytest.raises(TargetError, match="n1 was to stop but is gone"):
            await sleeper.pause()

    asyncio.run(work())


def test_a_process_that_died_by_itself_is_gone_before_it_is_reaped(sleeper: NodeProcess) -> None:
    os.kill(sleeper.identity.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while sleeper.state() is not ProcessState.GONE:
        assert time.monotonic() < deadline
    assert procfs.identity(sleeper.identity.pid) == sleeper.identity, "a zombie still has its pid"


def test_a_signal_for_another_process_of_the_same_pid_is_not_sent(sleeper: NodeProcess) -> None:
    impostor = procfs.Identity(sleeper.identity.pid, sleeper.identity.start_ticks - 1)
    assert not procfs.send(impostor, signal.SIGKILL)
    assert procfs.state(impostor) is ProcessState.GONE
    assert sleeper.state() is ProcessState.RUNNING


def test_a_signal_for_a_pid_that_nobody_has_is_not_an_error() -> None:
    nobody = subprocess.Popen([sys.executable, "-c", ""])
    who = procfs.identity(nobody.pid)
    assert who is not None
    nobody.wait()
    assert not procfs.send(who, signal.SIGCONT)


def test_a_command_with_brackets_and_spaces_in_its_name_is_read_right(tmp_path: Path) -> None:
    odd = tmp_path / "a) R (b"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([str(odd), "60"]) as child:
        who = procfs.identity(child.pid)
        assert who is not None
        assert who.start_ticks > 0
        os.kill(child.pid, signal.SIGSTOP)
        deadline = time.monotonic() + 5
        while procfs.state(who) is not ProcessState.STOPPED:
            assert time.monotonic() < deadline
        child.kill()


def test_ctrl_c_at_the_terminal_does_not_reach_a_node(sleeper: NodeProcess) -> None:
    pid = sleeper.identity.pid
    assert os.getsid(pid) == pid
    assert os.getpgid(pid) != os.getpgid(0)


def test_a_node_finds_our_targets_whatever_the_working_directory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "targets"
    theirs.mkdir()
    (theirs / "__init__.py").write_text("raise SystemExit('the targets of a user')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    process = NodeProcess(
        "n1", python("targets.leasekv.node"), env=environment({}), cwd=tmp_path, log=log
    )
    deadline = time.monotonic() + 20
    while process.exit_code is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.exit_code == leasekv_node.EXIT_USAGE
    assert "usage: python -P -m targets.leasekv.node" in log.read_text()
