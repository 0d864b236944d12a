"""``lantern shrink``: a failing run, as small as it goes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import program
from harness.campaign.rate import as_json as rate_json
from harness.campaign.shrink import BUDGET_OVER, INTERRUPTED, NotReproduced, Undecided, shrink
from harness.campaign.shrink_real import ShrunkReal, Stopped, Try, shrink_real
from harness.campaign.telling import told
from harness.outcome import Outcome
from harness.plan import PlanError, Trust, moved, plan_from
from harness.plan.dump import dump
from harness.report import injected
from harness.report.escape import plain, whole
from harness.run.run import run as run_plan
from harness.run.simulate import keep
from harness.store import rundir
from harness.store.errors import NotARun, StoreError
from harness.store.rundir import RunDir
from harness.times import seconds_of
from harness.words import many
from targets.catalog import find
from targets.target import Place

from . import options
from .progress import now_and_then
from .report import JUDGED, write_report

if TYPE_CHECKING:
    from harness.plan.plan import Plan
    from harness.run.result import RunResult

    from .output import Output


@click.command("shrink")
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The run directory of the minimal run.")
@click.option(
    "--on",
    type=options.places(*Place),
    default=Place.SIM.value,
    help="Where it is tried: elsewhere than on sim each candidate is run until its rate is known.",
)
@click.option(
    "--budget",
    callback=options.budget,
    metavar="TIME",
    help="Start no run after this, where runs take their time: 90s, 10m.",
)
@options.trust
@options.as_json
@click.pass_obj
def shrink_(
    output: Output,
    /,
    run_dir: Path,
    *,
    out: Path | None,
    on: str,
    budget: str | None,
    trust: bool,
    as_json: bool,
) -> Outcome:
    """Shorten a failing run to a minimal plan by running it again with less.

    In virtual time (the default) one run tells. On processes and in containers the plan is run until it
    is known how often it fails, and so is every shorter one. Ends in 7 when the plan in RUN_DIR does not
    fail there, in 3 when the budget is over before that is known, and in 130 when it is interrupted: the
    smallest run found until then is kept.
    """
    if budget is not None and on == Place.SIM:
        raise click.UsageError("--budget is for runs that take their time: name where, --on local, say")
    try:
        trusted = Trust.TRUSTED if trust else Trust.STRANGER
        plan = _plan(rundir.existing(run_dir), on, trusted)
        rundir.require_place(store=options.STORE, out=out)
        if on == Place.SIM:
            return _simulated(output, plan, out=out, as_json=as_json)
        return _real(output, plan, out=out, budget=budget, as_json=as_json)
    except (PlanError, NotARun) as error:
        raise click.UsageError(str(error)) from error
    except NotReproduced as error:
        return _not_reproduced(output, error, run_dir, on=on, as_json=as_json)


def _plan(run: RunDir, on: str, trusted: Trust) -> Plan:
    """Return the plan to be shrunk, put where it is tried; one that cannot be there may be elsewhere."""
    try:
        return plan_from(run.plan, moved(on), trust=trusted)
    except PlanError as error:
        saved = plan_from(run.plan, {}, trust=trusted)
        if on in find(saved.target).places:
            raise
        raise PlanError(f"{error}: say `--on {saved.on}`") from error


def _not_reproduced(
    output: Output, error: NotReproduced, run_dir: Path, *, on: str, as_json: bool
) -> Outcome:
    """Say that nothing was shown, and what may help; nothing does if the run had not failed."""
    undecided = isinstance(error, Undecided)
    outcome = Outcome.UNKNOWN if undecided else Outcome.EXPECTATION_MISSED
    try:
        ended = RunDir(run_dir).read_verdict().get("outcome")
    except NotARun:
        ended = None
    if as_json:
        output.json({"outcome": outcome.value, "reason": str(error)})
    elif undecided:
        output.result([f"not decided: {plain(error)}"])
    elif ended not in {None, Outcome.VIOLATION.value}:
        output.result([f"nothing to shrink: the run ended as {plain(ended)}; {plain(error)}"])
    else:
        advice = "; --on local tries it on processes" if on == Place.SIM else ""
        output.result([f"not reproduced: {plain(error)}{advice}"])
    return outcome


def _simulated(output: Output, plan: Plan, *, out: Path | None, as_json: bool) -> Outcome:
    output.story(f"looking for less than {plan.time_s:g} s of load that show it in virtual time")
    found = shrink(plan, say=output.story, show=now_and_then(output.story))
    outcome = Outcome.INTERRUPTED if found.stopped == INTERRUPTED else Outcome.PASS
    try:
        result = keep(found.recording, found.judged, store_dir=options.STORE, out=out)
    except StoreError as error:
        return _told_instead(output, found.recording.plan, error, as_json=as_json)
    write_report(output, result.directory, verdict=JUDGED)
    if as_json:
        output.json(
            {
                "outcome": outcome.value,
                "stopped": found.stopped,
                "faults": found.faults,
                "operations": found.operations,
                "runs": found.tries,
                "kind": found.judged.kind,
                "sentence": found.judged.reason,
                "run": str(result.directory),
                "replay": program.replaying(str(result.directory)),
            }
        )
    else:
        output.result(told(found, str(result.directory)))
    return outcome


def _told_instead(output: Output, plan: Plan, error: StoreError, *, as_json: bool) -> Outcome:
    """Print the smallest plan that was found where it could not be kept."""
    told = dump(plan)
    if as_json:
        lost = {"outcome": Outcome.HARNESS_FAILURE.value, "error": str(error), "plan": told.decode()}
        output.json(lost)
    else:
        output.story(f"the minimal run could not be kept: {error}; this is its plan:")
        output.data(told)
    return Outcome.HARNESS_FAILURE


def _real(output: Output, plan: Plan, *, out: Path | None, budget: str | None, as_json: bool) -> Outcome:
    if plan.operations is not None:
        raise PlanError(
            "a plan that lists its operations is small already; `lantern replay --by role` runs it"
        )
    ends_s = None if budget is None else time.monotonic() + seconds_of(budget)

    def attempt(candidate: Plan) -> Try:
        if ends_s is not None and time.monotonic() > ends_s:
            raise Stopped(BUDGET_OVER)
        result = run_plan(candidate, store_dir=options.STORE)
        if result.interrupted:
            RunDir(result.directory).remove()
            raise KeyboardInterrupt
        output.story(f"     run: {_word(result)}")
        return _tried(result)

    def drop(tried: Try) -> None:
        RunDir(tried.directory).remove()

    found = shrink_real(plan, attempt, drop, say=output.story)
    directory = found.shown.directory
    if out is not None:
        try:
            directory = directory.rename(out)
        except OSError as error:
            output.story(f"it stays in {directory}: {error}")
    outcome = Outcome.INTERRUPTED if found.stopped == INTERRUPTED else Outcome.PASS
    write_report(output, directory, verdict=JUDGED)
    again = program.replaying(str(directory))
    if as_json:
        output.json(
            {"outcome": outcome.value, **_as_json(found), "run": str(directory), "replay": again}
        )
    else:
        output.result(_lines(found, directory, again))
    return outcome


def _word(result: RunResult) -> str:
    violation = result.json["violation"]
    return f"violation/{violation['kind']}" if violation else result.outcome.value


def _tried(result: RunResult) -> Try:
    violation: dict[str, Any] | None = result.json["violation"]
    if result.outcome is not Outcome.VIOLATION or violation is None:
        return Try(kind=None, proof_s=None, directory=result.directory, reason=result.reason)
    ends_ns = [each.get("return_ns") or each["call_ns"] for each in violation["operations"]]
    began_ns = _load_began_ns(RunDir(result.directory))
    return Try(
        kind=violation["kind"],
        proof_s=None if not ends_ns or began_ns is None else (max(ends_ns) - began_ns) / 1e9,
        directory=result.directory,
        reason=result.reason,
    )


def _load_began_ns(run: RunDir) -> int | None:
    """Return when the load of our own run began, from the origin."""
    load_ns = injected.load(run).load_ns
    return None if load_ns is None else load_ns[0]


def _as_json(found: ShrunkReal) -> dict[str, Any]:
    return {
        "stopped": found.stopped,
        "episodes": len(found.plan.schedule),
        "steps": found.steps,
        "time": found.plan.time_s,
        "rate": rate_json(found.rate),
        "before": rate_json(found.before),
        "runs": found.tries,
        "kind": found.shown.kind,
        "sentence": found.shown.reason,
    }


def _lines(found: ShrunkReal, directory: Path, again: str) -> list[str]:
    how = "minimal" if found.stopped is None else found.stopped
    plan = found.plan
    schedule = f"{many(len(plan.schedule), 'episode')} of {many(found.steps, 'step')}"
    left = f"{plan.time_s:g} s of load, {many(plan.keys, 'key')}, {schedule}"
    return [
        f"{how} after {many(found.tries, 'run')}: {left}",
        f"shows it in {found.rate}; as it was, in {found.before}",
        plain(found.shown.reason or ""),
        f"run     {plain(directory)}",
        f"replay  {whole(again)}",
    ]
