"""All processes of a container, found by its control group, and stopped or continued together.

A container's first process may be a mere init or a shell that waits for the database, and a database may
be many processes: to stop the first one stops nobody who serves. The control group has them all, those
that were started in the container later too.

Stopping goes on until a whole listing was found stopped: who is stopped starts nobody new. A control
group that somebody else froze (``docker pause``) shows nothing of it in its processes' states, so it is
asked as well.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from targets.cluster import ProcessState, TargetError
from targets.host import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from targets.host.procfs import Identity

MOUNTED: Final = Path("/sys/fs/cgroup")


class Group:
    """The processes of a container that runs on this host; it ends with the ``first`` of them."""

    def __init__(self, first: Identity, path: Path) -> None:
        self.first = first
        self._path = path

    def obeys(self) -> bool:
        """Whether this user may signal it; nothing is kept from who is gone."""
        try:
            os.kill(self.first.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return True

    def state(self) -> ProcessState:
        """Return what the container does: stopped is it once nothing of it runs."""
        found = procfs.state(self.first)
        match found:
            case ProcessState.RUNNING if self.frozen():
                return ProcessState.STOPPED
            case ProcessState.STOPPED if any(self._in_state(ProcessState.RUNNING)):
                return ProcessState.RUNNING
            case _:
                return found

    def stop(self) -> None:
        """Have what runs now stop; the first process before all others, for mostly it is who serves.

        A signal costs more than a look, so who is stopped gets none, and the first one no second.
        """
        if procfs.state(self.first) is ProcessState.RUNNING:
            procfs.send(self.first, signal.SIGSTOP)
        for who in self._in_state(ProcessState.RUNNING):
            if who != self.first:
                procfs.send(who, signal.SIGSTOP)

    def resume(self) -> bool:
        """Let everything that is stopped go on; return whether anything was."""
        return sum(procfs.send(who, signal.SIGCONT) for who in self._in_state(ProcessState.STOPPED)) > 0

    def stopped(self) -> bool:
        """Whether anything is stopped, which `resume` would let go on."""
        return any(self._in_state(ProcessState.STOPPED))

    def frozen(self) -> bool:
        """Whether the control group itself is frozen, which no signal undoes."""
        first_version = _text(self._path / "freezer.state") == "FROZEN\n"
        return first_version or "frozen 1\n" in _text(self._path / "cgroup.events")

    def _in_state(self, wanted: ProcessState) -> Iterator[Identity]:
        return (who for who in self._listed() if procfs.state(who) is wanted)

    def _listed(self) -> Iterator[Identity]:
        for listing in _with_inner(self._path):
            for pid in _text(listing / "cgroup.procs").split():
                who = procfs.identity(int(pid)) if pid != "0" else None  # 0: one that is not of here
                if who is not None:
                    yield who


def group_of(pid: int, container: str) -> Group | None:
    """Return the processes of a container by its first one; None if that is gone, or none of its.

    Raises `TargetError` where this host does not show its control groups.
    """
    first = procfs.identity(pid)
    memberships = [line.split(":", 2) for line in _text(procfs.PROC / str(pid) / "cgroup").splitlines()]
    paths = {names: path.lstrip("/") for _, names, path in memberships if container in path}
    if first is None or not paths:
        return None
    # Where each controller has a tree of its own, the freezer's also says who is frozen.
    order = sorted(paths, key=lambda names: names not in ("freezer", ""))
    groups = [MOUNTED / names.removeprefix("name=") / paths[names] for names in order]
    shown = next((path for path in groups if path.is_dir()), None)
    if shown is None and not procfs.ending(first):
        raise TargetError(
            f"the processes of container {container[:12]} are not listed under {MOUNTED}: run Lantern"
            " where the engine's control groups are to be seen"
        )
    # One that ends leaves its groups before it is gone, and may still be said to be in one not shown.
    return Group(first, shown or groups[0])


def found(container: str) -> list[Identity]:
    """Return every process of a container that this host shows, though nobody names one of them."""
    pids = [entry.name for entry in os.scandir(procfs.PROC) if entry.name.isdecimal()]
    ours = [int(pid) for pid in pids if container in _text(procfs.PROC / pid / "cgroup")]
    return [who for who in map(procfs.identity, ours) if who is not None]


def _with_inner(path: Path) -> Iterator[Path]:
    """Return a control group and those within; by the kind in its entry, for each has fifty files."""
    yield path
    try:
        inner = [entry.name for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return  # gone with its last process
    for name in inner:
        yield from _with_inner(path / name)


def _text(path: Path) -> str:
    """Return what a file of the kernel's says; nothing if it is gone, or there is no such thing."""
    try:
        return path.read_text()
    except OSError:
        return ""
