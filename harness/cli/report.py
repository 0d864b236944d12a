"""``lantern report``: a run directory told to a person, as one HTML file, or as a trace for Perfetto.

A report is made from what lies in the directory, whatever became of the run. `write_report` is what
other verbs end with: what goes wrong in it is said, and changes nothing of how they end.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from harness.bugs import recorded
from harness.outcome import Outcome
from harness.report.escape import plain
from harness.store.errors import NotARun, StoreError
from harness.store.rundir import RunDir

from . import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .output import Output


JUDGED: Final[Mapping[str, Any]] = MappingProxyType({})


@click.command()
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.option(
    "--trace",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a trace in the format of Chrome and Perfetto instead, as a new FILE.",
)
@options.as_json
@click.pass_obj
def report(output: Output, /, run_dir: Path, *, trace: Path | None, as_json: bool) -> Outcome:
    """Write report.html into RUN_DIR: the verdict, the proof as a picture, and the whole run.

    The file needs nothing else, neither a server nor the network. A trace is for ui.perfetto.dev, which
    opens it in the browser: operations by process, and leases, promises and faults by node.
    """
    from harness.report.html import write  # noqa: PLC0415 - only who writes one waits for its libraries
    from harness.report.trace import write as write_trace  # noqa: PLC0415

    if trace is not None and os.path.lexists(trace):
        raise click.UsageError(f"{trace} is there already; nothing was written")
    try:
        path = write(run_dir) if trace is None else write_trace(run_dir, trace)
    except NotARun as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        size = path.stat().st_size
        ended = _newest(run_dir, {}).get("outcome")
        output.json(
            {"outcome": Outcome.PASS.value, "run_outcome": ended, "file": str(path), "bytes": size}
        )
    else:
        output.result([plain(path, chars_max=4000)])
    return Outcome.PASS


def write_report(
    output: Output, directory: Path, *, verdict: Mapping[str, Any] | None = None
) -> Path | None:
    """Write a run's report at the end of another verb; say so where there is none, and return None.

    ``verdict`` is laid over what the run itself said, which may be older: `JUDGED`, which is nothing,
    where it was judged just now. Without one the run is believed, and the report says so.
    """
    try:
        from harness.report.html import write  # noqa: PLC0415 - see above

        return write(directory, verdict=None if verdict is None else _newest(directory, verdict))
    except KeyboardInterrupt:
        output.story("interrupted: there is no report (`lantern report` makes one)")
    except StoreError as error:
        output.story(f"there is no report: {error}")
    except Exception as error:  # noqa: BLE001 - recorded: a report is no verdict and changes none
        output.story(f"there is no report: {recorded(error)}")
    return None


def _newest(directory: Path, verdict: Mapping[str, Any]) -> dict[str, Any]:
    try:
        before = RunDir(directory).read_verdict()
    except NotARun:
        before = {}
    return {**before, **verdict}
