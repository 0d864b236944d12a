"""Remove what a dead run left at the engine: containers, networks, volumes, found by label.

A run's id is the name of its runtime directory, which says who owns it (pid and start time), so whether
a run is dead is known even when its directory is gone. Cuts in a removed container's namespace went
with it. Foreign things carry no label of ours and are never listed, let alone touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import docker.errors

from targets.cluster import TargetError
from targets.host import runtime
from targets.host.heal import CONTAINERS, Healed
from targets.host.runtime import alive, owner_of

from . import project
from .engine import Engine

if TYPE_CHECKING:
    from collections.abc import Collection


async def heal(run: str | None = None, *, dry: bool = False) -> tuple[Healed, ...]:
    """Heal every dead run at the engine, or only the one of this name; idempotent.

    ``dry`` touches nothing, and tells what would be done.
    Raises `EngineAbsentError` where no engine answers: then nothing is known to be left.
    """
    engine = await Engine.connect()
    try:
        healed = []
        for found in await project.found(engine):
            if run is not None and run not in (found.run, found.name):
                continue
            if _live(found):
                healed.append(Healed(found.run, found.name, live=True))
                continue
            if dry:
                would = tuple(f"would remove {thing}" for thing in found.things)
                healed.append(Healed(found.run, found.name, live=False, done=would))
            else:
                healed.append(await _remove(engine, found))
        _note_removed(run, {each.path for each in healed if each.failed}, dry=dry)
        return tuple(healed)
    finally:
        engine.close()


def _note_removed(run: str | None, left: Collection[str], *, dry: bool) -> None:
    """Let the directories of dead runs go of which the engine has nothing any more."""
    for found in runtime.find():
        named = run is None or run in (found.path.name, found.manifest and found.manifest.run)
        if named and not dry and not found.live and found.path.name not in left:
            (found.path / CONTAINERS).unlink(missing_ok=True)


async def _remove(engine: Engine, found: project.Leftover) -> Healed:
    """Remove what one run left; an engine that refuses or is silent keeps nobody else's from it."""
    try:
        left = await project.remove(engine, found.run)
    except (TargetError, docker.errors.DockerException, OSError) as error:
        unknown = f"not known to be removed: {error}"
        return Healed(found.run, found.name, live=False, failed=(unknown,))
    gone = tuple(f"removed {thing}" for thing in found.things if thing not in left)
    failed = tuple(f"{thing} is not removed" for thing in left)
    return Healed(found.run, found.name, live=False, done=gone, failed=failed)


def _live(found: project.Leftover) -> bool:
    owner = owner_of(found.run)
    return owner is not None and alive(owner, found.host)
