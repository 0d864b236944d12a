"""Runs that were kept at a worker, fetched into the campaign's directory a piece at a time.

A history has no largest size and a worker's memory has one, so files never travel whole. A run that
could not be fetched to its last byte is no run of the campaign: it is lost like one whose worker died. A
violation that cannot be kept stays one, and says so.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape

import msgspec

from harness import program
from harness.bugs import recorded
from harness.outcome import Outcome
from harness.store.errors import StoreError
from harness.store.files import make_directory, open_new, trouble, write_all
from harness.store.rundir import RunDir

from . import hand
from .row import failed, not_kept
from .workers import Lost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from .row import Job, Row

PIECE_BYTES: Final = 8 << 20
_GONE: Final = "its worker was gone before its run was fetched"
_PART: Final = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_FILE: Final = re.compile(f"{_PART}(?:/{_PART}){{0,4}}")
_SAY_WHERE: Final[dict[str, Callable[[str], str]]] = {
    "verdict.json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "junit.xml": lambda text: escape(text, {'"': "&quot;"}),
}
"""The files in which a run says where it lies, and how each writes text."""


def fetched(client: Any, worker: str, job: Job, made: hand.Made, store: Path) -> Row | Lost:
    """Return the row of a run, which lies here now if it was kept, and nowhere else.

    Raises `StoreError` where it finds no room here and was no violation.
    """
    if made.store is None:
        return made.row
    far = _Far(client, worker, made)
    proved = made.row.outcome is Outcome.VIOLATION
    try:
        if made.row.interrupted and not proved:
            return Lost("its worker was ended")
        for name in (made.row.run or "", *made.files):
            if name and _FILE.fullmatch(name) is None:
                return failed(job, f"its worker sent a file that no run has: {name!r}")
        return _laid(far, made, store)
    except _NotThere as error:
        comes_again = bool(made.row.virtual_s)
        return not_kept(made.row, error) if proved and not comes_again else Lost(str(error))
    finally:
        far.forget()


class _NotThere(Exception):  # noqa: N818 - what happened
    """A worker is gone, or what it had is."""


class _Far:
    """One run at its worker. Whatever keeps it from being read means that it is not there."""

    def __init__(self, client: Any, worker: str, made: hand.Made) -> None:
        self._client = client
        self._worker = worker
        self._made = made

    def piece(self, name: str, offset: int) -> bytes:
        """Return a piece of one of its files."""
        made = self._made
        path = f"{made.store}/{made.row.run}/{name}"
        size = min(PIECE_BYTES, made.files[name] - offset)
        data = self._run(hand.piece, path, offset, size)
        if not isinstance(data, bytes) or len(data) != size:
            raise _NotThere(f"{name} of its run is cut short at its worker")
        return data

    def forget(self) -> None:
        """Have it removed there; where it cannot be asked for, it goes with its worker."""
        try:
            self._run(hand.forget, self._made.store)
        except _NotThere:
            return

    def _run(self, call: Any, *arguments: object) -> object:
        """Have the worker do something beside its runs.

        One that does not answer is given up by the scheduler when it has heard nothing of it for long.
        """
        try:
            return self._client.run(call, *arguments, workers=[self._worker])[self._worker]
        except (OSError, KeyError) as error:
            raise _NotThere(f"{_GONE}: {error!r}") from error
        except Exception as error:
            raise _NotThere(recorded(error, _GONE)) from error


def _laid(far: _Far, made: hand.Made, store: Path) -> Row:
    """Write the files of a run into the campaign's directory, the verdict last."""
    row = made.row
    directory = RunDir(_place(store, row))
    last = directory.verdict.name
    if not directory.verdict.exists():  # an equal run is the same, to the byte
        directory.remove()  # what was left by a campaign that was killed as it fetched it
        try:
            for name in sorted(made.files, key=lambda name: (name == last, name)):
                path = directory.path / name
                _make_directories(path.parent)
                _write(far, made, name, path, str(directory.path))
        except StoreError as error:
            directory.remove()
            return not_kept(row, error)
        except BaseException:
            directory.remove()
            raise
    # Whoever interrupted it ended its worker, and not the campaign.
    return msgspec.structs.replace(row, run=directory.name, interrupted=False)


def _write(far: _Far, made: hand.Made, name: str, path: Path, here: str) -> None:
    pieces: Iterable[bytes] = (
        far.piece(name, offset) for offset in range(0, made.files[name], PIECE_BYTES)
    )
    if name in _SAY_WHERE:
        pieces = [_moved(b"".join(pieces), _SAY_WHERE[name], f"{made.store}/{made.row.run}", here)]
    descriptor = open_new(path)
    try:
        for data in pieces:
            write_all(descriptor, data, path)
        os.fsync(descriptor)
    except OSError as error:
        raise trouble(error, path) from error
    finally:
        os.close(descriptor)


def _moved(data: bytes, written: Callable[[str], str], there: str, here: str) -> bytes:
    """Return a file that says where its run lies now, and how whoever has it runs it again."""
    again = f"{program.NAME} replay {program.quoted(there)}"  # a worker was started by no name of ours
    for before, after in ((again, program.replaying(here)), (there, here)):
        data = data.replace(written(before).encode(), written(after).encode())
    return data


def _make_directories(path: Path) -> None:
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    try:
        for each in reversed(missing):
            make_directory(each)
    except OSError as error:
        raise trouble(error, path) from error


def _place(store: Path, row: Row) -> Path:
    """Return a directory for a run: simulated ones of one name are one, others may meet."""
    assert row.run is not None, "it was kept"
    path, number = store / row.run, 1
    while not row.virtual_s and path.exists():
        number += 1
        path = store / f"{row.run}-{number}"
    return path
