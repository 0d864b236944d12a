"""``lantern replay``: a saved run once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from harness.campaign.aim import by_node, by_role
from harness.campaign.rate import Rate
from harness.campaign.rate import as_json as rate_json
from harness.campaign.replay import replayed
from harness.outcome import Outcome, worst
from harness.plan import PlanError, Trust, moved, plan_from
from harness.report import injected
from harness.report.escape import plain
from harness.run.run import run as run_plan
from harness.store import rundir
from harness.store.errors import NotARun, StoreError
from targets.target import Place

from . import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.plan.plan import Plan
    from harness.store.rundir import RunDir

    from .output import Output

CHANGED: Final = (
    "the saved history does not come again: it was changed, or another version of Lantern made it"
)


@click.command()
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.option("--on", type=options.places(*Place), help="Where.  [default: where it ran]")
@click.option("--times", type=options.COUNT, default=1, help="How often.")
@click.option(
    "--by",
    type=click.Choice(["node", "role"]),
    help="Aim at the nodes that were hit, or at whoever has their role.  [default: as the plan says]",
)
@options.trust
@options.as_json
@click.pass_obj
def replay(
    output: Output,
    /,
    run_dir: Path,
    *,
    on: str | None,
    times: int,
    by: str | None,
    trust: bool,
    as_json: bool,
) -> Outcome:
    """Run what is saved in RUN_DIR again, and tell how often it comes to the same.

    A simulated run must come out the same, to the byte; elsewhere there is a rate. Ends in 1 if any try
    shows a violation; an interruption keeps the tries there were.
    """
    try:
        directory = rundir.existing(run_dir)
        trusted = Trust.TRUSTED if trust else Trust.STRANGER
        saved = plan_from(directory.plan, {}, trust=trusted)
        plan = saved if on is None else plan_from(directory.plan, moved(on), trust=trusted)
        if by is not None:
            plan = (by_role if by == "role" else by_node)(plan, _roles(directory))
        wanted = _wanted(directory)
        exact = plan == saved and saved.on is Place.SIM and directory.history.exists()
        history = directory.read_history() if exact else None
    except (PlanError, NotARun) as error:
        raise click.UsageError(str(error)) from error
    tries: list[dict[str, Any]] = []
    rate = Rate()
    ended = Outcome.PASS
    try:
        while len(tries) < times and ended is Outcome.PASS:
            told, interrupted = _try(plan, history, output)
            tries.append(told)
            if not interrupted:
                rate = rate.and_then(showed=_word(told["outcome"], told["kind"]) == wanted)
                output.story(f"try {len(tries)} of {times}: {_word(told['outcome'], told['kind'])}")
            ended = Outcome.INTERRUPTED if interrupted else ended
    except KeyboardInterrupt:
        ended = Outcome.INTERRUPTED
    outcome = worst((ended, *(Outcome(each["outcome"]) for each in tries)))
    if as_json:
        told = {"wanted": wanted, **rate_json(rate)}
        if plan.on is Place.SIM:
            told["interval"] = None
        output.json({"outcome": outcome.value, "tries": tries, "reproduced": told})
    else:
        often = _certainly(rate, tries) if plan.on is Place.SIM else str(rate)
        output.result([*map(_line, tries), f"reproduced {often}: {plain(wanted)}"])
    return outcome


def _try(plan: Plan, history: bytes | None, output: Output) -> tuple[dict[str, Any], bool]:
    """Return what came of one try, and whether a signal cut it short. ``history`` is to come again."""
    if plan.on is not Place.SIM:
        result = run_plan(plan, store_dir=options.STORE, say=output.story)
        told: dict[str, Any] = {
            "outcome": result.outcome.value,
            "kind": (result.json["violation"] or {}).get("kind"),
            "reason": result.reason,
            "identical": None,
            "run": str(result.directory),
        }
        return told, result.interrupted
    again = replayed(plan, history)
    outcome, reason = again.outcome, again.reason
    if again.identical is False and worst((outcome, Outcome.HARNESS_FAILURE)) is not outcome:
        outcome, reason = Outcome.HARNESS_FAILURE, f"{CHANGED}; this time it was: {outcome.words}"
    told = {
        "outcome": outcome.value,
        "kind": again.kind,
        "reason": reason,
        "identical": again.identical,
        "run": None,
    }
    return told, False


def _certainly(rate: Rate, tries: Sequence[Mapping[str, Any]]) -> str:
    """Return how often something showed where nothing is left to chance: no interval means anything."""
    compared = [each["identical"] for each in tries if each["identical"] is not None]
    same = f", {sum(compared)} of {len(compared)} identical" if compared else ""
    return f"{rate.shown} of {rate.tries}{same} (a simulated run is deterministic)"


def _wanted(directory: RunDir) -> str:
    """Return what a try has to come to: what the run did; a violation where nobody wrote that down."""
    try:
        verdict = directory.read_verdict()
    except StoreError:
        return _word(Outcome.VIOLATION.value, "history")
    violation = verdict.get("violation")
    kind = violation.get("kind") if isinstance(violation, dict) else None
    return _word(verdict.get("outcome"), kind)


def _word(outcome: object, kind: object) -> str:
    return f"{outcome}/{kind}" if kind else str(outcome)


def _roles(directory: RunDir) -> dict[str, dict[str, str]]:
    """Return who had which role when each episode of the saved run first began, by episode."""
    bound: dict[str, dict[str, str]] = {}
    for ran in injected.load(directory).episodes:
        if ran.roles:
            bound.setdefault(ran.episode, ran.roles)
    if not bound:
        raise NotARun(f"{directory.schedule}: no episode says who had which role")
    return bound


def _line(told: dict[str, Any]) -> str:
    same = {True: "identical history: ", False: "ANOTHER HISTORY: ", None: ""}[told["identical"]]
    reason = f": {told['reason']}" if told["reason"] else ""
    where = f"  {told['run']}" if told["run"] else ""
    return f"{same}{told['outcome']}{reason}{where}"
