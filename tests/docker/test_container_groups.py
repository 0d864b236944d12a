"""Whose processes a container's are, where it ends while we look."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import TYPE_CHECKING, Any, cast

import pytest

from targets.cluster import ProcessState, TargetError
from targets.docker import processes
from targets.docker.container import Container
from targets.host import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from targets.docker.engine import Engine

CONTAINER = "c0ffee" * 10


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process that the kernel says is in a control group which is not, or no longer, to be seen."""
    kernel_says = processes._text

    def text(path: Path) -> str:
        return f"0::/docker/{CONTAINER}\n" if path.name == "cgroup" else kernel_says(path)

    monkeypatch.setattr(processes, "_text", text)
    monkeypatch.setattr(processes, "MOUNTED", tmp_path)
    with subprocess.Popen(["sleep", "100"]) as started:
        yield started
        started.kill()


def test_a_container_whose_group_is_not_shown_is_refused_by_name(
    child: subprocess.Popen[bytes],
) -> None:
    with pytest.raises(TargetError, match="container c0ffeec0ffee are not listed under"):
        processes.group_of(child.pid, CONTAINER)


def test_a_container_that_ends_as_it_is_looked_at_is_gone_and_no_riddle(
    child: subprocess.Popen[bytes],
) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    group = processes.group_of(child.pid, CONTAINER)
    assert group is not None
    assert group.first == procfs.identity(child.pid), "a zombie still, that its parent has not reaped"
    assert group.state() is ProcessState.GONE
    assert not group.resume()


def test_one_on_its_way_out_has_left_its_group_already_and_is_no_riddle_either(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_says = procfs._stat

    def exiting(directory: str) -> list[str] | None:
        fields = kernel_says(directory)
        return None if fields is None else [*fields[:6], "4194572", *fields[7:]]  # as it was once seen

    monkeypatch.setattr(procfs, "_stat", exiting)
    group = processes.group_of(child.pid, CONTAINER)
    assert group is not None
    assert group.first == procfs.identity(child.pid)


class Slow:
    """An engine that learns of a container's end some looks after it."""

    def __init__(self, host: str | None, pid: int, looks: int) -> None:
        self.host = host
        self.pid = pid
        self.looks = looks
        self.started = False

    async def call(self, what: str, action: object) -> dict[str, Any]:
        del action
        if what.startswith("start"):
            self.started = True
            return {}
        self.looks -= self.started
        running = self.started and self.looks > 0
        return {"State": {"Running": running, "Pid": self.pid * running, "Paused": False, "ExitCode": 3}}


def started_at(engine: Slow) -> Container:
    container = Container(cast("Engine", engine), "n1", CONTAINER)
    asyncio.run(container.start())
    return container


@pytest.fixture
def nobody() -> int:
    """A pid that was somebody's."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    return ended.pid


def test_a_container_that_ended_before_its_engine_knew_is_not_on_another_machine(nobody: int) -> None:
    container = started_at(Slow(None, nobody, looks=4))
    assert not container.far
    assert container.state() is ProcessState.GONE
    assert asyncio.run(container.ended_with()) == 3


def test_a_container_of_an_engine_on_another_machine_is_far_at_once(nobody: int) -> None:
    engine = Slow("db.example.org", nobody, looks=4)
    assert started_at(engine).far
    assert engine.looks == 3, "asked once, not again and again"


@pytest.mark.parametrize(("looks", "code"), [(3, 3), (10_000, None)])
def test_how_one_ended_is_told_once_the_engine_has_learnt_of_it(looks: int, code: int | None) -> None:
    engine = Slow(None, 1, looks)
    engine.started = True
    container = Container(cast("Engine", engine), "n1", CONTAINER)
    assert asyncio.run(container.learnt_end()) == code
