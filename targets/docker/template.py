"""The compose file, read as a template of containers. Pure: YAML in, values out.

`docker-compose.yml` is the one definition of a containerized cluster: `docker compose up` serves a
person and the harness reads the same file. Only what is understood here is accepted; any other key is
refused by name, because a line that compose obeys and the harness ignores would make two different
clusters of one file. What the harness sets itself (names, labels, the network, host ports, its mounts)
is not read.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import msgspec
import yaml

import targets
from targets.cluster import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME: Final = "docker-compose.yml"

LOG_DRIVER: Final = "json-file"
LOG_OPTIONS: Final = {"max-size": "10m", "max-file": "2"}
"""The engine cuts a log while the node writes it: what is kept of one never has more than that."""


class TemplateError(TargetError):
    """The compose file says something that the harness cannot make; names the service and the key."""


class Volume(msgspec.Struct, frozen=True):
    """A named volume of a node and where it is mounted."""

    name: str
    mount: str


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """One service of the file: one node."""

    name: str
    image: str
    dockerfile: str | None = None
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    environment: dict[str, str] = {}
    ports: tuple[int, ...] = ()
    volumes: tuple[Volume, ...] = ()
    cap_drop: tuple[str, ...] = ()
    cap_add: tuple[str, ...] = ()
    security_opt: tuple[str, ...] = ()
    read_only: bool = False
    tmpfs: tuple[str, ...] = ()
    memory_bytes: int | None = None
    pids_limit: int | None = None
    log_driver: str = LOG_DRIVER
    log_options: dict[str, str] = msgspec.field(default_factory=LOG_OPTIONS.copy)


def compose_file() -> Path:
    """Return our compose file: beside the packages in a repository, inside them in a wheel."""
    beside = Path(targets.__file__).resolve().parent.parent / NAME
    return beside if beside.exists() else Path(__file__).parent / NAME


def parse(text: str) -> dict[str, Service]:
    """Return the services of a compose file, in the file's order."""
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise TemplateError(f"the compose file is not YAML: {error}") from error
    services = read.get("services") if isinstance(read, dict) else None
    if not isinstance(services, dict) or not services:
        raise TemplateError("the compose file has no services")
    return {name: _service(str(name), said) for name, said in services.items()}


def _service(name: str, said: Any) -> Service:
    if not isinstance(said, dict):
        raise TemplateError(f"service {name}: not a mapping")
    fields: dict[str, Any] = {"name": name}
    for key, value in said.items():
        if key in _COMPOSE_ONLY:
            continue
        reader = _READERS.get(key)
        if reader is None:
            raise TemplateError(f"service {name}: {key!r} is not understood; the harness would drop it")
        try:
            fields |= reader(name, key, value)
        except (TypeError, ValueError, AttributeError) as error:  # another kind of value than is read
            raise TemplateError(f"service {name}: {key} {value!r:.80} is not understood") from error
    if "image" not in fields:
        raise TemplateError(f"service {name}: no image is named")
    try:
        return msgspec.convert(fields, Service, from_attributes=True)
    except msgspec.ValidationError as error:
        raise TemplateError(f"service {name}: {error}") from error


def _plain(_name: str, key: str, value: Any) -> dict[str, Any]:
    return {key: value}


def _word_list(name: str, key: str, value: Any) -> dict[str, Any]:
    return {key: _words(name, key, value)}


def _build(name: str, _key: str, value: Any) -> dict[str, Any]:
    return {"dockerfile": _dockerfile(name, value)}


def _environment(name: str, key: str, value: Any) -> dict[str, Any]:
    return {"environment": _pairs(name, key, value)}


def _ports(name: str, _key: str, value: Any) -> dict[str, Any]:
    return {"ports": tuple(_container_port(name, one) for one in value)}


def _volumes(name: str, _key: str, value: Any) -> dict[str, Any]:
    return {"volumes": tuple(_volume(name, one) for one in value)}


def _memory(name: str, _key: str, value: Any) -> dict[str, Any]:
    return {"memory_bytes": _size(name, value)}


def _logging(name: str, key: str, value: Any) -> dict[str, Any]:
    driver, options = value.get("driver", LOG_DRIVER), _pairs(name, key, value.get("options", {}))
    if driver == LOG_DRIVER and "max-size" not in options:
        raise TemplateError(f"service {name}: {key} has no max-size: one node could fill the disk")
    return {"log_driver": driver, "log_options": options}


# Said to compose alone: who waits for what at a person's terminal, and which network; ours has its own.
# A run asks the nodes itself whether they are well, and turns the engine's own check off.
_COMPOSE_ONLY: Final = frozenset(
    {"networks", "restart", "stop_grace_period", "depends_on", "healthcheck"}
)

_READERS: Final[Mapping[str, Callable[[str, str, Any], dict[str, Any]]]] = {
    "build": _build,
    "cap_add": _word_list,
    "cap_drop": _word_list,
    "command": _word_list,
    "entrypoint": _word_list,
    "environment": _environment,
    "image": _plain,
    "logging": _logging,
    "mem_limit": _memory,
    "pids_limit": _plain,
    "ports": _ports,
    "read_only": _plain,
    "security_opt": _word_list,
    "tmpfs": _word_list,
    "volumes": _volumes,
}


def _dockerfile(name: str, value: Any) -> str:
    """Return the Dockerfile's path inside the context, which is the folder of the compose file."""
    match value:
        case {"context": ".", "dockerfile": str(path)} if not PurePosixPath(path).is_absolute():
            return path
        case _:
            raise TemplateError(f"service {name}: build must be {{context: ., dockerfile: PATH}}")


def _words(name: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TemplateError(f"service {name}: {key} must be a list; a string would go through a shell")
    return tuple(str(one) for one in value)


def _pairs(name: str, key: str, value: Any) -> dict[str, str]:
    match value:
        case dict():
            return {str(k): str(v) for k, v in value.items()}
        case list():
            return dict(str(one).split("=", 1) for one in value)
        case _:
            raise TemplateError(f"service {name}: {key} must be a mapping or a list of NAME=VALUE")


def _container_port(name: str, value: Any) -> int:
    found = re.fullmatch(r"(?:.*:)?(\d+)(?:/tcp)?", str(value))
    if found is None:
        raise TemplateError(f"service {name}: port {value!r} is not understood")
    return int(found[1])


def _volume(name: str, value: Any) -> Volume:
    found = re.fullmatch(r"([A-Za-z0-9][\w.-]*):(/[^:]*)", str(value))
    if found is None:
        raise TemplateError(
            f"service {name}: volume {value!r} is not NAME:/PATH; no host path is mounted"
        )
    return Volume(found[1], found[2])


def _size(name: str, value: Any) -> int:
    found = re.fullmatch(r"(\d+)([kmg]?)b?", str(value).lower())
    if found is None:
        raise TemplateError(f"service {name}: size {value!r} is not understood")
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2]]
