"""A campaign's directory: which campaign it is, and a line for every run that ended.

::

    campaigns/<time>/
      campaign.yaml   its entries, as a campaign file
      rows.jsonl      one run a line, on the disk before the next is told of
      summary.json    what it came to, once it ended
      junit.xml       the same, for a CI server
      <run>/ ...      runs that were kept

A campaign may end at any instant, by SIGKILL or for want of power: what has its line is done, and what
has none is run by whoever goes on. A last line that was torn is cut off first, so that no later one is
ever written behind it. Two campaigns in one directory would write each other's lines, so whoever has it
open holds a lock, which ends with its process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from harness.store.errors import NotARun, Refused, StoreError
from harness.store.files import (
    make_directory,
    no_directory,
    open_regular,
    trouble,
    write_all,
    write_atomic,
)

from .row import Row

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CAMPAIGN: Final = "campaign.yaml"
SUMMARY: Final = "summary.json"
JUNIT: Final = "junit.xml"
SUMMARY_SCHEMA: Final = 1
ROWS: Final = "rows.jsonl"
ROWS_MAX_BYTES: Final = 1 << 30
LINE_MAX_BYTES: Final = 1 << 20
RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def fresh(store: Path) -> Path:
    """Make a directory for a new campaign; raise `StoreError`."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    try:
        store.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            path = store / (stamp if number == 1 else f"{stamp}-{number}")
            with contextlib.suppress(FileExistsError):
                make_directory(path)
                return path
    except OSError as error:
        raise no_directory(error, store) from error
    raise AssertionError


def read_rows(path: Path, *, bytes_max: int = ROWS_MAX_BYTES) -> tuple[tuple[Row, ...], int]:
    """Return the rows of a journal, one a run, the later of one that is run again; and where they end.

    A last line that was torn is none, and lies behind that end. The file may be anybody's, so it is read
    a line at a time. Raises `NotARun` with the line of what is no row, or names what is no run of this
    campaign.
    """
    rows: dict[tuple[str, int], Row] = {}
    whole = 0
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > bytes_max:
            raise NotARun(f"{path}: larger than {bytes_max} bytes, the most that is read")
        for number in count(1):
            line = file.readline(LINE_MAX_BYTES)
            if not _ended(line, file):
                break
            if not line.endswith(b"\n"):
                sentence = f"longer than {LINE_MAX_BYTES} bytes, the most that a row may have"
                raise NotARun(f"{path}:{number}: {sentence}")
            whole += len(line)
            row = _row(line, f"{path}:{number}")
            run = row.name, row.seed
            before = rows.get(run)
            kept_now = before is not None and before.to_be_kept and row.outcome is before.outcome
            if before is None or before.again or kept_now:
                rows.pop(run, None)
                rows[run] = row
    return tuple(rows.values()), whole


def _ended(line: bytes, file: BinaryIO) -> bool:
    """Tell whether a line has an end, however far away."""
    while line and not line.endswith(b"\n"):
        line = file.readline(LINE_MAX_BYTES)
    return bool(line)


def _row(line: bytes, where: str) -> Row:
    try:
        row = msgspec.json.decode(line, type=Row)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotARun(f"{where}: {error}") from error
    if row.run is not None and RUN.fullmatch(row.run) is None:
        raise NotARun(f"{where}: {row.run[:200]!r} is no run of this campaign")
    return row


class Journal:
    """The journal of one campaign, open for as long as it runs. Raises `StoreError`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._path = place / ROWS
        try:
            new = not place.exists()
            place.mkdir(parents=True, exist_ok=True)
            if not (new or self._path.exists() or not any(place.iterdir())):
                raise Refused(f"{place}: is there already, and is no campaign's directory")
            self._descriptor = os.open(self._path, _FLAGS, 0o644)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.EISDIR}:
                raise Refused(f"{self._path}: not a regular file") from error
            raise no_directory(error, place) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise Refused(f"{place}: another campaign is running in there") from None

    def rows(self) -> tuple[Row, ...]:
        """Return what ended so far, and cut off a line that was being written when all ended."""
        rows, whole = read_rows(self._path)
        os.ftruncate(self._descriptor, whole)
        return tuple(row for row in rows if not row.again)  # those are run again

    def write(self, row: Row) -> None:
        """Put a row on the disk; a disk that refuses leaves whole lines only."""
        line = msgspec.json.encode(row) + b"\n"
        whole = os.fstat(self._descriptor).st_size
        try:
            write_all(self._descriptor, line, self._path)
            os.fsync(self._descriptor)
        except OSError as error:
            raise trouble(error, self._path) from error
        except BaseException:
            os.ftruncate(self._descriptor, whole)
            raise

    def begin(self) -> None:
        """Take away what a campaign in here came to before: until this one ends it comes to nothing."""
        for name in (SUMMARY, JUNIT):
            with contextlib.suppress(OSError):
                (self.place / name).unlink()

    def save(self, campaign: bytes) -> None:
        """Write down which campaign this is."""
        write_atomic(self.place / CAMPAIGN, campaign)

    def conclude(self, summary: Mapping[str, Any], junit: bytes) -> None:
        """Write down what it came to; a disk that refuses costs no more than these files."""
        whole = {"schema": SUMMARY_SCHEMA, "kind": "lantern-campaign", **summary}
        with contextlib.suppress(StoreError):
            write_atomic(self.place / SUMMARY, msgspec.json.format(msgspec.json.encode(whole)) + b"\n")
            write_atomic(self.place / JUNIT, junit)

    def close(self) -> None:
        """Let others have the directory; idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
