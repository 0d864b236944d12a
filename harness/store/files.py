"""Files that are whole or not there, made where nobody else can put a link in the way.

A file is written beside its place under a name of its own, synced, and renamed into place. New files
are made with O_EXCL and O_NOFOLLOW, and their modes are set rather than hoped for: an umask of 0777
must not cost a run. Reading is bounded, and takes regular files only.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final

from .errors import NotARun, Refused, StoreError, StoreFull

if TYPE_CHECKING:
    from pathlib import Path

FILE_MODE: Final = 0o644
DIRECTORY_MODE: Final = 0o755
_BAD_NAME: Final = frozenset(
    {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EINVAL}
)
_NO_PLACE: Final = _BAD_NAME | {errno.ENOENT, errno.EISDIR}
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def trouble(error: OSError, path: Path | str) -> StoreError:
    """Return what this error means for a run."""
    sentence = f"{path}: {error.strerror or error}"
    return StoreFull(sentence) if error.errno in _FULL else StoreError(sentence)


def for_want_of_room(told: BaseException | str) -> bool:
    """Tell whether something failed, or was told to have failed, because the disk has no room left."""
    match told:
        case str():
            return any(os.strerror(number) in told for number in _FULL)
        case OSError():
            return told.errno in _FULL
        case _:
            return isinstance(told, StoreFull)


def make_directory(path: Path) -> None:
    """Make a new directory; raises FileExistsError if anything, even a dangling link, is there."""
    path.mkdir(mode=0o700)
    path.chmod(DIRECTORY_MODE)


def taken(path: Path) -> bool:
    """Tell whether something is there that is no empty directory."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir()))


def no_directory(error: OSError, path: Path) -> StoreError:
    """Return why there can be no directory: for the name itself, or for want of room or permission."""
    if error.errno in _BAD_NAME:
        return Refused(f"{error.filename or path}: {error.strerror}: no directory can be made there")
    return trouble(error, path)


def no_file(error: OSError, path: Path) -> StoreError:
    """Return why there can be no file that a person named: for the name, or for want of room."""
    if error.errno in _NO_PLACE:
        return Refused(f"{path}: {error.strerror}: no file can be made there")
    return trouble(error, path)


def open_new(path: Path) -> int:
    """Open a new file for writing; its descriptor is the caller's to close."""
    try:
        return _open_new(path)
    except OSError as error:
        raise trouble(error, path) from error


def _open_new(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, FILE_MODE)
    os.fchmod(descriptor, FILE_MODE)
    return descriptor


def write_all(descriptor: int, data: bytes | bytearray, path: Path) -> None:
    """Write every byte, or raise."""
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError as error:
        raise trouble(error, path) from error


def write_new(path: Path, data: bytes) -> None:
    """Write a new file that a person named, whole or not at all; `Refused` of a name that is none."""
    try:
        descriptor = _open_new(path)
    except OSError as error:
        raise no_file(error, path) from error
    try:
        write_all(descriptor, data, path)
    except BaseException:  # an interruption, too: half of it would pass for all
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write_atomic(path: Path, data: bytes) -> None:
    """Put a whole file in place, replacing one that is there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = _open_new(beside)
    except OSError as error:
        raise trouble(error, path) from error
    try:
        try:
            write_all(descriptor, data, path)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise trouble(error, path) from error
    except BaseException:  # an interruption, too: nothing may lie in the way of the next try
        beside.unlink(missing_ok=True)
        raise


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading that is one, and neither a link nor a device; raise `NotARun`."""
    return _open(path, os.O_NOFOLLOW)


def open_named(path: Path) -> BinaryIO:
    """Open the regular file that a person named, or linked to; raise `NotARun`, and wait for no pipe."""
    return _open(path, 0)


def _open(path: Path, links: int) -> BinaryIO:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | links)
    except OSError as error:
        raise NotARun(f"{path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in its name
        raise NotARun(f"{path}: {error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotARun(f"{path}: not a regular file")
    return os.fdopen(descriptor, "rb")


def read_bounded(path: Path, *, bytes_max: int) -> bytes:
    """Read a regular file of a run directory; refuse links, devices and what is too large."""
    with open_regular(path) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise NotARun(f"{path}: larger than {bytes_max} bytes, the most that is read")
    return data


def list_real(path: Path) -> list[str]:
    """Return the names in a directory that is one, and no link to one elsewhere; OSError otherwise."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with os.scandir(descriptor) as entries:
            return [entry.name for entry in entries]
    finally:
        os.close(descriptor)


def shorten(log: Path, *, bytes_max: int) -> bool:
    """Cut a log of more than ``bytes_max`` bytes to the last half of that; return whether it was.

    In place: whoever appends to it goes on doing so, and what is written in that instant may be lost.
    """
    if log.stat(follow_symlinks=False).st_size <= bytes_max:
        return False
    descriptor = os.open(log, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size - bytes_max // 2)
        kept = file.read(bytes_max // 2)
        file.truncate(0)
        file.write(b"[what came before was left out]\n" + kept)
    return True
