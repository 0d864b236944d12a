"""What a pack is: one run directory in one file, which may come from anybody.

A pack is a plain zip file, so that any tool shows what is in it. It holds the files of a run that are
data, by a list of names that are known here, and ``pack.json`` last, which lists every file with its
size and its SHA-256. Nothing that a browser or a shell would execute is among them: a report is made
again from what is here, and what nodes had on their disks stays where it was.

Everything that a zip file may say and a pack never does is a reason to refuse it: names that are not in
the list (and so every path out), a name twice, links and devices, encryption, methods other than
deflate, comments, bytes before or behind it, files or a whole larger than the caps, and content that
shrank more than any history does. The directory is bounded before it is read. What is listed and what
is there have to be the same, to the byte.

This module knows the rules and touches no file; `pack` writes by them, `unpack` reads by them.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from .errors import NotAPack

if TYPE_CHECKING:
    from collections.abc import Iterable

PACK_SCHEMA: Final = 1
PACK_KIND: Final = "lantern-pack"
MANIFEST: Final = "pack.json"
SUFFIX: Final = ".lantern.zip"

FILE_MAX_BYTES: Final = 1 << 30
WHOLE_MAX_BYTES: Final = 2 << 30
MANIFEST_MAX_BYTES: Final = 256 << 10
LOG_MAX_BYTES: Final = 4 << 20
CHUNK_BYTES: Final = 1 << 20
FILES_MAX: Final = 100
DIRECTORY_MAX_BYTES: Final = 64 << 10
RATIO_MAX: Final = 200
RATIO_FREE_BYTES: Final = LOG_MAX_BYTES
"""A file no larger than this may have shrunk as it likes: a log of one repeated line does."""

MADE_AT: Final = (1980, 1, 1, 0, 0, 0)
"""The zip format's oldest moment stands for "no matter when": equal runs give equal bytes."""

ENVIRONMENT: Final = "environment.json"
SINGLE: Final = ("plan.yaml", "schedule.yaml", "history.jsonl", "verdict.json", "junit.xml", ENVIRONMENT)
BY_NODE: Final = {"evidence": ".jsonl", "logs": ".log", "metrics": ".prom"}
_NODE: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_NAME: Final = re.compile(
    "|".join(
        [
            *map(re.escape, (*SINGLE, MANIFEST)),
            *(f"{folder}/{_NODE}{re.escape(ending)}" for folder, ending in BY_NODE.items()),
        ]
    ),
    re.ASCII,
)
_RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)

_END: Final = struct.Struct("<4s4H2LH")
_END_MAGIC: Final = b"PK\x05\x06"
_BIG_END: Final = struct.Struct("<4sLQL")
_BIG_END_MAGIC: Final = b"PK\x06\x07"
"""Stands before the end where sizes do not fit into it, and then counts instead of it."""
END_BYTES: Final = _BIG_END.size + _END.size
_FIRST_MAGIC: Final = b"PK\x03\x04"
_UTF8_NAMES: Final = 0x800


class Packed(msgspec.Struct, frozen=True):
    """One file of a pack: its size and its SHA-256, in hexadecimal."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``pack.json``. ``left_out`` says in sentences what of the run is not in the pack."""

    schema: Literal[1] = 1
    kind: Literal["lantern-pack"] = PACK_KIND
    run: str
    files: dict[str, Packed]
    left_out: list[str] = []


class _Schema(msgspec.Struct):
    schema: int
    kind: str


def is_packed(name: str) -> bool:
    """Tell whether a file of a run directory, by its name inside it, is one that a pack carries."""
    return _NAME.fullmatch(name) is not None and name != MANIFEST


def is_run_name(name: str) -> bool:
    """Tell whether a run can have this name; it becomes the name of a directory."""
    return _RUN.fullmatch(name) is not None


def entry(name: str, *, size_bytes: int) -> zipfile.ZipInfo:
    """Return how a file stands in the zip file: a plain file of no particular time."""
    info = zipfile.ZipInfo(name, MADE_AT)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3  # Unix, whose modes follow
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.file_size = size_bytes
    return info


def check_ends(first: bytes, last: bytes, *, size_bytes: int, name: str) -> None:
    """Look at the first and the last bytes before anything is parsed; raise `NotAPack`.

    ``first`` are four, ``last`` at most `END_BYTES`.
    """
    if first != _FIRST_MAGIC:
        raise NotAPack(f"{name}: not a pack: it does not begin as a zip file")
    end = last[-_END.size :]
    if len(end) < _END.size or not end.startswith(_END_MAGIC):
        raise NotAPack(f"{name}: cut short, or something was put behind it: the zip file has no end")
    if last[: -_END.size].startswith(_BIG_END_MAGIC):
        raise NotAPack(f"{name}: not a pack: its directory is counted in a way that packs are not")
    _, disk, disks, here, files, directory_bytes, at, comment = _END.unpack(end)
    if (disk, disks, here, comment) != (0, 0, files, 0):
        raise NotAPack(f"{name}: not a pack: its directory is of several parts or has a comment")
    if at + directory_bytes + _END.size != size_bytes:
        raise NotAPack(f"{name}: cut short, or changed: its directory is not where it says")
    if files > FILES_MAX or directory_bytes > DIRECTORY_MAX_BYTES:
        raise NotAPack(f"{name}: {files} files are listed; a run has {FILES_MAX} at most")


def check_entries(infos: Iterable[zipfile.ZipInfo], *, pack_bytes: int, name: str) -> None:
    """Look at what the directory says before any content is read; raise `NotAPack`."""
    seen: set[str] = set()
    whole_bytes = packed_bytes = 0
    for info in infos:
        inner = info.orig_filename
        shown = f"{name}: {inner[:120]!a}"
        if info.filename != inner or not (is_packed(inner) or inner == MANIFEST):
            raise NotAPack(f"{shown} is no file of a run")
        if inner in seen:
            raise NotAPack(f"{shown} is in it twice")
        seen.add(inner)
        _check_kind(info, shown)
        whole_bytes += info.file_size
        packed_bytes += info.compress_size
        most = MANIFEST_MAX_BYTES if inner == MANIFEST else FILE_MAX_BYTES
        if info.file_size > most or whole_bytes > WHOLE_MAX_BYTES:
            raise NotAPack(
                f"{shown} makes it too large: {most} bytes a file and {WHOLE_MAX_BYTES} in all are taken"
            )
        if info.file_size > max(RATIO_FREE_BYTES, RATIO_MAX * info.compress_size):
            raise NotAPack(
                f"{shown} would grow more than {RATIO_MAX}-fold when unpacked, as no run's file does"
            )
    if packed_bytes > pack_bytes:
        raise NotAPack(f"{name}: its files overlap")
    if MANIFEST not in seen:
        raise NotAPack(f"{name}: not a pack: it has no {MANIFEST}")


def _check_kind(info: zipfile.ZipInfo, shown: str) -> None:
    mode = info.external_attr >> 16
    if info.is_dir() or (stat.S_IFMT(mode) not in {0, stat.S_IFREG}):
        raise NotAPack(f"{shown} is a link, a directory or a device, not a plain file")
    if info.flag_bits & ~_UTF8_NAMES:
        raise NotAPack(f"{shown} is encrypted or written in a way that packs are not")
    if info.compress_type not in {zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED}:
        raise NotAPack(f"{shown} is compressed by method {info.compress_type}; deflate is known")


def read_manifest(data: bytes, *, name: str) -> Manifest:
    """Return what ``pack.json`` says; raise `NotAPack`, a schema that is not known by its number."""
    try:
        said = msgspec.json.decode(data, type=_Schema)
        if said.kind == PACK_KIND and said.schema != PACK_SCHEMA:
            newer = ": a newer Lantern wrote it" if said.schema > PACK_SCHEMA else ""
            raise NotAPack(
                f"{name}: {MANIFEST}: schema {said.schema} is unknown; {PACK_SCHEMA} is known{newer}"
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotAPack(f"{name}: {MANIFEST}: {error}") from error
    if not is_run_name(manifest.run):
        raise NotAPack(f"{name}: {MANIFEST}: {manifest.run[:120]!a} is no name of a run")
    return manifest


def check_listed(manifest: Manifest, there: Iterable[str], *, name: str) -> None:
    """Hold what is listed against what is there; raise `NotAPack` with the first difference."""
    found = set(there) - {MANIFEST}
    for missing in sorted(set(manifest.files) - found):
        raise NotAPack(f"{name}: {missing[:120]!a} is listed in {MANIFEST} and not there")
    for extra in sorted(found - set(manifest.files)):
        raise NotAPack(f"{name}: {extra[:120]!a} is there and not listed in {MANIFEST}")
