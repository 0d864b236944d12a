"""Finding somebody's running containers: by their names, or by the compose file they were made from."""

from __future__ import annotations

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
        return await engine.call("look the containers up", look)
    except docker.errors.NotFound as error:
        raise TargetError(f"there is no such container: {error.explanation}") from error


async def by_compose(engine: Engine, file: Path) -> tuple[Found, ...]:
    """Return one container a service of the project that was made from this compose file, by name."""

    def look(client: Client) -> list[dict[str, Any]]:
        wanted = {"label": f"{WORKING_DIR}={file.parent.resolve()}"}
        return list(client.api.containers(all=True, filters=wanted))

    made = [
        one
        for one in await engine.call("look the project up", look)
        if any(name.endswith(file.name) for name in one["Labels"].get(CONFIG_FILES, "").split(","))
    ]
    if not made:
        raise TargetError(f"nothing was started from {file}: run `docker compose up -d` there first")
    found = sorted((one["Labels"][SERVICE], one["Id"]) for one in made)
    services = [service for service, _ in found]
    if len(set(services)) < len(services):
        raise TargetError(f"a service of {file} has several containers; name the containers instead")
    return tuple(Found(container, service) for service, container in found)
