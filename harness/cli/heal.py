"""``lantern heal``: undo what a run left behind that was killed before it could heal itself."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.outcome import Outcome
from harness.report.escape import plain
from targets.local import heal as local
from targets.local.heal import Healed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from .output import Output

ENGINE_SOCKET: Final = Path("/var/run/docker.sock")


@click.command()
@click.option("--run", "run_id", help="Only the run of this name.  [default: every dead run of yours]")
@click.pass_obj
def heal(output: Output, /, run_id: str | None) -> Outcome:
    """End the nodes and remove the files of runs that were killed; live runs are left alone."""
    found = (*_containers(output, run_id), *_processes(run_id))
    output.result(line for each in found for line in _lines(each))
    if not found:
        output.result(["nothing to heal"])
    return Outcome.HARNESS_FAILURE if any(each.failed for each in found) else Outcome.PASS


def _containers(output: Output, run_id: str | None) -> tuple[Healed, ...]:
    """Heal what is at the Docker engine, where there is one; a run's directory goes after that."""
    if not ENGINE_SOCKET.exists() and "DOCKER_HOST" not in os.environ:
        return ()
    from targets.attach import record  # noqa: PLC0415 - half a second
    from targets.docker import heal as containers  # noqa: PLC0415
    from targets.docker.engine import EngineAbsentError  # noqa: PLC0415

    async def isolated(whose: str, healing: Awaitable[tuple[Healed, ...]]) -> tuple[Healed, ...]:
        try:
            return await healing
        except EngineAbsentError as error:
            absent.append(str(error))
            return ()
        except Exception as error:  # noqa: BLE001 - whatever one healer meets, the others are heard
            return (_broken(whose, error),)

    async def both() -> tuple[Healed, ...]:
        made = await isolated("containers", containers.heal(run_id))
        return (*made, *await isolated("attached clusters", record.heal(run_id)))

    absent: list[str] = []
    healed = asyncio.run(both())
    if absent:
        output.result([f"containers were not looked for: {plain(absent[0])}"])
    return healed


def _processes(run_id: str | None) -> tuple[Healed, ...]:
    """Heal what is on this host."""
    try:
        return local.heal(run_id)
    except Exception as error:  # noqa: BLE001 - as above
        return (_broken("nodes of this host", error),)


def _broken(whose: str, error: Exception) -> Healed:
    return Healed(whose, None, live=False, failed=(f"{type(error).__name__}: {error}",))


def _lines(healed: Healed) -> Iterator[str]:
    name = plain(healed.run or healed.path)
    if healed.live:
        yield f"{name}: still running, left alone"
    for done in healed.done:
        yield f"{name}: {plain(done)}"
    for failed in healed.failed:
        yield f"{name}: NOT HEALED: {plain(failed)}"
