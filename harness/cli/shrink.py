"""``lantern shrink``: a failing run, as small as it goes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness import program
from harness.campaign.shrink import NotReproduced, shrink
from harness.campaign.telling import told
from harness.outcome import Outcome
from harness.plan import PlanError, Trust, moved, plan_from
from harness.run.simulate import keep
from harness.store import rundir
from harness.store.errors import NotARun
from targets.target import Place

from . import options

if TYPE_CHECKING:
    from .output import Output

STORE: Final = Path("runs")


@click.command("shrink")
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The run directory of the minimal run.")
@options.trust
@options.as_json
@click.pass_obj
def shrink_(
    output: Output, /, run_dir: Path, *, out: Path | None, trust: bool, as_json: bool
) -> Outcome:
    """Shorten a failing run to a minimal plan by running it again, in virtual time, with less.

    Ends in 7 when the plan in RUN_DIR does not fail in virtual time, and in 130 when it is interrupted:
    the smallest run found until then is kept.
    """
    try:
        trusted = Trust.TRUSTED if trust else Trust.STRANGER
        plan = plan_from(rundir.existing(run_dir).plan, moved(Place.SIM), trust=trusted)
        found = shrink(plan, say=output.story)
    except (PlanError, NotARun) as error:
        raise click.UsageError(str(error)) from error
    except NotReproduced as error:
        if as_json:
            output.json({"outcome": Outcome.EXPECTATION_MISSED.value, "reason": str(error)})
        else:
            output.result([f"not reproduced: {error}"])
        return Outcome.EXPECTATION_MISSED
    outcome = Outcome.INTERRUPTED if found.interrupted else Outcome.PASS
    result = keep(found.recording, found.judged, store_dir=STORE, out=out)
    if as_json:
        output.json(
            {
                "outcome": outcome.value,
                "faults": found.faults,
                "operations": found.operations,
                "runs": found.tries,
                "kind": found.judged.kind,
                "sentence": found.judged.reason,
                "run": result.directory,
                "replay": shlex.join([program.command(), "replay", result.directory]),
            }
        )
    else:
        output.result(told(found, result.directory))
    return outcome
