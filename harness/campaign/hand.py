"""A process that makes runs for somebody else's worker: jobs come in, what became of them goes out.

A worker of a Dask cluster makes its tasks in threads, and a simulated run needs a process of its own:
it closes clocks and files to everything around it. So each thread of a worker has a *hand*, a child
that lives as long as the thread does and makes one run after the other. Frames on its standard input
and output are a length and that many bytes. A run that is kept travels as its files, since the campaign
may be elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import msgspec

from harness.store.environment import DISTRIBUTION

from .row import Job, Row, row_of
from .workers import work_for

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES_MAX_BYTES: Final = 256 << 20
_LENGTH: Final = struct.Struct(">Q")
_MINE: Final = threading.local()


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job: its row, and the files of its run, if it was kept, by relative names.

    ``store`` is where the run was made, which its files name; ``left_out`` counts files that were too
    large to travel.
    """

    row: Row
    store: str
    files: dict[str, bytes] = {}
    left_out: int = 0


class HandLost(Exception):  # noqa: N818 - what happened
    """The process that was making a run died."""


def version() -> str:
    """Return the version of Lantern that is installed here."""
    from importlib import metadata  # noqa: PLC0415 - of the worker that is asked

    return metadata.version(DISTRIBUTION)


def by_hand(job: bytes) -> bytes:
    """Have a run made by the hand of this thread; raise `HandLost` if that dies meanwhile."""
    hand: subprocess.Popen[bytes] | None = getattr(_MINE, "hand", None)
    if hand is not None and hand.poll() is not None:
        let_go(hand)
        hand = None
    if hand is None:
        command = [sys.executable, "-P", "-m", __name__, str(os.getpid())]
        hand = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        _MINE.hand = hand
    assert hand.stdin is not None
    assert hand.stdout is not None
    try:
        _write(hand.stdin, job)
        return _read(hand.stdout)
    except (OSError, EOFError):
        let_go(hand)
        raise HandLost(f"its process ended with code {hand.returncode}") from None


def let_go(hand: subprocess.Popen[bytes]) -> None:
    """End a hand, if it has not ended, and all that holds on to it."""
    _MINE.hand = None
    hand.kill()
    with contextlib.suppress(BrokenPipeError), hand:  # what it did not read is nobody's any more
        pass
    hand.wait()


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def made(job: Job) -> Made:
    """Make a run in a place of its own; return it with what it kept."""
    with tempfile.TemporaryDirectory(prefix="lantern-hand-") as store:
        row = row_of(job, store)
        if row.run is None:
            return Made(row=row, store=store)
        files: dict[str, bytes] = {}
        left_out = 0
        room = FILES_MAX_BYTES
        for path in _files(Path(store, row.run)):
            room -= path.stat().st_size
            if room < 0:
                left_out += 1
            else:
                files[str(path.relative_to(Path(store, row.run)))] = path.read_bytes()
        return Made(row=row, store=store, files=files, left_out=left_out)


def _files(run: Path) -> Iterator[Path]:
    """Yield the files of a run, the small ones first."""
    found = [path for path in run.rglob("*") if path.is_file() and not path.is_symlink()]
    yield from sorted(found, key=lambda path: (path.stat().st_size, path))


def main(worker_pid: int) -> None:
    """Make runs for a worker until it is gone. What a run prints goes to standard error."""
    work_for(worker_pid)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            job = msgspec.json.decode(_read(sys.stdin.buffer), type=Job)
        except EOFError:
            return
        told = made(job)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # an answer is whole or none
        _write(answers, msgspec.msgpack.encode(told))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


if __name__ == "__main__":
    main(int(sys.argv[1]))
