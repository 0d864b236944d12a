"""Remove what a dead run left at the engine: containers, networks, volumes, found by label.

A run's id is the name of its runtime directory, which says who owns it (pid and start time), so whether
a run is dead is known even when its directory is gone. Cuts in a removed container's namespace went
with it. Foreign things carry no label of ours and are never listed, let alone touched.
"""

from __future__ import annotations

from targets.local import procfs
from targets.local.heal import Healed
from targets.local.runtime import owner_of, this_host

from . import project
from .engine import Engine


async def heal(run: str | None = None) -> tuple[Healed, ...]:
    """Heal every dead run at the engine, or only the one of this name; idempotent.

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
            left = await project.remove(engine, found.run)
            gone = tuple(f"removed {thing}" for thing in found.things if thing not in left)
            failed = tuple(f"{thing} is not removed" for thing in left)
            healed.append(Healed(found.run, found.name, live=False, done=gone, failed=failed))
        return tuple(healed)
    finally:
        engine.close()


def _live(found: project.Leftover) -> bool:
    """Tell whether the harness that made it goes on, or may go on where we cannot see."""
    owner = owner_of(found.run)
    if owner is None or found.host.split()[:1] != this_host().split()[:1]:
        return False  # made before this boot
    return found.host != this_host() or procfs.identity(owner.pid) == owner
