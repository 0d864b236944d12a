"""Who makes the runs of a campaign: this process itself, or one process a core.

A worker may die (killed for its memory, say, or by hand): its run is then `Lost`, and it says nothing
of the target. Who was with it in the pool is lost too, and nobody can tell which of them it was; the
campaign runs each again, alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from harness.run.stop import SIGNALS
from targets.host.lifeline import die_with

from .row import Row, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from .row import Job

AHEAD: Final = 3  # runs that wait for each worker


class Lost(msgspec.Struct, frozen=True):
    """A run whose worker died: how, as far as anybody knows."""

    how: str


class Workers(Protocol):
    """Those who make runs."""

    @property
    def hands(self) -> int:
        """How many runs can be under way at a time."""

    @property
    def room(self) -> int:
        """How many runs may be under way or waiting at a time."""

    def start(self, job: Job) -> None:
        """Have a run made."""

    def ended(self) -> list[tuple[Job, Row | Lost]]:
        """Wait until one has ended at least; return what has. Raises `Gone`."""

    def stop(self) -> list[tuple[Job, Row | Lost]]:
        """End what is under way as an interruption would; return what ended by itself before that."""

    def close(self) -> None:
        """Let them go; nothing is under way."""


class Here:
    """This process, one run at a time; a signal is the run's own to take."""

    hands = room = 1

    def __init__(self, store: Path) -> None:
        self._store = str(store)
        self._jobs: deque[Job] = deque()

    def start(self, job: Job) -> None:
        """Take a run; it is made by `ended`."""
        self._jobs.append(job)

    def ended(self) -> list[tuple[Job, Row | Lost]]:
        """Make the run."""
        job = self._jobs.popleft()
        return [(job, row_of(job, self._store))]

    def stop(self) -> list[tuple[Job, Row | Lost]]:
        """Nothing is under way any more: the run took the signal."""
        return []

    def close(self) -> None:
        """There is nobody to let go."""


class Cores:
    """Processes of this host, a fresh interpreter each."""

    def __init__(self, store: Path, jobs: int) -> None:
        self.hands = jobs
        self.room = AHEAD * jobs
        self._store = str(store)
        self._jobs = jobs
        self._pool = self._made()
        self._flying: dict[Future[Row], Job] = {}
        self._ending: threading.Thread | None = None

    def _made(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            self._jobs, mp_context=context, initializer=work_for, initargs=(os.getpid(),)
        )

    def start(self, job: Job) -> None:
        """Have a run made by whoever is free next."""
        try:
            future = self._pool.submit(row_of, job, self._store)
        except BrokenProcessPool:  # it broke since anybody last looked
            self._renew()
            future = self._pool.submit(row_of, job, self._store)
        self._flying[future] = job

    def _renew(self) -> None:
        self._pool.shutdown(wait=True)
        self._pool = self._made()

    def ended(self) -> list[tuple[Job, Row | Lost]]:
        """Wait for one; where a worker died, all that was under way is lost."""
        done, _ = wait(self._flying, return_when=FIRST_COMPLETED)
        return [(self._flying.pop(future), _row(future)) for future in done]

    def stop(self) -> list[tuple[Job, Row | Lost]]:
        """Ask the workers to end; their runs heal what they must."""
        self._ending = threading.Thread(target=self.close)  # a pool is waited for once or never
        self._ending.start()
        for worker in multiprocessing.active_children():
            worker.terminate()
        return list(self._by_themselves())

    def _by_themselves(self) -> Iterator[tuple[Job, Row | Lost]]:
        for future, job in self._flying.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                yield job, future.result()

    def close(self) -> None:
        """Wait for the workers to be gone."""
        if self._ending is None or self._ending is threading.current_thread():
            self._pool.shutdown(wait=True, cancel_futures=True)
        else:
            self._ending.join()


def _row(future: Future[Row]) -> Row | Lost:
    try:
        return future.result()
    except BrokenProcessPool as error:
        return Lost(str(error))


def work_for(campaign_pid: int) -> None:
    """Have a worker listen to its campaign alone: a terminal's Ctrl-C goes to it as well.

    SIGTERM, which the campaign sends when it is interrupted and the kernel when it is gone, ends a run
    as it would end any, and a worker without one at once.
    """
    for number in SIGNALS:
        if number is not signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)
    if not die_with(campaign_pid, signal.SIGTERM):
        os._exit(0)  # nobody is left to be told; what a pool's worker raises here is printed by the pool
