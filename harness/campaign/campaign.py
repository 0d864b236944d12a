"""A campaign: many seeds of many names, by many workers, until what was wanted is done.

Each run that ends has its line in the journal before anything else happens
(`harness.campaign.journal`), which run is next is `harness.campaign.order`'s, what it all comes to
`harness.campaign.reckoning`'s. An interruption ends a campaign with the rows it has; a run that was cut
short is none of them, and is run again by whoever goes on. A name whose violation was expected is done
at its first, if so wished; the seeds below it are still waited for, so the first seed is the first
whatever the number of workers.

A run in real time shares the machine with no other, unless somebody says how many go at a time: a
starved harness can tell nothing for certain. So does a run whose worker died, the second time: whoever
is alone when its worker dies killed it, and is a harness failure.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from harness.dask.client import Gone
from harness.outcome import Outcome
from harness.plan import PlanError
from harness.plan.plan import SEED_END
from harness.report.escape import plain
from harness.run.stop import undisturbed
from harness.store.errors import StoreError
from harness.store.rundir import RunDir
from targets.target import Place

from .order import Order
from .reckoning import Reckoning, figures, reckoned
from .row import Job, Row, failed, of_entry
from .surprises import surprises
from .workers import Cores, Here, Lost

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .entries import Entry
    from .journal import Journal
    from .surprises import Surprise
    from .workers import Workers


STRANGE_MAX: Final = 5


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """How far a campaign goes.

    ``seeds`` is how many each name has that has none of its own; None, with a budget, as many as go.
    ``jobs`` is how many runs go at a time, None one a core, and those in real time alone.
    ``until_violation`` leaves a name alone once it is shown.
    """

    seeds: int | None
    first_seed: int = 0
    jobs: int | None = None
    cores: int = 1
    budget_s: float | None = None
    until_violation: bool = False

    @property
    def seed_range(self) -> range:
        """The seeds of a name that has none of its own."""
        end = SEED_END if self.seeds is None else self.first_seed + self.seeds
        return range(self.first_seed, end)


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a campaign is: runs that ended, of how many at most (None: as many as go)."""

    runs: int
    runs_max: int | None
    found: int
    sought: int
    unexpected: int
    seconds: float
    budget_s: float | None


class Campaign:
    """One campaign under way; ``rows`` is what it has so far."""

    def __init__(
        self,
        entries: Sequence[Entry],
        wanted: Wanted,
        *,
        journal: Journal,
        say: Callable[[str], None] = lambda _line: None,
        show: Callable[[Progress], None] = lambda _progress: None,
    ) -> None:
        self.rows: list[Row] = []
        self.interrupted = False
        self.cut_short = False
        self.broken: str | None = None
        self._entries = {entry.name: entry for entry in entries}
        self._wanted = wanted
        self._journal = journal
        self._say = say
        self._show = show
        self._began_s = time.monotonic()
        self._order = Order(
            entries,
            wanted.seed_range,
            by_time=wanted.budget_s is not None,
            until_violation=wanted.until_violation,
        )
        self._lost: list[Job] = []
        self._suspects: set[tuple[str, int]] = set()
        self._real: dict[str, bool] = {}
        self._shown: dict[str, int] = {}
        self._unkept: dict[tuple[str, int], Row] = {}

    def resume(self) -> None:
        """Take the rows that an earlier campaign left in the same place."""
        strange: list[str] = []
        for row in self._journal.rows():
            entry = self._entries.get(row.name)
            if entry is None:
                continue
            if row.seed not in entry.seeds_of(self._wanted.seed_range):
                strange.append(f"{row.name} seed {row.seed} ({row.outcome.value})")
                continue
            if row.to_be_kept:
                self._unkept[row.name, row.seed] = of_entry(row, entry)
                continue
            self._order.already(
                row.name, row.seed, row.seconds, violation=row.outcome is Outcome.VIOLATION
            )
            self._take(of_entry(row, entry))
        if strange:
            more = ", ..." if len(strange) > STRANGE_MAX else ""
            self._say(
                f"{len(strange)} runs in the journal are of no seed of this campaign and do not count:"
                f" {', '.join(strange[:STRANGE_MAX])}{more}"
            )

    def run(self, workers: Workers | None = None) -> None:
        """Run what is left; an interruption ends it with what there is."""
        self._began_s = time.monotonic()
        self._journal.begin()
        workers = workers or self._workers()
        try:
            self._run(workers)
        except KeyboardInterrupt:
            self.interrupted = True
            self._save_what_ended(workers)
        except (StoreError, Gone) as error:
            self.broken = str(error)
            workers.stop()
        finally:
            workers.close()
        self._end()

    def _workers(self) -> Workers:
        jobs = self._wanted.jobs or (1 if all(map(self._in_real_time, self._entries.values())) else None)
        jobs = jobs or self._wanted.cores
        return Here(self._journal.place) if jobs == 1 else Cores(self._journal.place, jobs)

    def _run(self, workers: Workers) -> None:
        flying: set[tuple[str, int]] = set()
        held: Job | None = None
        alone = False
        while True:
            while len(flying) < self._room(workers) and not alone:
                held = held or self._next()
                if held is None or (self._alone(held) and flying):
                    break
                alone = self._alone(held)
                flying.add((held.entry.name, held.seed))
                workers.start(held)
                held = None
            if not flying:
                return
            for job, row in workers.ended():
                flying.discard((job.entry.name, job.seed))
                self._ended(job, row)
            alone = alone and bool(flying)

    def _room(self, workers: Workers) -> int:
        """Return how many runs may be handed out.

        Under a budget none waits for a worker: it would begin after the budget is over, and out of turn.
        """
        return workers.room if self._wanted.budget_s is None else workers.hands

    def _next(self) -> Job | None:
        """Return the next run, None if there is none or no time for it."""
        if self._lost:
            return self._lost.pop()
        budget_s = self._wanted.budget_s
        if budget_s is not None and time.monotonic() > self._began_s + budget_s:
            self.cut_short = True
            return None
        return self._order.next()

    def _alone(self, job: Job) -> bool:
        suspect = (job.entry.name, job.seed) in self._suspects
        return suspect or (self._wanted.jobs is None and self._in_real_time(job.entry))

    def _in_real_time(self, entry: Entry) -> bool:
        if entry.name not in self._real:
            try:
                self._real[entry.name] = entry.plan(0).on is not Place.SIM
            except PlanError:  # each of its rows will say so
                self._real[entry.name] = False
        return self._real[entry.name]

    def _ended(self, job: Job, row: Row | Lost) -> None:
        """Write down how a run ended; one that was lost with its worker is run again, alone."""
        if isinstance(row, Lost):
            if (job.entry.name, job.seed) not in self._suspects:
                self._suspects.add((job.entry.name, job.seed))
                self._lost.append(job)
                return
            row = failed(job, f"its worker died, and once more when it was alone: {row.how}")
        with undisturbed():  # what the journal has is told, and the other way round
            self._journal.write(row)
            self._order.ended(
                row.name, row.seconds, violation=row.outcome is Outcome.VIOLATION and not row.interrupted
            )
            self._take(row)
        if row.interrupted:  # the run took the signal, and it was meant for all of them
            raise KeyboardInterrupt

    def _save_what_ended(self, workers: Workers) -> None:
        for _, row in workers.stop():
            if isinstance(row, Row) and not row.interrupted:
                try:
                    self._journal.write(row)
                except StoreError as error:
                    self.broken = str(error)
                    return
                self._take(row)

    def _take(self, row: Row) -> None:
        self.rows.append(row)
        if row.outcome is Outcome.VIOLATION:
            if row.name not in self._shown:
                self._say(f"{row.name}: violation at seed {row.seed}: {plain(row.reason)}")
            self._shown[row.name] = min(row.seed, self._shown.get(row.name, row.seed))
        elif row.counted is not Outcome.PASS:
            self._say(f"{row.name}: {row.outcome.value} at seed {row.seed}: {plain(row.reason)}")
        self._show(self.progress)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        every = self._entries.values()
        wanted = self._wanted
        endless = wanted.seeds is None and any(entry.seeds is None for entry in every)
        runs = 0 if endless else sum(len(entry.seeds_of(wanted.seed_range)) for entry in every)
        sought = [entry.name for entry in every if entry.expected is Outcome.VIOLATION]
        return Progress(
            runs=len(self.rows),
            runs_max=None if endless else runs,
            found=sum(name in self._shown for name in sought),
            sought=len(sought),
            unexpected=sum(row.counted is not Outcome.PASS for row in self.rows),
            seconds=time.monotonic() - self._began_s,
            budget_s=wanted.budget_s,
        )

    def _end(self) -> None:
        """Put the rows in order, name each first seed, and keep that one's run whole."""
        self._take_unkept()
        order = {name: place for place, name in enumerate(self._entries)}
        rows = sorted(self.rows, key=lambda row: (order[row.name], row.seed))
        self.rows = [
            msgspec.structs.replace(row, first_seed=self._shown.get(row.name), run=self._kept(row))
            for row in rows
        ]

    def _take_unkept(self) -> None:
        """Take what an earlier campaign proved and did not keep, where that was not proved again."""
        again = {(row.name, row.seed) for row in self.rows if row.outcome is Outcome.VIOLATION}
        left = {run: row for run, row in self._unkept.items() if run not in again}
        self.rows = [row for row in self.rows if (row.name, row.seed) not in left]
        for row in left.values():
            self._take(row)

    def _kept(self, row: Row) -> str | None:
        """Return the path of a row's run; a violation that came before the first seed's is let go."""
        if row.run is None:
            return None
        expected = row.outcome is Outcome.VIOLATION and row.counted is Outcome.PASS
        directory = RunDir(self._journal.place / row.run)  # as a line of the journal says, no more
        later = expected and row.seed != self._shown[row.name]
        if not directory.ours:
            if not later:
                self._say(f"{row.name}: the run of seed {row.seed} is not at {directory.path} any more")
            return None
        if later and row.virtual_s:
            directory.remove()
            return None
        if later:
            directory.thin()
        return str(directory.path)

    # What it comes to.

    @property
    def reckoning(self) -> Reckoning:
        """What the campaign comes to."""
        cut_off = Outcome.INTERRUPTED if self.interrupted else None
        if self.broken is not None:
            cut_off = Outcome.HARNESS_FAILURE
        return reckoned(tuple(self._entries.values()), self.rows, cut_off=cut_off)

    @property
    def unexpected(self) -> tuple[Surprise, ...]:
        """The entries that did not end as expected."""
        return surprises(tuple(self._entries.values()), self.rows, self.reckoning)

    def summary(self) -> dict[str, object]:
        """Return the campaign in figures."""
        told = self.reckoning
        return {
            "outcome": told.outcome.value,
            "reason": self.broken,
            **figures(self.rows),
            "not_as_expected": [msgspec.to_builtins(each) for each in self.unexpected],
            "missed": list(told.missed),
            "not_run": list(told.not_run),
            "known_unseen": list(told.known_unseen),
            "idle": {name: list(claims) for name, claims in told.idle.items()},
            "cut_short": self.cut_short,
            "seconds": round(time.monotonic() - self._began_s, 3),
            "directory": str(self._journal.place),
        }
