"""``lantern campaign``: many seeds of many runs, and the track record."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from harness import program
from harness.campaign.campaign import Campaign, Wanted
from harness.campaign.cases import of_campaign
from harness.campaign.catalog import catalog
from harness.campaign.entries import SEEDS_MAX, Drawn, chosen, planted_in
from harness.campaign.file import Read, from_file, going_on, of_matrix
from harness.campaign.journal import CAMPAIGN, Journal, fresh
from harness.campaign.matrix import RULE, fits
from harness.campaign.scheduler import Scheduler
from harness.campaign.surprises import lines
from harness.campaign.table import table
from harness.ci.junit import junit, now
from harness.ci.publish import publish
from harness.dask.client import Gone, connected
from harness.outcome import Outcome
from harness.plan import PlanError, Trust
from harness.plan.plan import SEED_END
from harness.store.errors import NotARun
from harness.times import seconds_of
from targets.target import Place

from . import options
from .progress import following
from .report import JUDGED, write_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.ci.case import Case

    from .output import Output

SEEDS: Final = 20
STORE: Final = Path("campaigns")
REPORTS_MAX: Final = 10
AIMED_SEEDS: Final = 3
"""An aimed schedule shows its mistake by then, or it is not aimed well."""


def _known(_: click.Context, __: click.Parameter, rules: tuple[str, ...]) -> tuple[str, ...]:
    for rule in rules:
        if RULE.fullmatch(rule) is None:
            raise click.BadParameter(f"{rule!r} is no id of a rule, such as L12: see docs/rules.md")
    return rules


@click.command()
@click.argument("campaign_file", metavar="[FILE.yaml]", required=False, type=options.FILE)
@click.option("--catalog", "all_of_it", is_flag=True, help="Every mistake and every policy.")
@click.option("--swarm", is_flag=True, help="Draw every seed on its own, knowing of no mistake.")
@click.option(
    "--only", multiple=True, metavar="NAME", help="Only these names, with commas or each anew."
)
@click.option(
    "--on",
    type=options.places(*Place),
    help="Where the nodes run.  [default: as the file says; sim for --catalog]",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=SEEDS_MAX),
    help=f"Seeds of each name.  [default: {SEEDS}; {AIMED_SEEDS} if aimed; with --budget, no end]",
)
@click.option(
    "--first-seed", type=click.IntRange(min=0, max=SEED_END - 1), help="The first of them.  [default: 0]"
)
@click.option(
    "--jobs", type=options.COUNT, help="Runs at a time.  [default: the cores; 1 of those in real time]"
)
@click.option(
    "--budget", callback=options.budget, metavar="TIME", help="Start nothing after this: 90s, 10m."
)
@options.scheduler
@click.option("--until", type=click.Choice(["violation"]), help="Be done with a name once it is shown.")
@click.option(
    "--known",
    multiple=True,
    callback=_known,
    metavar="RULE",
    help="Its violation counts as expected.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Go on in there, or begin there.",
)
@options.trust
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
    on: str | None,
    seeds: int | None,
    first_seed: int | None,
    jobs: int | None,
    budget: str | None,
    scheduler: str | None,
    until: str | None,
    known: tuple[str, ...],
    resume: Path | None,
    trust: bool,
    as_json: bool,
) -> Outcome:
    """Run many seeds of many runs, and print what was found and what stayed clean.

    What is run is in a file: blocks of plans, multiplied out over targets, policies, mistakes, faults
    and places, with what is expected of them. With --catalog every mistake is run under the schedule
    aimed at it and every policy under the main job; with --swarm as well, every seed draws its own
    cluster, weather, faults and load. With --resume alone a campaign that was killed goes on.
    """
    if swarm and not (all_of_it and on in {None, Place.SIM}):
        raise click.UsageError("a swarm is drawn for --catalog --on sim; a file says swarm: true")
    try:
        read = _read(campaign_file, resume, all_of_it=all_of_it, swarm=swarm, on=on, trust=trust)
        matrix = msgspec.structs.replace(
            read.matrix,
            seeds=seeds or read.matrix.seeds,
            first_seed=read.matrix.first_seed if first_seed is None else first_seed,
            budget=budget or read.matrix.budget,
            until=until or read.matrix.until,
        )
        if matrix.seeds is None and matrix.budget is None:
            default = AIMED_SEEDS if all_of_it and not swarm else SEEDS
            matrix = msgspec.structs.replace(matrix, seeds=default)
        _within(matrix.first_seed, matrix.seeds)
        own = seeds is None and first_seed is None
        entries = tuple(
            msgspec.structs.replace(
                entry, known=(*entry.known, *known), seeds=entry.seeds if own else None
            )
            for entry in chosen(read.entries, only)
        )
        wanted = Wanted(
            seeds=matrix.seeds,
            first_seed=matrix.first_seed,
            jobs=jobs,
            cores=os.cpu_count() or 1,
            budget_s=None if matrix.budget is None else seconds_of(matrix.budget),
            until_violation=matrix.until is not None,
        )
        whole = going_on(None if resume is None else resume / CAMPAIGN, entries, matrix)
    except PlanError as error:
        raise click.UsageError(str(error)) from error
    if read.left_out:
        output.story(f"left out, for they make no plan: {', '.join(read.left_out)}")
    began = now()
    place = resume or fresh(STORE)
    journal = Journal(place)
    journal.save(whole)
    try:
        workers = None if scheduler is None else Scheduler(connected(scheduler), place)
        with following(output) as (say, show):
            running = Campaign(entries, wanted, journal=journal, say=say, show=show)
            running.resume()
            running.run(workers)
        summary = running.summary()
        told = running.reckoning
        cases = of_campaign(entries, running.rows, told, why=running.broken)
        journal.conclude(summary, junit(cases, began=began))
    except NotARun as error:
        raise click.UsageError(str(error)) from error
    except Gone as error:
        output.story(f"lantern: {error}")
        if as_json:
            output.json({"outcome": Outcome.HARNESS_FAILURE, "error": str(error)})
        return Outcome.HARNESS_FAILURE
    finally:
        journal.close()
    if as_json:
        output.json({"runs": [msgspec.to_builtins(row) for row in running.rows], "summary": summary})
    else:
        planted = planted_in(entries)
        output.result(table(running.rows, summary, planted, unexpected=running.unexpected))
    if running.interrupted or running.broken is not None:
        output.story(f"to go on: {program.line('campaign', '--resume', str(place))}")
    _show(output, running, cases, judged=JUDGED if resume is None else None)
    return told.outcome


def _show(
    output: Output, running: Campaign, cases: Sequence[Case], *, judged: Mapping[str, Any] | None
) -> None:
    """Tell a CI server, and write the reports of what failed: as many as a person looks at."""
    failed = [Path(row.run) for row in running.rows if row.run and row.counted is not Outcome.PASS]
    for path in () if running.interrupted else failed[:REPORTS_MAX]:
        write_report(output, path, verdict=judged)
    unexpected = tuple(lines(running.unexpected))
    publish(running.reckoning.outcome, cases, unexpected=unexpected, say=output.story)


def _within(first_seed: int, seeds: int | None) -> None:
    try:
        fits(first_seed, seeds)
    except ValueError as error:
        raise PlanError(str(error), where="--first-seed") from error


def _read(
    campaign_file: Path | None,
    resume: Path | None,
    *,
    all_of_it: bool,
    swarm: bool,
    on: str | None,
    trust: bool,
) -> Read:
    """Return what is to be run: the file's, the catalog, or what a directory says of itself."""
    if campaign_file is not None and all_of_it:
        raise click.UsageError("say what to run: a campaign file, or --catalog")
    if all_of_it:
        drawn = Drawn.SWARM if swarm else Drawn.AIMED
        matrix = catalog(on=on or Place.SIM, drawn=drawn)
        return Read(matrix=matrix, entries=of_matrix(matrix))
    if campaign_file is not None:
        return from_file(campaign_file, on=on, trust=Trust.TRUSTED if trust else Trust.OWN)
    if resume is None or not os.path.isfile(resume / CAMPAIGN):  # noqa: PTH113 - of any name
        raise click.UsageError("say what to run: a campaign file, --catalog, or --resume of a campaign")
    return from_file(resume / CAMPAIGN, on=on, trust=Trust.TRUSTED if trust else Trust.STRANGER)
