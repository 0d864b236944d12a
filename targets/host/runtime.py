"""The private runtime directory of one running cluster, and who may act on what is in it.

What a heal needs lives here and never in a run directory, which may come from a stranger. The directory
is made with mode 0700, and its very name says who owns it (pid and start time), so that there is no
instant at which a dead run's directory could be taken for a live one or the other way round. The
manifest lists every process started, each as pid *and* start time, and the host they belong to: this
boot and this pid namespace. Anywhere else they mean nobody. Modes are set, whatever the umask.

Nodes' data lives here too, so memory is preferred to a disk: XDG_RUNTIME_DIR, then /dev/shm, then the
temporary directory, the first of them with room whose path suits: absolute (a relative one means
nothing to a node that lives elsewhere), short enough for a socket in it, and without a space or a colon,
which a preload's path must not have. A sync that takes ten milliseconds because something
else uses the disk would stall a node's loop for no fault of ours; a slow sync is injected, not met.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from targets.cluster import ProcessState, TargetError

from . import procfs
from .procfs import Identity

MANIFEST: Final = "manifest.json"
MANIFEST_SCHEMA: Final = 1
PATH_MAX: Final = 107  # what the kernel takes for a unix socket's path
ROOM_MIN: Final = 512 << 20

_NAME: Final = re.compile(r"lantern-([0-9]+)-([0-9]+)-\w+")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was started from a runtime directory. ``processes`` holds past ones too."""

    schema: int = MANIFEST_SCHEMA
    run: str
    host: str
    processes: tuple[tuple[str, Identity], ...] = ()


def this_host() -> str:
    """Return what a pid is relative to: this boot and this pid namespace."""
    return f"{procfs.boot_id()} {Path('/proc/self/ns/pid').readlink()}"


def bases() -> tuple[Path, ...]:
    """Return where runtime directories may be, in the order of preference."""
    private = os.environ.get("XDG_RUNTIME_DIR")
    found = [Path(private)] if private else []
    found += [Path("/dev/shm"), Path(tempfile.gettempdir())]  # noqa: S108 - mkdtemp is what makes it safe
    return tuple(dict.fromkeys(path for path in found if path.is_absolute() and path.is_dir()))


def _suits(path: Path, prefix: str) -> bool:
    socket = path / f"{prefix}12345678" / "n1.admin"  # as mkdtemp will name it
    return (
        len(os.fsencode(socket)) <= PATH_MAX
        and not set(str(path)) & set(" :")
        and os.access(path, os.W_OK)
    )


def _has_room(path: Path) -> bool:
    return shutil.disk_usage(path).free >= ROOM_MIN


class Runtime:
    """One runtime directory of ours, from its making to its removal."""

    def __init__(self, run: str) -> None:
        me = procfs.identity(os.getpid())
        assert me is not None
        prefix = f"lantern-{me.pid}-{me.start_ticks}-"
        suiting = [path for path in bases() if _suits(path, prefix)]
        if not suiting:
            places = ", ".join(map(str, bases()))
            raise TargetError(
                f"none of {places} can hold a cluster: it takes a writable directory with a short path"
                " that has no space or colon in it; name one in TMPDIR"
            )
        base = next(filter(_has_room, suiting), suiting[-1])
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
        self.path.chmod(0o700)
        self._manifest = Manifest(run=run, host=this_host())
        self._save()

    def admin_socket(self, node: str) -> Path:
        """Return where a node's admin socket goes; refuse a path the kernel does not take."""
        path = self.path / f"{node}.admin"
        if len(os.fsencode(path)) > PATH_MAX:
            raise TargetError(
                f"{path} is too long for a unix socket: shorten the node's name, or {self.path.parent}"
            )
        return path

    def directory(self, *parts: str) -> Path:
        """Return a directory inside, made if it is not there."""
        path = self.path
        for part in parts:
            path /= part
            path.mkdir(exist_ok=True)
            path.chmod(0o700)
        return path

    def record(self, node: str, who: Identity) -> None:
        """Write down that this process is ours, so that a later heal may end it."""
        known = (*self._manifest.processes, (node, who))
        self._manifest = msgspec.structs.replace(self._manifest, processes=known)
        self._save()

    def _save(self) -> None:
        replace(self.path / MANIFEST, msgspec.json.encode(self._manifest))

    def copy(self, part: str, target: Path) -> None:
        """Copy a directory inside to where somebody will look for it; nothing if it is not there."""
        if (self.path / part).is_dir():
            shutil.copytree(self.path / part, target)

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.path, ignore_errors=True)


def replace(path: Path, data: bytes) -> None:
    """Give a file new content, never seen half-written."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
    fresh.replace(path)


class Found(msgspec.Struct, frozen=True):
    """A runtime directory of this user's; ``manifest`` None if its owner died before writing one."""

    path: Path
    owner: Identity
    manifest: Manifest | None

    @property
    def live(self) -> bool:
        """Tell whether the run that owns it still goes on, or may go on where we cannot see."""
        return alive(self.owner, this_host() if self.manifest is None else self.manifest.host)


def alive(owner: Identity, host: str) -> bool:
    """Tell whether the harness ``owner`` of `this_host` at its time still goes on.

    An earlier boot took it along, in whatever pid namespace it was. One of this boot in another
    namespace counts as alive: nobody can tell from here.
    """
    if host.split()[:1] != [procfs.boot_id()]:
        return False
    return host != this_host() or procfs.state(owner) is not ProcessState.GONE


def owner_of(name: str) -> Identity | None:
    """Return whose runtime directory has this name, None if none of ours has."""
    found = _NAME.fullmatch(name)
    return None if found is None else Identity(int(found[1]), int(found[2]))


def find() -> list[Found]:
    """Return every runtime directory of this user, of live and dead runs; nobody else's is opened."""
    found = []
    for base in bases():
        for path in sorted(base.glob("lantern-*-*-*")):
            owner = owner_of(path.name)
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue  # a run that has just ended
            private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
            if owner is not None and private and status.st_uid == os.getuid():
                found.append(Found(path, owner, _read(path / MANIFEST)))
    return found


def _read(path: Path) -> Manifest | None:
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None
    return manifest if manifest.schema == MANIFEST_SCHEMA else None
