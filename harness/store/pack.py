"""A run directory into one file: see `packing` for what a pack is.

The run directory may come from a stranger as well: links in it are not followed, and what is no file of
a run stays where it is and is named. Files are copied in a fixed order, with no times and no owners, so
that equal runs give equal packs. The pack is written beside its place and renamed when it is whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zipfile
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from .errors import NotARun, Refused, StoreError
from .files import FILE_MODE, list_real, no_file, open_regular
from .packing import (
    BY_NODE,
    CHUNK_BYTES,
    ENVIRONMENT,
    FILE_MAX_BYTES,
    FILES_MAX,
    LOG_MAX_BYTES,
    MANIFEST,
    SINGLE,
    WHOLE_MAX_BYTES,
    Manifest,
    Packed,
    entry,
    is_packed,
    is_run_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .rundir import RunDir


def pack(run: RunDir, file: Path, *, environment: bytes) -> Manifest:
    """Write a run into ``file``, which must not be there yet, and return what is in it.

    ``environment`` stands for the run's own where it wrote none. Raises `NotARun` for what cannot be
    packed, `Refused` for a name that is taken, and `StoreError` for a disk that does not take it.
    """
    name = run.path.resolve().name
    if not is_run_name(name):
        raise NotARun(f"{run.path}: a run of this name cannot be packed; rename the directory")
    if os.path.lexists(file):
        raise Refused(f"{file}: is there already; nothing was written")
    names, left_out = _look(run.path)
    beside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with beside.open("xb") as out:
            manifest = _write(run, out, name, names, left_out, environment)
            out.flush()
            os.fchmod(out.fileno(), FILE_MODE)
            os.fsync(out.fileno())
        beside.rename(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise no_file(error, file) from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return manifest


def _look(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of what is packed, in order, and sentences about what is not."""
    names: list[str] = []
    left_out: list[str] = []
    try:
        for name in sorted(list_real(path)):
            if name in SINGLE:
                names.append(name)
            elif name in BY_NODE:
                inner = [f"{name}/{each}" for each in sorted(list_real(path / name))]
                names += filter(is_packed, inner)
                left_out += [f"{each}: no file of a run" for each in inner if not is_packed(each)]
            else:
                left_out.append(f"{name}: a pack carries data only")
    except OSError as error:
        raise NotARun(f"{path}: {error.strerror}") from error
    if len(names) >= FILES_MAX:
        raise NotARun(f"{path}: {len(names)} files; a pack takes fewer than {FILES_MAX}")
    return names, left_out[:FILES_MAX]


def _write(
    run: RunDir, out: BinaryIO, name: str, names: list[str], left_out: list[str], environment: bytes
) -> Manifest:
    files: dict[str, Packed] = {}
    with zipfile.ZipFile(out, "w", allowZip64=False) as pack:
        try:
            for each in names:
                with open_regular(run.path / each) as source:
                    files[each] = _copy(pack, each, source, left_out, whole=_whole(files))
            if ENVIRONMENT not in files:
                files[ENVIRONMENT] = _add(pack, ENVIRONMENT, environment)
            manifest = Manifest(run=name, files=dict(sorted(files.items())), left_out=left_out)
            _add(pack, MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
        except zipfile.LargeZipFile as error:
            raise StoreError(f"{run.path}: does not fit into a pack: {error}") from error
    return manifest


def _whole(files: dict[str, Packed]) -> int:
    return sum(each.bytes for each in files.values())


def _add(pack: zipfile.ZipFile, name: str, data: bytes) -> Packed:
    pack.writestr(entry(name, size_bytes=len(data)), data)
    return Packed(len(data), hashlib.sha256(data).hexdigest())


def _copy(
    pack: zipfile.ZipFile, name: str, source: BinaryIO, left_out: list[str], *, whole: int
) -> Packed:
    """Copy one file as large as it is now: a run that is still going on may add to it."""
    size = source.seek(0, os.SEEK_END)
    cut = max(0, size - LOG_MAX_BYTES) if name.startswith("logs/") else 0
    source.seek(cut)
    size -= cut
    if cut:
        left_out.append(f"{name}: its first {cut} bytes")
    if size > FILE_MAX_BYTES or whole + size > WHOLE_MAX_BYTES:
        raise NotARun(
            f"{name}: {size} bytes are more than a pack takes:"
            f" {FILE_MAX_BYTES} a file, {WHOLE_MAX_BYTES} in all"
        )
    digest = hashlib.sha256()
    with pack.open(entry(name, size_bytes=size), "w") as target:
        for chunk in _chunks(source, size):
            digest.update(chunk)
            target.write(chunk)
    return Packed(size, digest.hexdigest())


def _chunks(source: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield exactly ``size`` bytes; raise `NotARun` if there are fewer."""
    while size:
        chunk = source.read(min(CHUNK_BYTES, size))
        if not chunk:
            raise NotARun("it became shorter while it was packed; is the run still going on?")
        size -= len(chunk)
        yield chunk
