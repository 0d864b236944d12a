"""``lantern heal``: undo what a run left behind that was killed before it could heal itself."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from harness.outcome import Outcome
from harness.report.escape import plain
from harness.store.errors import NotARun
from harness.store.rundir import existing
from targets import catalog
from targets.cluster import TargetError
from targets.host import heal as local
from targets.host.heal import Healed

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .output import Output

ENGINE_SOCKET: Final = Path("/var/run/docker.sock")


@click.command()
@click.option("--run", "run_id", help="Only the run of this name.  [default: every dead run of yours]")
@click.option("--dry-run", "dry", is_flag=True, help="Touch nothing; say what would be done.")
@options.as_json
@click.pass_obj
def heal(output: Output, /, run_id: str | None, *, dry: bool, as_json: bool) -> Outcome:
    """End the nodes and remove the files of runs that were killed; live runs are left alone."""
    containers, unasked = _containers(run_id, dry=dry)
    found = tuple(_live_once((*containers, *_processes(run_id, dry=dry))))
    if run_id is not None and not found and not _recorded(run_id):
        raise click.BadParameter(
            f"there is no run '{plain(run_id)}', neither under way nor recorded here or in"
            f" {options.STORE}/",
            param_hint="--run",
        )
    outcome = Outcome.HARNESS_FAILURE if any(each.failed for each in found) else Outcome.PASS
    notes = [] if unasked is None else [f"containers were not looked for: {unasked}"]
    if as_json:
        runs = [msgspec.to_builtins(each) for each in found]
        output.json({"outcome": outcome, "dry": dry, "runs": runs, "notes": notes})
        return outcome
    output.result(plain(note) for note in notes)
    output.result(line for each in found for line in _lines(each))
    if not found:
        output.result(["nothing to heal" + (" on this host" if unasked else "")])
    return outcome


def _recorded(run: str) -> bool:
    """Tell whether a run of this name left its directory where runs are kept."""
    for place in (Path(run), options.STORE / run):
        try:
            existing(place)
        except NotARun:
            continue
        return True
    return False


def _containers(run_id: str | None, *, dry: bool) -> tuple[tuple[Healed, ...], str | None]:
    """Heal what is at the Docker engine, where there is one; a run's directory goes after that.

    Also returns why nobody could be asked.
    """
    if not ENGINE_SOCKET.exists() and "DOCKER_HOST" not in os.environ:
        return (), None
    from targets.docker.engine import EngineAbsentError  # noqa: PLC0415 - half a second

    async def isolated(healer: str) -> tuple[Healed, ...]:
        try:
            return await catalog.heal(healer, run_id, dry=dry)
        except EngineAbsentError as error:
            absent.append(str(error))
            return ()
        except Exception as error:  # noqa: BLE001 - whatever one healer meets, the others are heard
            return (_broken(healer, error),)

    async def all_of_them() -> tuple[Healed, ...]:
        return tuple([healed for healer in catalog.HEALERS for healed in await isolated(healer)])

    absent: list[str] = []
    return asyncio.run(all_of_them()), next(iter(absent), None)


def _processes(run_id: str | None, *, dry: bool) -> tuple[Healed, ...]:
    """Heal what is on this host."""
    try:
        return local.heal(run_id, dry=dry)
    except Exception as error:  # noqa: BLE001 - as above
        return (_broken("nodes of this host", error),)


def _live_once(found: Iterable[Healed]) -> Iterator[Healed]:
    """Yield what was found, and a live run once: whoever looks tells of it, and leaves it alone."""
    live: set[str] = set()
    for each in found:
        directory = Path(each.path).name
        if not each.live or directory not in live:
            yield each
        if each.live:
            live.add(directory)


def _broken(whose: str, error: Exception) -> Healed:
    said = str(error) if isinstance(error, TargetError) else f"{type(error).__name__}: {error}"
    return Healed(whose, None, live=False, failed=(said,))


def _lines(healed: Healed) -> Iterator[str]:
    name = plain(healed.run or healed.path)
    if healed.live:
        yield f"{name}: still running, left alone"
    for done in healed.done:
        yield f"{name}: {plain(done)}"
    for failed in healed.failed:
        yield f"{name}: NOT HEALED: {plain(failed)}"
