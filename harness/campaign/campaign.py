"""A campaign: many seeds of many names, over the cores, and what that comes to.

Rows are written as they come, so that a campaign which was stopped can go on. An interruption ends it
with the rows it has; a run that was cut short is none of them, and is run again by whoever goes on. A
name whose violation was expected is done at its first, if so wished; the seeds below it are still
waited for, so the first seed is the first whatever the number of cores.

How it ends: an expected outcome counts as a pass, and so does a pass where a violation is expected, as
long as another seed of that name shows it; if none does, the expectation was missed. Everything else
keeps its own word, and the worst wins.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Final

import msgspec

from harness.outcome import Outcome, worst
from harness.run.stop import SIGNALS

from .row import Row, kept, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from .entries import Entry

ROWS: Final = "rows.jsonl"
TOLD_EVERY_S: Final = 5.0
PR_SET_PDEATHSIG: Final = 1
AHEAD: Final = 3  # runs that wait for each worker


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """How far a campaign goes. ``until_violation`` leaves a name alone once it is shown."""

    seeds: int
    first_seed: int = 0
    jobs: int = 1
    budget_s: float | None = None
    until_violation: bool = False


class Campaign:
    """One campaign under way; ``rows`` is what it has so far."""

    def __init__(
        self,
        entries: Sequence[Entry],
        wanted: Wanted,
        *,
        store: Path,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.rows: list[Row] = []
        self.interrupted = False
        self.cut_short = False
        self._entries = {entry.name: entry for entry in entries}
        self._wanted = wanted
        self._store = store
        self._say = say
        self._began_s = time.monotonic()
        self._told_s = self._began_s
        self._shown: dict[str, int] = {}

    def resume(self) -> None:
        """Take the rows that an earlier campaign left in the same place."""
        path = self._store / ROWS
        if not path.exists():
            return
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(msgspec.MsgspecError):  # a torn last line is run again
                row = msgspec.json.decode(line, type=Row)
                if row.name in self._entries and not row.interrupted:
                    self._take(row)

    def run(self) -> None:
        """Run what is left; an interruption ends it with what there is."""
        self._store.mkdir(parents=True, exist_ok=True)
        with (self._store / ROWS).open("ab") as file:

            def take(row: Row) -> None:
                file.write(msgspec.json.encode(row) + b"\n")
                file.flush()
                self._take(row)
                if row.interrupted:  # the run took the signal, and it was meant for all of them
                    raise KeyboardInterrupt

            try:
                if self._wanted.jobs == 1:
                    self._run_here(take)
                else:
                    self._run_over_cores(take)
            except KeyboardInterrupt:
                self.interrupted = True
        self._end()

    def _run_here(self, take: Callable[[Row], None]) -> None:
        for entry, seed in self._jobs():
            take(row_of(entry, seed, str(self._store)))

    def _run_over_cores(self, take: Callable[[Row], None]) -> None:
        context = multiprocessing.get_context("spawn")
        jobs = self._jobs()
        flying: dict[Future[Row], tuple[Entry, int]] = {}
        with ProcessPoolExecutor(
            self._wanted.jobs, mp_context=context, initializer=_work_for, initargs=(os.getpid(),)
        ) as pool:
            try:
                while True:
                    while len(flying) < AHEAD * self._wanted.jobs:
                        job = next(jobs, None)
                        if job is None:
                            break
                        flying[pool.submit(row_of, *job, str(self._store))] = job
                    if not flying:
                        return
                    done, _ = wait(flying, return_when=FIRST_COMPLETED)
                    for future in done:
                        take(_row(future, *flying.pop(future)))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in multiprocessing.active_children():
                    worker.terminate()  # its run heals what it must, and ends
                for row in _finished(flying):
                    take(row)
                raise

    def _jobs(self) -> Iterator[tuple[Entry, int]]:
        """Go through the seeds, all names of one seed first: what is easy to find is found early."""
        wanted = self._wanted
        done = {(row.name, row.seed) for row in self.rows}
        for seed in range(wanted.first_seed, wanted.first_seed + wanted.seeds):
            for entry in self._entries.values():
                if (entry.name, seed) in done or self._over(entry):
                    continue
                if wanted.budget_s is not None and time.monotonic() > self._began_s + wanted.budget_s:
                    self.cut_short = True
                    return
                yield entry, seed

    def _over(self, entry: Entry) -> bool:
        return self._wanted.until_violation and entry.name in self._shown

    def _take(self, row: Row) -> None:
        self.rows.append(row)
        if row.outcome is Outcome.VIOLATION:
            if row.name not in self._shown:
                self._say(f"{row.name}: violation at seed {row.seed}: {row.reason}")
            self._shown[row.name] = min(row.seed, self._shown.get(row.name, row.seed))
        elif row.outcome is not row.expected and row.outcome not in {
            Outcome.PASS,
            Outcome.NOT_EXERCISED,
        }:
            self._say(f"{row.name}: {row.outcome.value} at seed {row.seed}: {row.reason}")
        if time.monotonic() >= self._told_s + TOLD_EVERY_S:
            self._told_s = time.monotonic()
            self._say(self._progress())

    def _progress(self) -> str:
        total = len(self._entries) * self._wanted.seeds
        found = sum(1 for name in self._shown if self._entries[name].expected is Outcome.VIOLATION)
        expected = sum(1 for entry in self._entries.values() if entry.expected is Outcome.VIOLATION)
        spent_s = time.monotonic() - self._began_s
        shown = f", {found} of {expected} found" if expected else ""
        return f"{spent_s:6.0f} s  {len(self.rows)} of at most {total} runs{shown}"

    def _end(self) -> None:
        """Put the rows in order, name each first seed, keep its run whole."""
        order = {name: place for place, name in enumerate(self._entries)}
        rows = sorted(self.rows, key=lambda row: (order[row.name], row.seed))
        self.rows = [
            msgspec.structs.replace(row, first_seed=self._shown.get(row.name), run=self._kept(row))
            for row in rows
        ]

    def _kept(self, row: Row) -> str | None:
        first = self._shown.get(row.name) == row.seed
        if row.run is not None or not first or not row.virtual_s:
            return row.run
        return kept(self._entries[row.name], row.seed, self._store)

    # What it comes to.

    @property
    def outcome(self) -> Outcome:
        """How the campaign ends."""
        outcomes = [_counted(row) for row in self.rows]
        outcomes += [Outcome.EXPECTATION_MISSED for _ in self.missed]
        if self.interrupted:
            outcomes.append(Outcome.INTERRUPTED)
        return worst(outcomes)

    @property
    def missed(self) -> tuple[str, ...]:
        """Names whose violation was expected and shown by no seed."""
        run = {row.name for row in self.rows}
        return tuple(
            name
            for name, entry in self._entries.items()
            if entry.expected is Outcome.VIOLATION and name in run and name not in self._shown
        )

    def summary(self) -> dict[str, object]:
        """Return the campaign in figures."""
        simulated = [row for row in self.rows if row.virtual_s]
        virtual_s = sum(row.virtual_s for row in simulated)
        cpu_s = sum(row.cpu_s for row in simulated)
        return {
            "outcome": self.outcome.value,
            "runs": len(self.rows),
            "outcomes": dict(Counter(row.outcome.value for row in self.rows)),
            "missed": list(self.missed),
            "cut_short": self.cut_short,
            "seconds": round(time.monotonic() - self._began_s, 3),
            "cpu_seconds": round(cpu_s, 3),
            "simulated_seconds": round(virtual_s, 3),
            "simulated_per_cpu_second": round(virtual_s / cpu_s, 1) if cpu_s else None,
            "directory": str(self._store),
        }


def _work_for(campaign_pid: int) -> None:
    """Have a worker listen to its campaign alone: a terminal's Ctrl-C goes to it as well.

    SIGTERM, which the campaign sends when it is interrupted and the kernel when it is gone, ends a run
    as it would end any, and a worker without one at once.
    """
    for number in SIGNALS:
        if number is not signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != campaign_pid:
        raise SystemExit


def _finished(flying: Iterable[Future[Row]]) -> Iterator[Row]:
    """Yield the rows of runs that ended by themselves, although nobody came for them yet."""
    for future in flying:
        if future.done() and not future.cancelled() and future.exception() is None:
            row = future.result()
            if not row.interrupted:
                yield row


def _row(future: Future[Row], entry: Entry, seed: int) -> Row:
    try:
        return future.result()
    except BrokenProcessPool as error:
        return Row(
            name=entry.name,
            seed=seed,
            outcome=Outcome.HARNESS_FAILURE,
            expected=entry.expected,
            reason=f"a worker died: {error}",
        )


def _counted(row: Row) -> Outcome:
    """Return what a row counts as."""
    shows = row.expected is Outcome.VIOLATION
    if row.outcome is row.expected or (shows and row.outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}):
        return Outcome.PASS
    return row.outcome
