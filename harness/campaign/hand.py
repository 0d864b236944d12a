"""A process that makes runs for somebody else's worker: jobs come in, what became of them goes out.

A worker of a Dask cluster makes its tasks in threads, and a simulated run needs a process of its own:
it closes clocks and files to everything around it. So each thread of a worker has a *hand*, a child
that lives as long as the thread does and makes one run after the other. Frames on its standard input
and output are a length and that many bytes. A run that is kept lies at its worker until the campaign,
which may be elsewhere, has fetched it (`harness.campaign.fetch`): in a directory of the worker's own,
which goes with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, Final

import msgspec

from harness.store.files import open_regular

from .row import Job, Row, row_of
from .workers import work_for

_LENGTH: Final = struct.Struct(">Q")
_MINE: Final = threading.local()


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job: its row, and the files of its run, if it was kept, with their bytes.

    ``store`` is the directory that the run lies in, which its files name. The campaign removes it.
    """

    row: Row
    store: str | None = None
    files: dict[str, int] = {}


class HandLost(Exception):  # noqa: N818 - what happened
    """The process that was making a run died."""


def at_worker(job: bytes) -> tuple[str, bytes]:
    """Have a run made at a worker of Dask, by the hand of this thread; return whose, and its `Made`."""
    worker = resolve_name("distributed:get_worker")()
    return worker.address, by_hand(job, worker.local_directory)


def by_hand(job: bytes, place: str) -> bytes:
    """Have a run made by the hand of this thread, somewhere below ``place``.

    Raises `HandLost` if it dies meanwhile.
    """
    hand: subprocess.Popen[bytes] | None = getattr(_MINE, "hand", None)
    if hand is not None and hand.poll() is not None:
        let_go(hand)
        hand = None
    if hand is None:
        command = [sys.executable, "-P", "-m", __name__, str(os.getpid()), place]
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


def piece(path: str, offset: int, size: int) -> bytes:
    """Return a piece of a file at its worker, shorter only where the file ends."""
    with open_regular(Path(path)) as file:
        file.seek(offset)
        return file.read(size)


def forget(store: str) -> None:
    """Remove what a run left at its worker."""
    shutil.rmtree(store, ignore_errors=True)


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


def made(job: Job, place: str) -> Made:
    """Make a run in a place of its own; return it with what it kept there."""
    store = tempfile.mkdtemp(prefix="lantern-hand-", dir=place)
    row = row_of(job, store)
    if row.run is None:
        forget(store)
        return Made(row=row)
    run = Path(store, row.run)
    found = [path for path in run.rglob("*") if path.is_file() and not path.is_symlink()]
    files = {str(path.relative_to(run)): path.stat().st_size for path in sorted(found)}
    return Made(row=row, store=store, files=files)


def main(worker_pid: int, place: str) -> None:
    """Make runs for a worker until it is gone. What a run prints goes to standard error."""
    work_for(worker_pid)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            job = msgspec.json.decode(_read(sys.stdin.buffer), type=Job)
        except EOFError:
            return
        told = made(job, place)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # an answer is whole or none
        _write(answers, msgspec.msgpack.encode(told))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
