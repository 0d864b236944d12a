"""The write-ahead log: what a node must not forget, and how its bytes are read back.

A file is `MAGIC` and records. A record is a head and a body: marker, length and checksum of the body,
then a checksum of those three, so that a damaged length is seen and never believed. One *sync* writes
one record, however many steps of the core it makes durable, and nothing is written until the sync
before it is through. Therefore only the last record of a file can be half-written, and everything in
front of a whole record was once synced. That decides what damage means:

* **torn**: the last record is short, or a whole sector of it is NUL, because power went before its
  sync came back. Nobody was told of it. It is cut off, with a note.
* **damaged**: anything else. Something was lost that had been promised, and a node that went on
  would break Raft's rules in silence. It is refused, with file and offset.

A record with a snapshot makes everything before it superfluous. It begins a new file beside the old
one, which takes the old one's place, whole and synced, by one rename.

`scan` and `encode` are pure; `WalFile` is the thin hand that writes, syncs and cuts. Until a sync,
records live in memory only, so what is killed before it is lost, as with a power cut.
"""

from __future__ import annotations

import errno
import fcntl
import os
from typing import TYPE_CHECKING, Final
from zlib import crc32

import msgspec

from .kept import Kept
from .messages import Entry, Snapshot
from .ports import HardState, Persist, Restored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAGIC: Final = b"leasekv wal 1\n\x00\x00"
MARK: Final = b"\xd7LR\xb2"
HEAD: Final = 16
SECTOR: Final = 512
SCRAP: Final = 16  # fewer NUL bytes may well be a value's own


class WalError(Exception):
    """The log cannot be used: the node must not start."""


class Damaged(WalError):  # noqa: N818 - what was found, not what went wrong here
    """A byte that was once synced is not what it was."""

    def __init__(self, name: str, offset: int, why: str) -> None:
        super().__init__(f"{name}: damaged at offset {offset}: {why}")
        self.offset = offset


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One sync: a boot, a hard state, entries, a snapshot.

    Entries replace the log from the first one's index on, or are all of it behind the snapshot.
    """

    boot: int | None
    hard: HardState | None
    entries: tuple[Entry, ...]
    snapshot: Snapshot | None = None


class Scan(msgspec.Struct, frozen=True):
    """What a log's bytes say: the state, how many bytes hold it, and what was cut off (a note)."""

    restored: Restored
    end: int
    note: str | None = None


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Record)


def encode(record: Record) -> bytes:
    """Return the bytes of one record."""
    body = _encoder.encode(record)
    head = MARK + len(body).to_bytes(4, "big") + crc32(body).to_bytes(4, "big")
    return head + crc32(head).to_bytes(4, "big") + body


def merge(batch: Sequence[Persist]) -> Record:
    """Return the one record that says what a batch says, oldest first."""
    hard = snapshot = None
    entries: list[Entry] = []
    for persist in batch:
        hard = persist.hard or hard
        if persist.snapshot is not None:
            snapshot = persist.snapshot
            entries.clear()
        elif persist.entries and entries:
            first = persist.entries[0].index
            entries = [entry for entry in entries if entry.index < first]
        entries.extend(persist.entries)
    return Record(None, hard, tuple(entries), snapshot)


def scan(data: bytes, *, name: str) -> Scan:
    """Read a whole log back; raise `Damaged` on anything a power cut cannot have done.

    ``restored.boot`` is the number of boots recorded so far, 0 for a new log.
    """
    if data[: len(MAGIC)] != MAGIC:
        if len(data) < len(MAGIC) and (MAGIC.startswith(data) or not any(data)):
            note = f"{name}: cut {len(data)} bytes of an unfinished head" if data else None
            return Scan(Restored(boot=0), 0, note)
        raise Damaged(name, 0, "not the head of a leasekv log")
    boot, kept = 0, Kept()
    at = len(MAGIC)
    while at < len(data):
        body = _body(data, at)
        if body is None:
            why = _why_torn(data, at)
            if why is None:
                raise Damaged(name, at, "a record that was once synced does not match its checksum")
            note = f"{name}: cut {len(data) - at} bytes at offset {at}: {why}"
            return Scan(kept.restored(boot), at, note)
        try:
            record = _decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Damaged(name, at, f"a whole record that is none of ours: {error}") from error
        boot = boot if record.boot is None else record.boot
        try:
            kept.take(record.hard, record.entries, record.snapshot)
        except ValueError as error:
            raise Damaged(name, at, str(error)) from error
        at += HEAD + len(body)
    return Scan(kept.restored(boot), at)


def _body(data: bytes, at: int) -> bytes | None:
    """Return the body of the record at ``at``, None unless the record is whole."""
    head = data[at : at + HEAD]
    size = _size(head)
    if size is None:
        return None
    body = data[at + HEAD : at + HEAD + size]
    return body if len(body) == size and crc32(body) == int.from_bytes(head[8:12], "big") else None


def _size(head: bytes) -> int | None:
    """Return the length of the body that ``head`` announces, None unless the head is sound."""
    sound = (
        head[:4] == MARK and len(head) == HEAD and crc32(head[:12]) == int.from_bytes(head[12:], "big")
    )
    return int.from_bytes(head[4:8], "big") if sound else None


def _why_torn(data: bytes, at: int) -> str | None:
    """Return how a power cut left the record at ``at`` like this, None if it cannot have."""
    following = data.find(MARK, at + 1)
    while following != -1:
        if _body(data, following) is not None:
            return None
        following = data.find(MARK, following + 1)
    rest = data[at:]
    if not any(rest):
        return "NUL bytes"
    head = rest[:HEAD]
    if len(head) < HEAD:
        return "a head that was not finished" if MARK.startswith(head[:4]) else None
    size = _size(head)
    if size is not None and len(rest) < HEAD + size:
        return "a record that was not finished"
    first = -at % SECTOR
    sectors = [rest[:first], *(rest[n : n + SECTOR] for n in range(first, len(rest), SECTOR))]
    if any(len(sector) >= SCRAP and not any(sector) for sector in sectors):
        return "a record with sectors that were never written"
    return None


class WalFile:
    """One node's log on disk, locked for as long as it is open.

    Opening reads the log back, cuts a torn tail, records this boot and syncs it: `restored` counts it.
    ``OSError`` from here means the disk fails; whoever gets one must say nothing more to anyone.
    A full one takes the beginning of a record and then no more, as file systems do.
    """

    _room: int | None = None

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = _open(path, os.O_CREAT)
        try:
            self._successor.unlink(missing_ok=True)
            found = scan(path.read_bytes(), name=str(path))
            self.note = found.note
            self._end = found.end
            os.ftruncate(self._fd, self._end)
            self._boot(found.restored)
        except BaseException:
            os.close(self._fd)
            raise

    @property
    def _successor(self) -> Path:
        return self._path.with_name(self._path.name + ".new")

    def _boot(self, found: Restored) -> None:
        self.restored = msgspec.structs.replace(found, boot=found.boot + 1)
        self._write((b"" if self._end else MAGIC) + encode(Record(self.restored.boot, None, ())))
        os.fsync(self._fd)
        self._sync_directory()

    def _sync_directory(self) -> None:
        parent = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)

    def sync(self, batch: Sequence[Persist]) -> None:
        """Make a batch durable, oldest first, in one record; return once it is."""
        record = merge(batch)
        if record.snapshot is not None:
            self._start_over(record)
        else:
            self._write(encode(record))
            os.fdatasync(self._fd)

    def _start_over(self, record: Record) -> None:
        """Put a new file, with this record only, in the place of the old one."""
        old, old_end = self._fd, self._end
        self._fd, self._end = _open(self._successor, os.O_CREAT | os.O_TRUNC), 0
        try:
            self._write(MAGIC + encode(Record(self.restored.boot, None, ())) + encode(record))
            os.fsync(self._fd)
            self._successor.replace(self._path)
            self._sync_directory()
        finally:
            os.close(old)
        if self._room is not None:
            self._room += old_end

    def set_room(self, room_bytes: int | None) -> None:
        """Have only so much room from now on (a tester's knob); None is all there is."""
        self._room = room_bytes

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._room == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = os.pwrite(self._fd, view if self._room is None else view[: self._room], self._end)
            self._end += written
            self._room = None if self._room is None else self._room - written
            view = view[written:]

    def close(self) -> None:
        """Let the log go."""
        os.close(self._fd)


def _open(path: Path, flags: int) -> int:
    """Open a log for this process alone."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise WalError(f"{path}: another process uses this log") from None
    return fd
