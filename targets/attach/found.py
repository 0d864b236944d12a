"""Finding somebody's running containers: by their names, by the compose file they are of, or by both."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import docker.errors
import msgspec

from targets.cluster import TargetError
from targets.docker.engine import EngineRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from targets.docker.engine import Client, Engine

WORKING_DIR = "com.docker.compose.project.working_dir"
CONFIG_FILES = "com.docker.compose.project.config_files"
ONE_OFF = "com.docker.compose.oneoff"
PROJECT = "com.docker.compose.project"
SERVICE = "com.docker.compose.service"


class Found(msgspec.Struct, frozen=True):
    """A container of somebody's: its id, and the name a person knows it by."""

    id: str
    name: str


async def by_name(engine: Engine, names: Sequence[str]) -> tuple[Found, ...]:
    """Return the containers of these names, in this order."""

    def look(client: Client) -> tuple[Found, ...]:
        return tuple(Found(client.api.inspect_container(name)["Id"], name) for name in names)

    try:
        found = await engine.call("look the containers up", look)
    except docker.errors.NotFound as error:
        raise TargetError(f"there is no such container: {error.explanation}") from error
    except (EngineRefusedError, docker.errors.NullResource) as error:
        raise TargetError(f"{', '.join(map(repr, names))} cannot be looked up: {error}") from error
    _each_once(found)
    return found


async def by_compose(engine: Engine, file: Path, names: Sequence[str] = ()) -> tuple[Found, ...]:
    """Return containers of the project that was made from this compose file, known by their services.

    ``names`` are services or containers of it, and keep their order; without any, one container a
    service is meant, in the order of the services' names.
    """
    folders = {str(file.parent.resolve()), str(file.parent.absolute())}

    def look(client: Client) -> list[dict[str, Any]]:
        return list(client.api.containers(all=True, filters={"label": CONFIG_FILES}))

    made = [
        _Made(
            service=one["Labels"][SERVICE],
            name=one["Names"][0].lstrip("/"),
            id=one["Id"],
            project=one["Labels"].get(PROJECT, ""),
        )
        for one in await engine.call("look the project up", look)
        if one["Labels"].get(WORKING_DIR) in folders
        and one["Labels"].get(ONE_OFF) != "True"
        and file.name in map(_base_name, one["Labels"][CONFIG_FILES].split(","))
    ]
    if not made:
        raise TargetError(f"nothing was started from {file}: run `docker compose up -d` there first")
    meant = [one for one in made if not names or one.name in names or one.service in names]
    projects = sorted({one.project for one in meant})
    if len(projects) > 1:
        raise TargetError(
            f"{file} runs as the projects {' and '.join(projects)}; name the containers of one under"
            " `containers` in a plan"
        )
    found = tuple(_meant(meant, name, file) for name in names or sorted({one.service for one in made}))
    _each_once(found)
    return found


class _Made(msgspec.Struct, frozen=True):
    """A container that compose made."""

    service: str
    name: str
    id: str
    project: str


def _meant(made: Sequence[_Made], name: str, file: Path) -> Found:
    """Return the one container that ``name`` means, of a service or of its own."""
    named = [one for one in made if name == one.name]
    several = named or sorted((one for one in made if name == one.service), key=lambda one: one.name)
    match several:
        case [one]:
            return Found(one.id, one.name if named else one.service)
        case []:
            raise TargetError(f"{name} is no service of {file} that was started, nor a container of one")
        case _:
            names = " and ".join(one.name for one in several)
            raise TargetError(
                f"service {name} of {file} has the containers {names};"
                " name those to test under `containers` in a plan"
            )


def _each_once(found: Sequence[Found]) -> None:
    for one, other in combinations(found, 2):
        if one.id == other.id:
            raise TargetError(f"{one.name} and {other.name} are the same container: name each once")


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]
