"""``lantern run``: run a plan and print what came of it.

Options override the plan file; what was resolved is saved with the run. The story of the run goes to
standard error as it happens, the summary to standard output when all is healed, saved and judged.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from harness.ci.publish import publish
from harness.plan import PlanError, Trust, plan_from
from harness.report.summary import summary
from harness.report.terminal import coloured_lines, plain_lines
from harness.run.result import case_of
from harness.run.run import run as run_plan
from harness.store import rundir
from harness.store.errors import NotARun

from . import options
from .report import JUDGED, write_report

if TYPE_CHECKING:
    from harness.outcome import Outcome

    from .output import Output


@click.command()
@click.argument("plan_file", metavar="[PLAN.yaml]", required=False, type=options.FILE)
@click.option("--target", help="What is tested: see `lantern list targets`, or a file with your client.")
@click.option("--policy", help="How reads are served: see `lantern list policies`.")
@click.option("--mistake", multiple=True, help="Plant a mistake: see `lantern list mistakes`.")
@click.option("--workload", help="What clients do: see `lantern list workloads`.")
@click.option("--on", help="Where the nodes run.")
@click.option("--nodes", type=int, help="How many nodes.")
@click.option("--clients", type=int, help="How many concurrent clients.")
@click.option("--keys", type=int, help="How many keys are in use at a time.")
@click.option("--rate", type=int, help="Operations a second of all clients; 0 is as many as go.")
@click.option("--time", type=float, help="Seconds of load.")
@click.option("--seed", type=int, help="What every random draw follows from.")
@click.option("--faults", help="Families of faults, with commas, or none: see `lantern list faults`.")
@click.option("--schedule", type=options.FILE, help="Inject exactly this schedule.")
@click.option("--compose", type=options.FILE, help="The compose file that your own cluster runs from.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The run directory.  [default: runs/<time>-<name>, of a simulated run runs/<hash of its plan>]",
)
@click.option("--keep", is_flag=True, default=None, help="Keep what the nodes had on their disks.")
@click.option("--allow", multiple=True, help="An outcome to take for a pass: not-exercised.")
@click.option("--require", multiple=True, help="A note to take for a violation: availability.")
@options.trust
@options.as_json
@click.pass_obj
def run(
    output: Output,
    /,
    plan_file: Path | None,
    *,
    schedule: Path | None,
    out: Path | None,
    trust: bool,
    as_json: bool,
    **asked: Any,
) -> Outcome:
    """Run a plan (or the main job) against a cluster and judge what was seen.

    Without arguments: three nodes of our own store as processes on loopback, which read from a lease
    that heartbeats renew, under clock, pause and partition faults for twenty seconds.
    """
    given = {key: value for key, value in asked.items() if value not in (None, ())}
    if "compose" in given:
        given["compose"] = str(given["compose"])
    try:
        plan = plan_from(plan_file, given, schedule_file=schedule, trust=_trust(plan_file, trust))
    except (PlanError, NotARun) as error:
        raise click.UsageError(str(error)) from error
    result = run_plan(plan, store_dir=options.STORE, out=out, say=output.story)
    told = write_report(output, result.directory, verdict=JUDGED)
    publish(result.outcome, [case_of(plan, result)], say=output.story)
    if as_json:
        output.json(result.json)
        return result.outcome
    sections = summary(replace(result.view, report=None if told is None else str(told)))
    coloured = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns
    output.result(coloured_lines(sections, width=width) if coloured else plain_lines(sections))
    return result.outcome


def _trust(plan_file: Path | None, trusted: bool) -> Trust:  # noqa: FBT001 - an option's value
    """Return how far a plan file is trusted: as somebody's own, unless it lies in a run directory."""
    if trusted:
        return Trust.TRUSTED
    return Trust.STRANGER if plan_file is not None and rundir.saved(plan_file) else Trust.OWN
