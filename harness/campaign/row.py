"""One run of a campaign, as a line of its journal, and the making of it in a worker's process.

What failed is kept whole, and so is the first violation of a name, expected or not; of everything else
only what is small: of a simulated run this line, from which it can be run again to the byte, of a real
one its plan, its schedule and its verdict as well.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.bugs import recorded
from harness.outcome import Outcome
from harness.plan import PlanError
from harness.run import convicted
from harness.run.run import run as run_plan
from harness.run.simulate import judge_recording, keep, simulate
from harness.store import rundir
from harness.store.errors import StoreError
from harness.store.files import for_want_of_room
from targets.target import Place

from .entries import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.plan.plan import Plan

QUIET: Final = frozenset({Outcome.PASS, Outcome.NOT_EXERCISED})
"""Outcomes of a seed that may be, where another seed of the name is to show the violation."""


class Job(msgspec.Struct, frozen=True):
    """One seed of one entry; ``first`` is whether no seed of it has shown a violation yet."""

    entry: Entry
    seed: int
    first: bool = True


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """How one seed of one name ended. ``run`` is its directory, where one was kept.

    ``known`` is whether it is a violation of nothing but rules that are known to be broken there:
    each of those that were ``convicted``, by their rules, also those that are not certain;
    ``why_not_known`` says of another, that was not expected either, which of the rules are known.
    ``on`` is where it ran, "" if it came to no plan.
    ``virtual_s`` is how long a simulated run lasted in its own time, ``cpu_s`` what it cost to simulate,
    ``seconds`` what it took altogether, its check included. ``interrupted`` is a run that was cut short
    by a signal, whatever it had proved by then; ``no_room`` one that failed because the disk was full,
    ``unkept`` one that proved a violation and could not be kept.
    """

    name: str
    seed: int
    outcome: Outcome
    expected: Outcome
    on: str = ""
    kind: str | None = None
    reason: str | None = None
    rules: tuple[str, ...] = ()
    convicted: tuple[tuple[str, ...], ...] = ()
    known: bool = False
    why_not_known: str | None = None
    seconds: float = 0.0
    cpu_s: float = 0.0
    virtual_s: float = 0.0
    exercised: dict[str, int] = {}
    run: str | None = None
    first_seed: int | None = None
    interrupted: bool = False
    no_room: bool = False
    unkept: bool = False

    @property
    def broken(self) -> tuple[str, ...]:
        """All rules that anything was convicted of, certain or not."""
        return tuple(dict.fromkeys(rule for rules in self.convicted for rule in rules))

    @property
    def again(self) -> bool:
        """Whether it tells nothing of its seed, which whoever goes on runs once more."""
        return self.interrupted or self.no_room

    @property
    def to_be_kept(self) -> bool:
        """Whether it proves something that was not kept, and comes again to the byte."""
        return self.unkept and self.virtual_s > 0

    @property
    def counted(self) -> Outcome:
        """What this row means for its campaign: a pass where it is as expected."""
        shows = self.expected is Outcome.VIOLATION
        if self.known or self.outcome is self.expected or (shows and self.outcome in QUIET):
            return Outcome.PASS
        return self.outcome


def of_entry(row: Row, entry: Entry) -> Row:
    """Return a row out of a journal: what was expected there is what its entry says, not the row."""
    return msgspec.structs.replace(
        row,
        expected=entry.expected,
        known=_known(row.outcome, row.convicted, entry),
        why_not_known=_why_not_known(row.outcome, row.convicted, entry),
    )


def _known(outcome: Outcome, broken: tuple[tuple[str, ...], ...], entry: Entry) -> bool:
    return outcome is Outcome.VIOLATION and convicted.only_known(broken, entry.known)


def _why_not_known(outcome: Outcome, broken: tuple[tuple[str, ...], ...], entry: Entry) -> str | None:
    if outcome is not Outcome.VIOLATION or entry.expected is Outcome.VIOLATION:
        return None
    return convicted.why_not_known(broken, entry.known)


def failed(job: Job, reason: str, *, no_room: bool = False) -> Row:
    """Return the row of a run that never came to a verdict."""
    return Row(
        name=job.entry.name,
        seed=job.seed,
        outcome=Outcome.HARNESS_FAILURE,
        expected=job.entry.expected,
        reason=reason,
        no_room=no_room,
    )


def not_kept(row: Row, error: Exception) -> Row:
    """Return the row of a run that could not be kept: a violation is proved all the same.

    Raises the error for any other, of which nothing is worth to be told.
    """
    if row.outcome is not Outcome.VIOLATION:
        raise error
    told = f"{row.reason} (not kept: {error})"
    return msgspec.structs.replace(row, reason=told, run=None, interrupted=False, unkept=True)


def row_of(job: Job, store: str) -> Row:
    """Run one seed. Whatever is raised is a failure of this run and of no other."""
    began_s, began_cpu_s, where = time.monotonic(), time.process_time(), ""
    try:
        plan = job.entry.plan(job.seed)
        where = plan.on.value
        row = (_simulated if plan.on is Place.SIM else _real)(job, plan, Path(store))
    except (PlanError, StoreError) as error:
        row = failed(job, str(error), no_room=for_want_of_room(error))
    except Exception as error:  # noqa: BLE001 - one run of many: told by its row
        row = failed(job, recorded(error, "the run broke"), no_room=for_want_of_room(error))
    took_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    return msgspec.structs.replace(row, on=where, seconds=took_s, cpu_s=cpu_s)


def _simulated(job: Job, plan: Plan, store: Path) -> Row:
    recording = simulate(plan)
    judged = judge_recording(recording)
    row = _row(job, judged.outcome, judged.reason, convicted.as_json(judged.convictions))
    if _whole(row, job):
        there = rundir.RunDir(store / recording.name)
        if not there.verdict.exists():  # an equal run is the same, to the byte
            there.remove()  # what a worker left that was killed as it wrote
            try:
                keep(recording, judged, store_dir=store)
            except StoreError as error:
                row = not_kept(row, error)
        if there.verdict.exists():
            row = msgspec.structs.replace(row, run=recording.name)
    return msgspec.structs.replace(
        row, kind=judged.kind, virtual_s=recording.virtual_ns / 1e9, exercised=judged.exercised
    )


def _real(job: Job, plan: Plan, store: Path) -> Row:
    result = run_plan(plan, store_dir=store)
    row = _row(job, result.outcome, result.reason, result.json)
    directory = rundir.RunDir(result.directory)
    if not result.interrupted and not _whole(row, job):
        directory.thin()
    violation = result.json.get("violation")
    causes = (result.reason or "", *result.json["notes"])
    failed_here = result.outcome is Outcome.HARNESS_FAILURE
    return msgspec.structs.replace(
        row,
        kind=violation["kind"] if violation else None,
        exercised=dict(result.json["exercised"] or {}),
        run=directory.name,
        interrupted=result.interrupted,
        no_room=failed_here and any(map(for_want_of_room, causes)),
    )


def _row(job: Job, outcome: Outcome, reason: str | None, told: Mapping[str, Any]) -> Row:
    """Return the row of a verdict; ``told`` is what its JSON says of rules."""
    broken = convicted.broken_by(told)
    return Row(
        name=job.entry.name,
        seed=job.seed,
        outcome=outcome,
        expected=job.entry.expected,
        reason=reason,
        rules=tuple(told["rules"]),
        convicted=broken,
        known=_known(outcome, broken, job.entry),
        why_not_known=_why_not_known(outcome, broken, job.entry),
    )


def _whole(row: Row, job: Job) -> bool:
    return row.counted is not Outcome.PASS or (row.outcome is Outcome.VIOLATION and job.first)
