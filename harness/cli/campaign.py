"""``lantern campaign``: many seeds of many runs, and the track record."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from harness.campaign.campaign import Campaign, Wanted
from harness.campaign.entries import Drawn, catalog, chosen, from_file
from harness.campaign.table import table
from harness.plan import PlanError
from targets.target import Place

from . import options

if TYPE_CHECKING:
    from harness.outcome import Outcome

    from .output import Output

SEEDS: Final = 20
_BUDGET: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


def _budget(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Return seconds of ``90``, ``90s``, ``10m`` or ``2h``."""
    if text is None:
        return None
    found = _BUDGET.fullmatch(text)
    if found is None or not float(found[1]):
        raise click.BadParameter(f"{text!r} is no time; say 90s, 10m or 2h")
    return float(found[1]) * _UNITS[found[2] or "s"]


@click.command()
@click.argument("campaign_file", metavar="[FILE.yaml]", required=False, type=options.FILE)
@click.option("--catalog", "all_of_it", is_flag=True, help="Every mistake and every policy.")
@click.option("--swarm", is_flag=True, help="Draw every seed on its own, knowing of no mistake.")
@click.option("--only", multiple=True, metavar="NAME", help="Only these names.")
@click.option(
    "--on",
    type=options.places(Place.SIM, Place.LOCAL),
    default=Place.SIM.value,
    help="Where the nodes run.",
)
@click.option("--seeds", type=options.COUNT, help=f"Seeds of each name.  [default: {SEEDS}]")
@click.option("--first-seed", type=click.IntRange(min=0), default=0, help="The first of them.")
@click.option("--jobs", type=options.COUNT, help="Processes to use.  [default: the cores; 1 on local]")
@click.option("--budget", callback=_budget, metavar="TIME", help="Start nothing after this: 90s, 10m.")
@click.option("--until", type=click.Choice(["violation"]), help="Be done with a name once it is shown.")
@click.option("--resume", type=click.Path(path_type=Path, file_okay=False), help="Go on in there.")
@options.as_json
@click.pass_obj
def campaign(  # noqa: PLR0913 - one parameter an option
    output: Output,
    /,
    campaign_file: Path | None,
    *,
    all_of_it: bool,
    swarm: bool,
    only: tuple[str, ...],
    on: str,
    seeds: int | None,
    first_seed: int,
    jobs: int | None,
    budget: float | None,
    until: str | None,
    resume: Path | None,
    as_json: bool,
) -> Outcome:
    """Run many seeds of many runs, and print what was found and what stayed clean.

    With --catalog every mistake is run under the schedule aimed at it and every policy under the main
    job; with --swarm as well, every seed draws its own cluster, weather, faults and load.
    """
    if (campaign_file is None) is not all_of_it:
        raise click.UsageError("say what to run: a campaign file, or --catalog")
    if swarm and on != Place.SIM:
        raise click.UsageError("a swarm is drawn for --on sim")
    try:
        if campaign_file is not None:
            entries, told = from_file(campaign_file)
            seeds = seeds or told
        else:
            entries = catalog(on=on, drawn=Drawn.SWARM if swarm else Drawn.AIMED)
        entries = chosen(entries, only)
    except PlanError as error:
        raise click.UsageError(str(error)) from error
    wanted = Wanted(
        seeds=seeds or SEEDS,
        first_seed=first_seed,
        jobs=jobs or (os.cpu_count() or 1 if on == Place.SIM else 1),
        budget_s=budget,
        until_violation=until is not None,
    )
    store = resume or Path("campaigns") / time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    running = Campaign(entries, wanted, store=store, say=output.story)
    running.resume()
    running.run()
    summary = running.summary()
    if as_json:
        output.json({"runs": [msgspec.to_builtins(row) for row in running.rows], "summary": summary})
    else:
        output.result(table(running.rows, summary))
    return running.outcome
