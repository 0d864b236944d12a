"""Runs made by a Dask cluster: where one machine is too small for a campaign.

Only a scheduler of this host, or one that is spoken to through TLS with certificates, is taken: whoever
can speak to a worker has it run code. The scheduler gives a run that was lost with its worker to
another one; what comes back is written here, so that a campaign's directory is the same wherever its
runs were made.

Dask is an extra, and imported once somebody asks for it.
"""

from __future__ import annotations

import json
import re
import time
from pkgutil import resolve_name
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape

import msgspec

from harness.store.files import write_atomic
from harness.store.rundir import RunDir

from . import hand
from .row import Row, failed
from .workers import AHEAD, Gone, Lost

if TYPE_CHECKING:
    from pathlib import Path

    from .row import Job

EXTRA: Final = "dask.distributed is not installed: pip install 'lantern-chaos[dask]'"
CONNECT_S: Final = 15.0
FIRST_WORKER_S: Final = 30.0
WORKERLESS_S: Final = 60.0
TICK_S: Final = 2.0
_PART: Final = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_FILE: Final = re.compile(f"{_PART}(?:/{_PART}){{0,4}}")


def connected(address: str) -> Any:
    """Return a client of the scheduler at an `address_of`; raise `Gone` if nobody there can work."""
    try:
        client_of, security_of = map(resolve_name, ("distributed:Client", "distributed:Security"))
    except ImportError as error:
        raise Gone(EXTRA) from error
    security = security_of(require_encryption=True) if address.startswith("tls://") else None
    try:
        client = client_of(address, timeout=CONNECT_S, security=security, set_as_default=False)
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        raise Gone(f"no scheduler answers at {address}: {error}") from error
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER_S)
        versions = client.run(hand.version)
    except Exception as error:
        client.close()
        raise Gone(f"nobody at {address} can run Lantern: {error}") from error
    mine = hand.version()
    for worker, theirs in versions.items():
        if theirs != mine:
            client.close()
            raise Gone(f"the worker {worker} has Lantern {theirs}, and this is {mine}")
    return client


class Presence:
    """Who is there to work: ``threads``, as somebody last looked."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.threads = 0
        self._worked_s = time.monotonic()
        self._looked_s = self._worked_s - TICK_S
        self.look()

    def look(self) -> None:
        """Look again, but not all the time; raise `Gone` if the scheduler is, or its workers are."""
        now_s = time.monotonic()
        if now_s < self._looked_s + TICK_S:
            return
        self._looked_s = now_s
        try:
            self.threads = sum(self.client.nthreads().values())
        except Exception as error:
            raise Gone(f"the scheduler is gone: {error}") from error
        if self.threads:
            self._worked_s = now_s
        elif now_s > self._worked_s + WORKERLESS_S:
            raise Gone(f"for {WORKERLESS_S:.0f} s the scheduler had no worker")


class Scheduler:
    """The workers of a Dask cluster, as those of a campaign."""

    def __init__(self, client: Any, store: Path) -> None:
        self._client = client
        self._store = store
        self._jobs: dict[str, tuple[Job, Any]] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._number = 0
        self._prefix = f"lantern-{time.time_ns():x}"
        self._presence = Presence(client)

    @property
    def room(self) -> int:
        """How many runs may be under way or waiting: some for each thread there is."""
        return AHEAD * max(1, self._presence.threads)

    def start(self, job: Job) -> None:
        """Give a run to the scheduler."""
        self._number += 1
        key = f"{self._prefix}-{self._number}"
        future = self._client.submit(hand.by_hand, msgspec.json.encode(job), key=key, pure=False)
        self._jobs[key] = (job, future)
        future.add_done_callback(self._ended.put)

    def ended(self) -> list[tuple[Job, Row | Lost]]:
        """Wait for one; raise `Gone` once there is nobody left to wait for."""
        while True:
            try:
                ended = [self._ended.get(timeout=TICK_S)]
            except Empty:
                self._presence.look()
                continue
            while not self._ended.empty():
                ended.append(self._ended.get())
            self._presence.look()
            return [self._row(future) for future in ended]

    def _row(self, future: Any) -> tuple[Job, Row | Lost]:
        job, _ = self._jobs.pop(future.key)
        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            if error is None:
                raise Gone(f"the scheduler let go of a run ({future.status})")
            if isinstance(error, hand.HandLost) or type(error).__name__ == "KilledWorker":
                return job, Lost(" ".join(str(error).split()))
            return job, failed(job, f"its worker could not make it: {error!r}")
        made = msgspec.msgpack.decode(future.result(), type=hand.Made)
        future.release()
        if made.row.interrupted:  # by whoever ended its worker, not by whoever runs the campaign
            return job, Lost("its worker was ended")
        for name in (made.row.run or "", *made.files):
            if name and _FILE.fullmatch(name) is None:
                return job, failed(job, f"its worker sent a file that no run has: {name!r}")
        return job, self._laid(made)

    def _laid(self, made: hand.Made) -> Row:
        """Write the files of a run that was kept into the campaign's directory, the verdict last."""
        row = made.row
        if row.run is None or not made.files:
            return row
        directory = RunDir(_place(self._store, row))
        if not directory.verdict.exists():
            last = directory.verdict.name
            for name, data in sorted(made.files.items(), key=lambda file: (file[0] == last, file[0])):
                path = directory.path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, _moved(name, data, f"{made.store}/{row.run}", str(directory.path)))
        return msgspec.structs.replace(row, run=directory.name)

    def stop(self) -> list[tuple[Job, Row | Lost]]:
        """Take back what nobody has begun; return what ended before that."""
        rows = []
        while not self._ended.empty():
            rows.append(self._row(self._ended.get()))
        self._client.cancel([future for _, future in self._jobs.values()])
        return rows

    def close(self) -> None:
        """Leave the cluster to others."""
        self._client.close()


def _place(store: Path, row: Row) -> Path:
    """Return a directory for a run: simulated ones of one name are one, others may meet."""
    assert row.run is not None, "it was kept"
    path, number = store / row.run, 1
    while not row.virtual_s and (path / "plan.yaml").exists():
        number += 1
        path = store / f"{row.run}-{number}"
    return path


def _moved(name: str, data: bytes, before: str, after: str) -> bytes:
    """Return a file in which a run says where it lies; ``before`` is plain text to JSON and XML."""
    match name:
        case "verdict.json":
            return data.replace(before.encode(), json.dumps(after)[1:-1].encode())
        case "junit.xml":
            return data.replace(before.encode(), escape(after, {'"': "&quot;"}).encode())
        case _:
            return data
