"""Runs made by a Dask cluster: where one machine is too small for a campaign.

The scheduler (`harness.dask`) gives a run that was lost with its worker to another one; what was kept is
fetched (`harness.campaign.fetch`), so that a campaign's directory is the same wherever its runs were
made.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from harness.dask.client import Gone, Presence
from harness.dask.endings import Endings, result_of

from . import hand
from .fetch import fetched
from .row import Row, failed
from .workers import AHEAD, Lost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .row import Job


class Scheduler:
    """The workers of a Dask cluster, as those of a campaign."""

    def __init__(self, client: Any, store: Path) -> None:
        self._client = client
        self._store = store
        self._jobs: dict[str, tuple[Job, Any]] = {}
        self._endings = Endings()
        self._number = 0
        self._prefix = f"lantern-{time.time_ns():x}"
        self._presence = Presence(client)
        self._gone: Gone | None = None

    @property
    def hands(self) -> int:
        """How many runs can be under way: one in each thread there is."""
        return max(1, self._presence.threads)

    @property
    def room(self) -> int:
        """How many runs may be under way or waiting: some for each thread there is."""
        return AHEAD * self.hands

    def start(self, job: Job) -> None:
        """Give a run to the scheduler."""
        self._number += 1
        key = f"{self._prefix}-{self._number}"
        future = self._client.submit(hand.at_worker, msgspec.json.encode(job), key=key, pure=False)
        self._jobs[key] = (job, future)
        self._endings.watch(future)

    def ended(self) -> list[tuple[Job, Row | Lost]]:
        """Wait for one; raise `Gone` once nobody is left to wait for, and what ended was told."""
        while self._gone is None:
            self._presence.look()
            if rows := self._taken(self._endings.next()):
                return rows
        raise self._gone

    def _taken(self, ended: Iterator[tuple[Any, str]]) -> list[tuple[Job, Row | Lost]]:
        """Return what came of runs, up to one that shows that nobody is left."""
        rows = []
        try:
            for future, status in ended:
                rows.append(self._row(future, status))
        except Gone as error:
            self._gone = error
        return rows

    def _row(self, future: Any, status: str) -> tuple[Job, Row | Lost]:
        job, _ = self._jobs.pop(future.key)
        if status != "finished":
            error = future.exception() if status == "error" else None
            if error is None:
                self._presence.look()  # one that is gone says so itself
                raise Gone(f"the scheduler is gone, or let go of a run ({status})")
            if isinstance(error, hand.HandLost) or type(error).__name__ == "KilledWorker":
                return job, Lost(" ".join(str(error).split()))
            return job, failed(job, f"its worker could not make it: {error!r}")
        worker, told = result_of(future)
        future.release()
        made = msgspec.msgpack.decode(told, type=hand.Made)
        return job, fetched(self._client, worker, job, made, self._store)

    def stop(self) -> list[tuple[Job, Row | Lost]]:
        """Take back what nobody has begun; return what ended before that."""
        rows = self._taken(self._endings.at_hand())
        self._client.cancel([future for _, future in self._jobs.values()])
        return rows

    def close(self) -> None:
        """Leave the cluster to others."""
        self._client.close()
