"""A pack back into a run directory: see `packing` for what is refused.

Everything is read and held against what ``pack.json`` lists in a hidden directory beside the place; the
last step is one rename. So there is the whole run or nothing, whatever comes in between, and nothing
that was there is ever replaced. Nothing of what is unpacked is acted on here or later without
``--trust``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final

from .errors import NotAPack, Refused, StoreFull
from .files import make_directory, no_directory, open_named, open_new, taken, trouble, write_all
from .packing import (
    BY_NODE,
    CHUNK_BYTES,
    END_BYTES,
    MANIFEST,
    WHOLE_MAX_BYTES,
    check_ends,
    check_entries,
    check_listed,
    read_manifest,
)

if TYPE_CHECKING:
    from pathlib import Path

    from .packing import Manifest

ALWAYS: Final = ("evidence", "logs")
SPARE_BYTES: Final = 16 << 20
_BROKEN: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


def unpack(file: Path, *, store: Path, out: Path | None = None) -> tuple[Path, Manifest]:
    """Make the run directory of a pack, ``out`` or one of the run's name under ``store``.

    Raises `NotAPack` for what is none, `Refused` for a place that is taken.
    """
    with open_named(file) as source, _opened(source, str(file)) as pack:
        infos = pack.infolist()
        size = os.fstat(source.fileno()).st_size
        check_entries(infos, pack_bytes=size, name=str(file))
        manifest = read_manifest(_small(pack, MANIFEST, str(file)), name=str(file))
        check_listed(manifest, pack.namelist(), name=str(file))
        path = store / manifest.run if out is None else out
        _require_room(path, sum(info.file_size for info in infos))
        _place(pack, manifest, path, str(file))
    return path, manifest


def _opened(source: BinaryIO, name: str) -> zipfile.ZipFile:
    size = source.seek(0, os.SEEK_END)
    if size > WHOLE_MAX_BYTES:
        raise NotAPack(f"{name}: {size} bytes; {WHOLE_MAX_BYTES} are the most a pack may have")
    source.seek(0)
    first = source.read(4)
    source.seek(max(0, size - END_BYTES))
    check_ends(first, source.read(END_BYTES), size_bytes=size, name=name)
    try:
        return zipfile.ZipFile(source)
    except _BROKEN as error:
        raise NotAPack(f"{name}: the zip file is broken: {error}") from error


def _small(pack: zipfile.ZipFile, inner: str, name: str) -> bytes:
    try:
        return pack.read(inner)  # its size is checked already
    except _BROKEN as error:
        raise NotAPack(f"{name}: {inner}: the zip file is broken: {error}") from error


def _place(pack: zipfile.ZipFile, manifest: Manifest, path: Path, name: str) -> None:
    """Unpack beside ``path`` and rename; leave nothing if that does not come to its end."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if taken(path):
            raise Refused(f"{path}: is there already and is not an empty directory")
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        make_directory(beside)
    except OSError as error:
        raise no_directory(error, path) from error
    try:
        for folder in BY_NODE:
            if folder in ALWAYS or any(inner.startswith(f"{folder}/") for inner in manifest.files):
                make_directory(beside / folder)
        for inner in manifest.files:
            _extract(pack, inner, beside / inner, manifest, name)
        beside.rename(path)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise trouble(error, path) from error
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _extract(pack: zipfile.ZipFile, inner: str, target: Path, manifest: Manifest, name: str) -> None:
    listed = manifest.files[inner]
    digest = hashlib.sha256()
    got = 0
    descriptor = open_new(target)
    try:
        with pack.open(inner) as source:
            while chunk := source.read(CHUNK_BYTES):
                got += len(chunk)
                if got > listed.bytes:
                    break
                digest.update(chunk)
                write_all(descriptor, chunk, target)
        os.fsync(descriptor)
    except _BROKEN as error:
        raise NotAPack(f"{name}: {inner}: the zip file is broken: {error}") from error
    finally:
        os.close(descriptor)
    if got != listed.bytes or digest.hexdigest() != listed.sha256:
        raise NotAPack(f"{name}: {inner} is not what {MANIFEST} says: it was changed on the way")


def _require_room(path: Path, size: int) -> None:
    try:
        parent = next(each for each in (path, *path.absolute().parents) if each.exists())
        free = shutil.disk_usage(parent).free
    except OSError as error:
        raise no_directory(error, path) from error
    if free < size + SPARE_BYTES:
        raise StoreFull(
            f"{parent}: {free >> 20} MB free; unpacked it takes {(size >> 20) + 1} MB, and"
            f" {SPARE_BYTES >> 20} MB are to stay free"
        )
