"""Finding somebody's running containers: by their names, or by the compose file they were made from."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import docker.errors
import msgspec

from targets.cluster import TargetError

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
    except (docker.errors.APIError, docker.errors.NullResource) as error:
        raise TargetError(f"{', '.join(map(repr, names))} cannot be looked up: {error}") from error
    for one, other in combinations(found, 2):
        if one.id == other.id:
            raise TargetError(f"{one.name} and {other.name} are the same container: name each once")
    return found


async def by_compose(engine: Engine, file: Path) -> tuple[Found, ...]:
    """Return one container a service of the project that was made from this compose file, by name."""
    folders = {str(file.parent.resolve()), str(file.parent.absolute())}

    def look(client: Client) -> list[dict[str, Any]]:
        return list(client.api.containers(all=True, filters={"label": CONFIG_FILES}))

    made = [
        one["Labels"] | {"id": one["Id"], "name": one["Names"][0].lstrip("/")}
        for one in await engine.call("look the project up", look)
        if one["Labels"].get(WORKING_DIR) in folders
        and one["Labels"].get(ONE_OFF) != "True"
        and file.name in map(_base_name, one["Labels"][CONFIG_FILES].split(","))
    ]
    if not made:
        raise TargetError(f"nothing was started from {file}: run `docker compose up -d` there first")
    projects = sorted({one.get(PROJECT, "") for one in made})
    if len(projects) > 1:
        raise TargetError(
            f"{file} runs as the projects {' and '.join(projects)}; name the containers of one instead"
        )
    found = sorted((one[SERVICE], one["name"], one["id"]) for one in made)
    for (service, first, _), (other, second, _) in pairwise(found):
        if service == other:
            raise TargetError(
                f"service {service} of {file} has the containers {first} and {second}; name the"
                " containers to test instead"
            )
    return tuple(Found(container, service) for service, _, container in found)


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]
