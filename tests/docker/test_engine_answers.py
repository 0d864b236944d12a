"""What an engine that answers nonsense, or not at all, comes to: a sentence, and nodes killed."""

from __future__ import annotations

import asyncio
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import docker.errors
import pytest

from targets.cluster import TargetError
from targets.docker import cluster as made
from targets.docker import processes
from targets.docker.cluster import DockerCluster
from targets.docker.container import Container
from targets.docker.engine import Engine, EngineRefusedError, EngineSilentError
from targets.host import procfs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(20)


class Answering:
    """An engine that gives one answer to everything, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.api = self
        self._answer = answer

    def inspect_container(self, _id: str) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def close(self) -> None:
        pass


@pytest.mark.parametrize("answer", [{}, None, [], "", {"State": None}, {"State": {"Pid": 3}}])
def test_an_answer_that_makes_no_sense_is_told_in_a_sentence(answer: Any) -> None:
    container = Container(Engine(Answering(answer)), "n1", "id")
    with pytest.raises(EngineSilentError, match="did not describe n1: its answer makes no sense"):
        asyncio.run(container.refresh())


def test_an_engine_that_is_broken_is_a_target_error_with_its_own_words() -> None:
    container = Container(
        Engine(Answering(docker.errors.APIError("500", explanation="oops"))), "n1", "i"
    )
    with pytest.raises(EngineRefusedError, match="did not describe n1: oops"):
        asyncio.run(container.refresh())


class Ordered:
    """A system that notes when it is let go of."""

    def __init__(self, said: list[str]) -> None:
        self.services: dict[str, Any] = {}
        self._said = said

    def close(self) -> None:
        self._said.append("system closed")


def cluster(said: list[str], tmp_path: Path) -> DockerCluster:
    system: Any = Ordered(said)
    one = DockerCluster(system, tmp_path)
    runtime: Any = SimpleNamespace(path=tmp_path, remove=lambda: said.append("directory removed"))
    one._engine, one._runtime = Engine(Answering(None)), runtime
    return one


def test_what_is_mounted_goes_after_the_containers_that_may_be_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    async def remove(_engine: Engine, _run: str) -> None:
        said.append("containers removed")

    monkeypatch.setattr(made, "_remove", remove)
    asyncio.run(cluster(said, tmp_path).stop())
    assert said == ["containers removed", "system closed", "directory removed"]


def test_nodes_of_an_engine_that_does_not_answer_are_killed_and_heal_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = subprocess.Popen(["sleep", "60"])
    try:
        who = procfs.identity(node.pid)
        assert who is not None

        async def remove(_engine: Engine, _run: str) -> None:
            raise EngineSilentError("the Docker engine did not remove it")

        monkeypatch.setattr(made, "_remove", remove)
        monkeypatch.setattr(made, "LATE_START_S", 0.2)
        monkeypatch.setattr(processes, "found", lambda container: [who] if container == "i" else [])
        one = cluster([], tmp_path)
        one._containers = {"n1": Container(Engine(Answering(None)), "n1", "i")}
        with pytest.raises(TargetError, match=r"did not remove it; `lantern heal` tries again"):
            asyncio.run(one.stop())
        assert node.wait(5) == -9
    finally:
        node.kill()
