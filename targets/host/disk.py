"""A node's disk: a file system of its own, in memory, whose size can be changed while it is in use.

So a disk is really full: the kernel refuses a write with ENOSPC because the file system has been made as
small as what is on it. Nothing is filled, so nothing has to be removed; to heal is to give the size
back. The kernel counts whole pages, and what is left of the last one of a file can still be written.

To mount needs root. The mount is this host's, and hidden nowhere: a container is given the directory,
and sees what is mounted there if its engine lives among the same mounts, which `Disk.is_at` tells. A
mount outlives the harness; whoever heals a dead run's directory calls `unmount_all` first.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from pathlib import Path
from typing import Final

SIZE_BYTES: Final = 256 << 20
TRIES: Final = 100

MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MNT_DETACH: Final = 2
FLAGS: Final = MS_NOSUID | MS_NODEV | MS_NOEXEC


class Disk:
    """A disk that is mounted at ``path``, an empty directory; ``OSError`` where that is not allowed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _mount(path, SIZE_BYTES, FLAGS)
        self._device = path.stat().st_dev

    def is_at(self, path: Path) -> bool:
        """Tell whether a path, of another process's root perhaps, is on this disk."""
        return path.stat().st_dev == self._device

    def set_room(self, room_bytes: int | None) -> None:
        """Leave only so much room, in whole pages and read back, or as much as in the beginning."""
        if room_bytes is None:
            _mount(self.path, SIZE_BYTES, FLAGS | MS_REMOUNT)
            return
        for _ in range(TRIES):
            found = os.statvfs(self.path)
            pages = found.f_blocks - found.f_bfree + room_bytes // found.f_frsize
            try:
                _mount(self.path, max(pages, 1) * found.f_frsize, FLAGS | MS_REMOUNT)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                continue  # more was written meanwhile than there would be room for
            break
        if self.room_bytes() > room_bytes:
            raise OSError(errno.EBUSY, f"there is room for {self.room_bytes()} bytes", str(self.path))

    def room_bytes(self) -> int:
        """Return how much room there is."""
        found = os.statvfs(self.path)
        return found.f_bfree * found.f_frsize

    def remove(self) -> None:
        """Unmount it; who still uses it keeps it. Idempotent."""
        _unmount(self.path)


def unmount_all(directory: Path) -> tuple[Path, ...]:
    """Unmount whatever is mounted below a directory; return where that was."""
    inside = mounted(directory)
    for path in inside:
        _unmount(path)
    return inside


def mounted(directory: Path) -> tuple[Path, ...]:
    """Return where anything is mounted below a directory."""
    return tuple(path for path in _mounts() if directory in path.parents)


def _mounts() -> list[Path]:
    """Return where anything is mounted, the latest first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [Path(_plain(line.split()[4])) for line in reversed(lines)]


def _plain(escaped: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), escaped)


def _mount(path: Path, size_bytes: int, flags: int) -> None:
    options = f"size={size_bytes},mode=0700".encode()
    _check(_libc.mount(b"lantern", os.fsencode(path), b"tmpfs", flags, options), path)


def _unmount(path: Path) -> None:
    try:
        _check(_libc.umount2(os.fsencode(path), MNT_DETACH), path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):  # nothing is mounted there
            raise


def _check(code: int, path: Path) -> None:
    if code != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))


_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
_libc.umount2.argtypes = [ctypes.c_char_p, ctypes.c_int]
