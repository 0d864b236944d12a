"""What a harness that was killed had attached to, and how to leave that as it was found.

One file in the private runtime directory, written before the first fault and removed once everything is
as it was found: the directory is kept as long as the file is there. It names containers by id, and
processes by pid *and* start time; neither is believed in any other boot.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

import docker.errors
import msgspec

from targets.cluster import ProcessState, TargetError
from targets.docker import netns, packets, processes, queues
from targets.docker.engine import Engine, EngineAbsentError
from targets.host import procfs, runtime
from targets.host.heal import ATTACHED, Healed
from targets.host.procfs import Identity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from targets.docker.container import Container
    from targets.docker.engine import Client
    from targets.host.runtime import Runtime


class Attached(msgspec.Struct, frozen=True):
    """One container as it was found: running, as this process, if it is of this host."""

    node: str
    container: str
    process: Identity | None


class Attachment(msgspec.Struct, frozen=True):
    """All of a run's."""

    host: str
    attached: tuple[Attached, ...]


def save(directory: Runtime, containers: Mapping[str, Container]) -> None:
    """Write down what was found."""
    attached = tuple(Attached(node, one.id, one.identity) for node, one in containers.items())
    record = Attachment(runtime.this_host(), attached)
    runtime.replace(directory.path / ATTACHED, msgspec.json.encode(record))


class Holder(msgspec.Struct, frozen=True):
    """A run that has attached to a container and has not left it; ``live`` if it goes on."""

    run: str
    live: bool


def holders(directory: Runtime) -> dict[str, Holder]:
    """Return by container which other run has attached to it; one that goes on before a dead one."""
    held: dict[str, Holder] = {}
    for found in runtime.find():
        record = _read(found.path)
        if found.path == directory.path or record is None:
            continue
        name = found.manifest.run if found.manifest else found.path.name
        for one in record.attached:
            if one.container not in held or found.live:
                held[one.container] = Holder(name, live=found.live)
    return held


def check_alone(directory: Runtime) -> None:
    """Raise `TargetError` if another run that goes on has attached to one of the same containers.

    Each writes down its own before it looks, so of two that begin at once none is overlooked.
    """
    own = _read(directory.path)
    held = holders(directory)
    for one in () if own is None else own.attached:
        holder = held.get(one.container)
        if holder is not None and holder.live:
            raise TargetError(
                f"run {holder.run} makes faults on container {one.container[:12]} already:"
                " wait for its end"
            )


async def heal(run: str | None = None, *, dry: bool = False) -> tuple[Healed, ...]:
    """Leave as found what dead runs had attached to; their directories are left to the local heal.

    ``dry`` touches nothing, and tells what would be done. Raises `EngineAbsentError` where no engine
    answers and nothing is written down that can be done without.
    """
    left = list(_left(run))
    engine: Engine | EngineAbsentError
    try:
        engine = await Engine.connect()
    except EngineAbsentError as error:
        if not left:
            raise
        engine = error
    try:
        return await _heal(engine, left, dry=dry)
    finally:
        if isinstance(engine, Engine):
            engine.close()


def _left(run: str | None) -> Iterator[tuple[runtime.Found, str | None, Attachment]]:
    for found in runtime.find():
        name = found.manifest.run if found.manifest else None
        record = _read(found.path)
        if record is not None and not found.live and run in (None, name):
            yield found, name, record


async def _heal(
    engine: Engine | EngineAbsentError,
    left: Iterable[tuple[runtime.Found, str | None, Attachment]],
    *,
    dry: bool,
) -> tuple[Healed, ...]:
    healed = []
    for found, name, record in left:
        done: list[str] = []
        failed: list[str] = []
        for one in record.attached:
            await _leave(engine, found.path.name, one, dry=dry, done=done, failed=failed)
        if not failed and not dry:
            (found.path / ATTACHED).unlink(missing_ok=True)
        healed.append(Healed(str(found.path), name, live=False, done=tuple(done), failed=tuple(failed)))
    return tuple(healed)


async def _leave(
    engine: Engine | EngineAbsentError,
    run: str,
    one: Attached,
    *,
    dry: bool,
    done: list[str],
    failed: list[str],
) -> None:
    """Leave one container as it was found; what goes wrong with one part keeps no other from it.

    Whose process runs as it did needs no engine. ``dry`` looks at each part, and says what it would do.
    """

    async def run_again() -> str | None:
        if isinstance(engine, EngineAbsentError):
            group = _group(one)
            if group is not None and group.state() is ProcessState.RUNNING:
                return None
            raise engine
        try:
            return await engine.call(
                f"start {one.node}", lambda client: _run_again(client, one, dry=dry)
            )
        except docker.errors.NotFound:
            return None  # its owner removed it

    parts: tuple[Callable[[], Awaitable[str | None]], ...] = (
        partial(_go_on, one, dry=dry),
        partial(_open_links, run, one, dry=dry),
        run_again,
    )
    for part in parts:
        try:
            if (said := await part()) is not None:
                done.append(said)
        except (TargetError, docker.errors.DockerException, OSError) as error:
            what = "cannot be looked at" if dry else "is not left as found"
            failed.append(f"{one.node} {what}: {error}")


async def _go_on(one: Attached, *, dry: bool) -> str | None:
    group = _group(one)
    if dry:
        return f"would continue {one.node}" if group is not None and group.stopped() else None
    return f"continued {one.node}" if group is not None and group.resume() else None


def _group(one: Attached) -> processes.Group | None:
    """Return its processes, if its first one is still the one that was found."""
    who = one.process
    group = None if who is None else processes.group_of(who.pid, one.container)
    return group if group is not None and group.first == who else None


async def _open_links(run: str, one: Attached, *, dry: bool) -> str | None:
    """Remove what cuts and what delays."""
    who = one.process
    if who is None or procfs.identity(who.pid) != who or netns.obstacle() is not None:
        return None
    if dry:
        with contextlib.suppress(netns.NamespaceGoneError):
            if netns.nft_list(who.pid, packets.table(run)) is not None:
                return f"would open the links of {one.node}"
        return None
    if netns.nft({who.pid: packets.remove(run)}):
        return None
    queues.undo(run, who.pid)
    return f"opened the links of {one.node}"


def _run_again(client: Client, one: Attached, *, dry: bool) -> str | None:
    """Have a container run; return what that took. One that obeys no signal was frozen by the engine."""
    state = client.api.inspect_container(one.container)["State"]
    if state["Running"] and not state["Paused"]:
        return None
    if dry:
        return f"would continue {one.node}" if state["Running"] else f"would start {one.node} again"
    if state["Running"]:
        client.api.unpause(one.container)
        return f"continued {one.node}"
    client.api.start(one.container)
    return f"started {one.node} again"


def _read(directory: Path) -> Attachment | None:
    try:
        record = msgspec.json.decode((directory / ATTACHED).read_bytes(), type=Attachment)
    except (OSError, msgspec.DecodeError):
        return None
    return record if record.host == runtime.this_host() else None
