"""What a dead run had attached to is left as found part by part, and its record goes last. No engine."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import docker.errors
import msgspec
import pytest

from targets.attach import cluster, record
from targets.attach.found import Found
from targets.attach.record import Attached, Attachment, Holder
from targets.cluster import ProcessState, TargetError
from targets.docker import processes
from targets.docker.engine import Engine, EngineAbsentError
from targets.host import runtime
from targets.host.heal import ATTACHED
from targets.host.procfs import Identity
from targets.host.runtime import MANIFEST, Manifest, Runtime

if TYPE_CHECKING:
    from pathlib import Path

NOBODY = Identity(1 << 30, 1)


class Containers:
    """Three containers that do not run; the engine refuses to start some."""

    def __init__(self, *, refused: set[str]) -> None:
        self.refused = refused
        self.running: set[str] = set()
        self.frozen: set[str] = set()

    def inspect_container(self, container: str) -> dict[str, Any]:
        return {"State": {"Running": container in self.running, "Paused": container in self.frozen}}

    def unpause(self, container: str) -> None:
        self.frozen.remove(container)

    def start(self, container: str) -> None:
        if container in self.refused:
            raise docker.errors.APIError("no room")
        self.running.add(container)


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave the runtime directory of a dead run that had attached to three containers."""
    monkeypatch.setattr(runtime, "bases", lambda: (tmp_path,))
    path = tmp_path / f"lantern-{NOBODY.pid}-{NOBODY.start_ticks}-abcdefgh"
    path.mkdir(mode=0o700)
    host = runtime.this_host()
    (path / MANIFEST).write_bytes(msgspec.json.encode(Manifest(run="r", host=host)))
    attached = tuple(Attached(node, f"id-{node}", None) for node in ("n1", "n2", "n3"))
    (path / ATTACHED).write_bytes(msgspec.json.encode(Attachment(host, attached)))
    return path


def healed_at(containers: Containers, monkeypatch: pytest.MonkeyPatch) -> Any:
    async def connect() -> Engine:
        return Engine(SimpleNamespace(api=containers, close=lambda: None))

    monkeypatch.setattr(Engine, "connect", connect)
    (healed,) = asyncio.run(record.heal())
    return healed


def test_one_container_that_cannot_be_started_keeps_no_other_down_and_the_record_in_place(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    containers = Containers(refused={"id-n2"})
    healed = healed_at(containers, monkeypatch)
    assert healed.done == ("started n1 again", "started n3 again")
    assert [said.startswith("n2 is not left as found") for said in healed.failed] == [True]
    assert (left / ATTACHED).exists()

    containers.refused.clear()
    healed = healed_at(containers, monkeypatch)
    assert (healed.done, healed.failed) == (("started n2 again",), ())
    assert not (left / ATTACHED).exists()


def test_what_the_engine_of_another_machine_froze_it_thaws(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    containers = Containers(refused=set())
    containers.running = {"id-n1", "id-n2", "id-n3"}
    containers.frozen = {"id-n2"}
    healed = healed_at(containers, monkeypatch)
    assert (healed.done, healed.failed) == (("continued n2",), ())
    assert containers.frozen == set()
    assert not (left / ATTACHED).exists()


def test_two_runs_do_not_make_faults_on_one_container(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "bases", lambda: (short,))

    def begun(name: str, *containers: str) -> Runtime:
        directory = Runtime(name)
        record.save(directory, {one: SimpleNamespace(id=one, identity=None) for one in containers})  # type: ignore[misc]
        return directory

    first = begun("first", "blue", "green")
    record.check_alone(first)
    record.check_alone(begun("second", "red"))
    third = begun("third", "blue", "green")
    with pytest.raises(TargetError, match="run first makes faults on container"):
        record.check_alone(third)
    first.remove()
    record.check_alone(third)


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    ("state", "how"), [(ProcessState.STOPPED, "is paused"), (ProcessState.GONE, "does not run")]
)
def test_what_a_run_has_paused_or_killed_is_not_to_be_unpaused_by_hand(
    short: Path, monkeypatch: pytest.MonkeyPatch, state: ProcessState, how: str, *, live: bool
) -> None:
    """One that goes on heals it by itself; after a dead one `lantern heal` does, all of it."""

    class Theirs(SimpleNamespace):
        async def refresh(self) -> None:
            pass

    monkeypatch.setattr(runtime, "bases", lambda: (short,))
    monkeypatch.setattr(runtime.Found, "live", live)
    theirs = Theirs(id="id-blue", identity=None, state=lambda: state)
    record.save(Runtime("theirs"), {"n1": theirs})  # type: ignore[dict-item]
    monkeypatch.setattr(cluster, "Container", lambda *_: theirs)
    held = record.holders(Runtime("ours"))
    assert held == {"id-blue": Holder("theirs", live=live)}

    def refused(holder: Holder | None) -> str:
        with pytest.raises(TargetError) as error:
            asyncio.run(cluster._running(Engine(None), "n1", Found("id-blue", "blue"), holder))
        return str(error.value)

    assert refused(held["id-blue"]) == (
        f"blue {how}: run theirs of Lantern makes faults on it, so wait for its end"
        if live
        else f"blue {how}: run theirs of Lantern left it so and is dead, so `lantern heal`"
    )
    assert "run" not in refused(None).replace("does not run", "")


class Stopped:
    """The processes of a container, which are stopped; ``first`` is the one that was found."""

    def __init__(self, first: Identity) -> None:
        self.first = first
        self.now = ProcessState.STOPPED

    def state(self) -> ProcessState:
        return self.now

    def resume(self) -> bool:
        stopped, self.now = self.now is ProcessState.STOPPED, ProcessState.RUNNING
        return stopped


def test_what_was_stopped_goes_on_without_an_engine_and_the_rest_waits_for_one(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect() -> Engine:
        raise EngineAbsentError("no Docker engine answers")

    group = Stopped(Identity(7, 3))
    monkeypatch.setattr(Engine, "connect", connect)
    monkeypatch.setattr(processes, "group_of", lambda pid, _: group if pid == 7 else None)
    attached = (Attached("n1", "id-n1", Identity(7, 3)), Attached("n2", "id-n2", Identity(9, 3)))
    (left / ATTACHED).write_bytes(msgspec.json.encode(Attachment(runtime.this_host(), attached)))
    (healed,) = asyncio.run(record.heal())
    assert (healed.done, group.now) == (("continued n1",), ProcessState.RUNNING)
    assert healed.failed == ("n2 is not left as found: no Docker engine answers",)
    assert (left / ATTACHED).exists()

    (left / ATTACHED).write_bytes(msgspec.json.encode(Attachment(runtime.this_host(), attached[:1])))
    group.now = ProcessState.STOPPED
    (healed,) = asyncio.run(record.heal())
    assert (healed.done, healed.failed) == (("continued n1",), ())
    assert not (left / ATTACHED).exists()


def test_a_process_that_is_another_by_now_is_not_continued(
    monkeypatch: pytest.MonkeyPatch, left: Path
) -> None:
    async def connect() -> Engine:
        raise EngineAbsentError("no Docker engine answers")

    group = Stopped(Identity(7, 4))
    monkeypatch.setattr(Engine, "connect", connect)
    monkeypatch.setattr(processes, "group_of", lambda *_: group)
    attached = (Attached("n1", "id-n1", Identity(7, 3)),)
    (left / ATTACHED).write_bytes(msgspec.json.encode(Attachment(runtime.this_host(), attached)))
    (healed,) = asyncio.run(record.heal())
    assert (healed.done, group.now) == ((), ProcessState.STOPPED)
    assert len(healed.failed) == 1
