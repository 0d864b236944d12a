"""Undo what a dead run left behind: end its nodes, remove its files.

Only runtime directories of this user are looked at, only those whose owner is dead are touched, and a
process is ended only if its pid *and* its start time are the ones written down. Nodes die with their
harness anyway; this is for what cannot (a node whose kernel was not asked in time) and for files.

A directory goes last: while anything that is written down in it is not undone, it is kept, and that is
reported as a failure.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import ProcessState, TargetError

from . import disk, faketime, procfs, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIE_S: Final = 5.0
PROBE_S: Final = 0.005

ATTACHED: Final = "attached.json"
"""The record of what is not ours and is to be left as it was found; who has done that removes it."""

CONTAINERS: Final = "containers"
"""Is there while an engine may have containers of the run; who has removed them removes it."""


class Healed(msgspec.Struct, frozen=True):
    """One runtime directory: the run it belonged to, and what was done, in sentences for a person.

    A live run is listed with nothing done. ``failed`` says what could not be healed.
    """

    path: str
    run: str | None
    live: bool
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def heal(run: str | None = None, *, dry: bool = False) -> tuple[Healed, ...]:
    """Heal every dead run of this user, or only the one named; idempotent.

    ``dry`` touches nothing, and tells what would be done.
    """
    act = _told if dry else _heal
    named = [(found, found.manifest.run if found.manifest else None) for found in runtime.find()]
    return tuple(act(found, name) for found, name in named if run is None or run == name)


def _told(found: runtime.Found, run: str | None) -> Healed:
    """Return what would be done about one runtime directory."""
    if found.live:
        return Healed(str(found.path), run, live=True)
    manifest = found.manifest
    ours = manifest.processes if manifest is not None and manifest.host == runtime.this_host() else ()
    done: list[str] = []
    for node, who in ours:
        if procfs.state(who) is not ProcessState.GONE:
            done.append(f"would end {node}, process {who.pid}")
        if procfs.identity(who.pid) in (None, who):
            done += [f"would remove {path}" for path in faketime.left(who.pid)]
    done += [f"would unmount {path}" for path in disk.mounted(found.path)]
    return Healed(str(found.path), run, live=False, done=(*done, f"would remove {found.path}"))


def _heal(found: runtime.Found, run: str | None) -> Healed:
    if found.live:
        return Healed(str(found.path), run, live=True)
    with _claimed(found.path) as ours:
        if not ours:
            return Healed(str(found.path), run, live=False, done=("somebody else heals it just now",))
        return _heal_dead(found, run)


@contextmanager
def _claimed(path: Path) -> Iterator[bool]:
    """Hold a dead run's directory, so that two who heal do not trip over each other; False if taken."""
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield False
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path.exists()
    except BlockingIOError:
        yield False
    finally:
        os.close(held)


def _heal_dead(found: runtime.Found, run: str | None) -> Healed:
    done: list[str] = []
    failed: list[str] = []
    manifest = found.manifest
    here = manifest is None or manifest.host == runtime.this_host()  # else it is of an earlier boot
    try:
        if here and (found.path / ATTACHED).exists():
            failed.append(
                f"what it had attached to is not left as found: {found.path / ATTACHED} says what"
            )
        if here and (found.path / CONTAINERS).exists():
            failed.append("its containers may be there still: no engine could be asked to remove them")
        if here and manifest is not None:
            _end_nodes(manifest, done, failed)
        if not failed:
            done += [f"unmounted {path}" for path in disk.unmount_all(found.path)]
            shutil.rmtree(found.path)
            done.append(f"removed {found.path}")
    except (TargetError, OSError) as error:
        failed.append(f"{found.path} is kept: {error}")
    return Healed(str(found.path), run, live=False, done=tuple(done), failed=tuple(failed))


def _end_nodes(manifest: runtime.Manifest, done: list[str], failed: list[str]) -> None:
    for node, who in manifest.processes:
        if _end(who):
            done.append(f"ended {node}, process {who.pid}")
        if procfs.state(who) is not ProcessState.GONE:
            failed.append(f"{node}, process {who.pid}, does not die")
        elif procfs.identity(who.pid) in (None, who):  # gone, if only as a zombie nobody reaps
            done += [f"removed {path}" for path in faketime.sweep(who.pid)]


def _end(who: procfs.Identity) -> bool:
    """Kill a process, stopped or not; return whether it was there."""
    if procfs.state(who) is ProcessState.GONE or not procfs.send(who, signal.SIGKILL):
        return False
    deadline_s = time.monotonic() + DIE_S
    while procfs.state(who) is not ProcessState.GONE and time.monotonic() < deadline_s:
        time.sleep(PROBE_S)
    return True
