"""``lantern replay``: a saved run once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from harness.campaign.replay import by_role, replayed
from harness.outcome import Outcome, worst
from harness.plan import PlanError, Trust, moved, plan_from
from harness.plan.document import read
from harness.run.run import run as run_plan
from harness.store import rundir
from harness.store.errors import NotARun, StoreError
from harness.store.files import read_bounded
from harness.store.rundir import PLAN_MAX_BYTES, RunDir
from targets.target import Place

from . import options

if TYPE_CHECKING:
    from harness.plan.plan import Plan

    from .output import Output

STORE: Final = Path("runs")


@click.command()
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.option("--on", type=options.places(*Place), help="Where.  [default: where it ran]")
@click.option("--times", type=options.COUNT, default=1, help="How often.")
@click.option(
    "--by",
    type=click.Choice(["node", "role"]),
    default="node",
    help="Aim at the nodes that were named, or at whoever has their role.",
)
@options.trust
@options.as_json
@click.pass_obj
def replay(
    output: Output, /, run_dir: Path, *, on: str | None, times: int, by: str, trust: bool, as_json: bool
) -> Outcome:
    """Run what is saved in RUN_DIR again; a simulated run must come out the same, to the byte.

    Ends in 1 if any try shows a violation; an interruption keeps the tries there were.
    """
    try:
        directory = rundir.existing(run_dir)
        trusted = Trust.TRUSTED if trust else Trust.STRANGER
        saved = plan_from(directory.plan, {}, trust=trusted)
        plan = saved if on is None else plan_from(directory.plan, moved(on), trust=trusted)
        if by == "role":
            plan = by_role(plan, _roles(directory))
    except (PlanError, NotARun) as error:
        raise click.UsageError(str(error)) from error
    tries: list[dict[str, Any]] = []
    ended = Outcome.PASS
    try:
        while len(tries) < times and ended is Outcome.PASS:
            told, interrupted = _try(
                plan, directory, output, exact=by == "node" and saved.on is Place.SIM
            )
            tries.append(told)
            ended = Outcome.INTERRUPTED if interrupted else ended
    except KeyboardInterrupt:
        ended = Outcome.INTERRUPTED
    outcome = worst((ended, *(Outcome(each["outcome"]) for each in tries)))
    if as_json:
        output.json({"outcome": outcome.value, "tries": tries})
    else:
        output.result(_line(each) for each in tries)
    return outcome


def _try(plan: Plan, directory: RunDir, output: Output, *, exact: bool) -> tuple[dict[str, Any], bool]:
    """Return what came of one try, and whether a signal cut it short."""
    if plan.on is not Place.SIM:
        result = run_plan(plan, store_dir=STORE, say=output.story)
        told: dict[str, Any] = {
            "outcome": result.outcome.value,
            "reason": result.reason,
            "identical": None,
            "run": result.directory,
        }
        return told, result.interrupted
    history = directory.read_history() if exact and directory.history.exists() else None
    again = replayed(plan, history)
    outcome = again.outcome
    if again.identical is False:
        outcome = worst((outcome, Outcome.HARNESS_FAILURE))
    told = {
        "outcome": outcome.value,
        "reason": again.reason,
        "identical": again.identical,
        "run": None,
    }
    return told, False


def _roles(directory: RunDir) -> dict[str, str]:
    """Return who had which role when the saved run's first episode began."""
    try:
        data = read_bounded(directory.schedule, bytes_max=PLAN_MAX_BYTES)
    except StoreError as error:
        raise NotARun(str(error)) from error
    told = read(data, name=str(directory.schedule)).value
    episodes = told.get("episodes", []) if isinstance(told, dict) else []
    for episode in episodes:
        roles = episode.get("roles") if isinstance(episode, dict) else None
        if roles:
            return msgspec.convert(roles, dict[str, str])
    raise NotARun(f"{directory.schedule}: no episode says who had which role")


def _line(told: dict[str, Any]) -> str:
    same = {True: "identical history: ", False: "ANOTHER HISTORY: ", None: ""}[told["identical"]]
    reason = f": {told['reason']}" if told["reason"] else ""
    where = f"  {told['run']}" if told["run"] else ""
    return f"{same}{told['outcome']}{reason}{where}"
