"""One run of a campaign, as a line of its table, and the making of it in a worker's process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from harness.outcome import Outcome
from harness.run.convicted import rules_of
from harness.run.run import run as run_plan
from harness.run.simulate import judge_recording, keep, name_of, simulate
from targets.target import Place

if TYPE_CHECKING:
    from harness.plan.plan import Plan

    from .entries import Entry

KEPT = frozenset(Outcome) - {Outcome.PASS, Outcome.NOT_EXERCISED}
"""Outcomes of which the whole run is kept, where they were not expected."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """How one seed of one name ended. ``run`` is its directory, where it was kept.

    ``virtual_s`` is how long a simulated run lasted in its own time, ``cpu_s`` what it cost to simulate,
    ``seconds`` what it took altogether, its check included. ``interrupted`` is a run that was cut short
    by a signal, whatever it had proved by then.
    """

    name: str
    seed: int
    outcome: Outcome
    expected: Outcome
    kind: str | None = None
    reason: str | None = None
    rules: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu_s: float = 0.0
    virtual_s: float = 0.0
    exercised: dict[str, int] = {}
    run: str | None = None
    first_seed: int | None = None
    interrupted: bool = False


def row_of(entry: Entry, seed: int, store: str) -> Row:
    """Run one seed. Whatever is raised is a failure of this run and of no other."""
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    try:
        plan = entry.plan(seed)
        row = _simulated(entry, plan, store) if plan.on is Place.SIM else _real(entry, plan, store)
    except Exception as error:  # noqa: BLE001 - one run of many: told by its row
        row = Row(
            name=entry.name,
            seed=seed,
            outcome=Outcome.HARNESS_FAILURE,
            expected=entry.expected,
            reason=f"the run broke: {error!r}",
        )
    return msgspec.structs.replace(
        row, seconds=time.monotonic() - began_s, cpu_s=time.process_time() - began_cpu_s
    )


def _simulated(entry: Entry, plan: Plan, store: str) -> Row:
    recording = simulate(plan)
    judged = judge_recording(recording)
    run = None
    if judged.outcome in KEPT and judged.outcome is not entry.expected:
        run = keep(recording, judged, store_dir=Path(store)).directory
    return Row(
        name=entry.name,
        seed=plan.seed,
        outcome=judged.outcome,
        expected=entry.expected,
        kind=judged.kind,
        reason=judged.reason,
        rules=rules_of(judged.convictions),
        virtual_s=recording.virtual_ns / 1e9,
        exercised=judged.exercised,
        run=run,
    )


def _real(entry: Entry, plan: Plan, store: str) -> Row:
    result = run_plan(plan, store_dir=Path(store))
    violation = result.json.get("violation")
    return Row(
        name=entry.name,
        seed=plan.seed,
        outcome=result.outcome,
        expected=entry.expected,
        kind=violation["kind"] if violation else None,
        reason=result.reason,
        rules=tuple(result.json["rules"]),
        exercised=dict(result.json["exercised"] or {}),
        run=result.directory,
        interrupted=result.interrupted,
    )


def kept(entry: Entry, seed: int, store: Path) -> str:
    """Run a simulated seed again and keep all of it, unless it is there; return its directory."""
    plan = entry.plan(seed)
    there = store / name_of(plan)
    if (there / "verdict.json").exists():
        return str(there)
    recording = simulate(plan)
    return keep(recording, judge_recording(recording), store_dir=store).directory
