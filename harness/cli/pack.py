"""``lantern pack`` and ``lantern unpack``: a run in one file, to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from harness import program
from harness.outcome import Outcome
from harness.report.escape import plain, whole
from harness.store import environment, rundir
from harness.store.errors import NotARun, StoreError
from harness.store.files import read_bounded
from harness.store.pack import pack as pack_run
from harness.store.packing import MANIFEST_MAX_BYTES, SUFFIX
from harness.store.unpack import unpack as unpack_run

from . import options

if TYPE_CHECKING:
    from .output import Output


@click.command()
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@options.as_json
@click.pass_obj
def pack(output: Output, /, run_dir: Path, *, file: Path | None, as_json: bool) -> Outcome:
    """Write the run in RUN_DIR into one FILE, to hand on: <run>.lantern.zip where none is named.

    It holds plan, schedule, history, evidence, metrics, verdict, the ends of the logs, and the versions
    of what it ran on; no reports, which are made again, and nothing of the nodes' disks.
    """
    try:
        run = rundir.existing(run_dir)
        file = file or Path(run.path.resolve().name + SUFFIX)
        manifest = pack_run(run, file, environment=environment.encoded("pack"))
    except NotARun as error:
        raise click.UsageError(str(error)) from error
    size = file.stat().st_size
    if as_json:
        output.json(
            {
                "outcome": Outcome.PASS.value,
                "file": str(file),
                "bytes": size,
                "files": msgspec.to_builtins(manifest.files),
                "left_out": manifest.left_out,
            }
        )
    else:
        output.result(
            [
                f"{plain(file)}: {len(manifest.files)} files in {size} bytes",
                *(f"left out: {plain(each)}" for each in manifest.left_out),
            ]
        )
    return Outcome.PASS


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@options.as_json
@click.pass_obj
def unpack(output: Output, /, file: Path, *, directory: Path | None, as_json: bool) -> Outcome:
    """Make a run directory, DIR or runs/<run>, of a pack that anybody may have made.

    The whole run is there afterwards, or nothing is. What a pack does not hold (paths out, links, code,
    too much) is refused, and nothing in it is acted on: see --trust of run, replay and shrink.
    """
    try:
        path, manifest = unpack_run(file, store=options.STORE, out=directory)
        ran_on = _ran_on(path)
    except NotARun as error:
        raise click.UsageError(str(error)) from error
    again = program.replaying(str(path))
    judge = program.judging(str(path))
    if as_json:
        output.json(
            {
                "outcome": Outcome.PASS.value,
                "run": str(path),
                "files": msgspec.to_builtins(manifest.files),
                "left_out": manifest.left_out,
                "environment": None if ran_on is None else msgspec.to_builtins(ran_on),
                "verdict": _verdict(path),
                "check": judge,
                "replay": again,
            }
        )
    else:
        output.result(
            [
                f"{plain(path)}: {len(manifest.files)} files",
                *(f"not in the pack: {plain(each)}" for each in manifest.left_out),
                "it does not say what it ran on" if ran_on is None else _told(ran_on),
                f"verdict, the sender's word and not judged here: {plain(_verdict(path) or 'none')}",
                f"check:  {whole(judge)}",
                f"replay: {whole(again)}",
            ]
        )
    return Outcome.PASS


def _verdict(path: Path) -> str | None:
    """Return the outcome that the sender says it had, None if nothing says one."""
    try:
        outcome = rundir.RunDir(path).read_verdict().get("outcome")
    except StoreError:
        return None
    return outcome if isinstance(outcome, str) else None


def _ran_on(path: Path) -> environment.Environment | None:
    """Return what the pack says it ran on, None if it says nothing that can be read."""
    try:
        data = read_bounded(rundir.RunDir(path).environment, bytes_max=MANIFEST_MAX_BYTES)
        return msgspec.json.decode(data, type=environment.Environment)
    except (NotARun, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _told(ran_on: environment.Environment) -> str:
    how = "ran on" if ran_on.recorded == "run" else "packed with"
    return f"{how} {plain(ran_on)}"
