"""What a harness that was killed had attached to, and how to leave that as it was found.

One file in the private runtime directory, written before the first fault. It names containers by id, and
processes by pid *and* start time; neither is believed in any other boot.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import docker.errors
import msgspec

from targets.cluster import ProcessState
from targets.docker import netns, packets
from targets.docker.engine import Engine
from targets.local import procfs, runtime
from targets.local.heal import Healed
from targets.local.procfs import Identity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.docker.container import Container
    from targets.docker.engine import Client
    from targets.local.runtime import Runtime

FILE: Final = "attached.json"


class Attached(msgspec.Struct, frozen=True):
    """One container as it was found: running, as this process, if it is of this host."""

    node: str
    container: str
    process: Identity | None


class Record(msgspec.Struct, frozen=True):
    """All of a run's."""

    host: str
    attached: tuple[Attached, ...]


def save(directory: Runtime, containers: Mapping[str, Container]) -> None:
    """Write down what was found."""
    attached = tuple(Attached(node, one.id, one.identity) for node, one in containers.items())
    record = Record(runtime.this_host(), attached)
    runtime.replace(directory.path / FILE, msgspec.json.encode(record))


async def heal(run: str | None = None) -> tuple[Healed, ...]:
    """Leave as found what dead runs had attached to; their directories are left to the local heal."""
    engine = await Engine.connect()
    try:
        return await _heal(engine, run)
    finally:
        engine.close()


async def _heal(engine: Engine, run: str | None) -> tuple[Healed, ...]:
    healed = []
    for found in runtime.find():
        name = found.manifest.run if found.manifest else None
        record = _read(found)
        if record is None or found.live or (run is not None and run != name):
            continue
        done = [line for one in record.attached for line in await _leave(engine, found.path.name, one)]
        healed.append(Healed(str(found.path), name, live=False, done=tuple(done)))
    return tuple(healed)


async def _leave(engine: Engine, run: str, one: Attached) -> list[str]:
    done = []
    who = one.process
    if who is not None and procfs.identity(who.pid) == who:
        if procfs.state(who) is ProcessState.STOPPED and procfs.send(who, signal.SIGCONT):
            done.append(f"continued {one.node}")
        if netns.obstacle() is None and not netns.nft({who.pid: packets.remove(run)}):
            done.append(f"opened the links of {one.node}")

    def start(client: Client) -> bool:
        if client.api.inspect_container(one.container)["State"]["Running"]:
            return False
        client.api.start(one.container)
        return True

    try:
        if await engine.call(f"start {one.node}", start):
            done.append(f"started {one.node} again")
    except docker.errors.NotFound:
        pass  # its owner removed it
    return done


def _read(found: runtime.Found) -> Record | None:
    try:
        record = msgspec.json.decode((found.path / FILE).read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None
    return record if record.host == runtime.this_host() else None
