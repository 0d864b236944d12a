"""What a run ran on, as far as it can matter to whoever runs it again: ``environment.json``.

Versions, the kernel, and the images of containers by their digests; no names of hosts or of people.
"""

from __future__ import annotations

import os
import platform
import re
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

DISTRIBUTION: Final = "lantern-chaos"
_REQUIRED: Final = re.compile(r"[A-Za-z0-9._-]+")


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """``environment.json``. ``recorded`` is whether the run wrote it itself, or whoever packed it.

    ``images`` are the digests of what nodes in containers ran from, by node.
    """

    schema: Literal[1] = 1
    kind: Literal["lantern-environment"] = "lantern-environment"
    recorded: Literal["run", "pack"]
    lantern: str
    python: str
    kernel: str
    machine: str
    libraries: dict[str, str]
    images: dict[str, str] = {}

    def __str__(self) -> str:
        """Return it in a line."""
        return f"lantern {self.lantern}, Python {self.python}, {self.kernel} {self.machine}"


def encoded(recorded: Literal["run", "pack"], *, images: Mapping[str, str] | None = None) -> bytes:
    """Return the file's bytes for this process, here and now."""
    system = os.uname()
    here = Environment(
        recorded=recorded,
        lantern=_version(DISTRIBUTION) or "unknown",
        python=f"{platform.python_version()} {platform.python_implementation()}",
        kernel=f"{system.sysname} {system.release}",
        machine=system.machine,
        libraries=_libraries(),
        images=dict(images or {}),
    )
    return msgspec.json.format(msgspec.json.encode(here)) + b"\n"


@cache
def _libraries() -> dict[str, str]:
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # run from its sources
        return {}
    names = sorted({found[0].lower() for each in required if (found := _REQUIRED.match(each))})
    versions = {name: _version(name) for name in names}
    return {name: version for name, version in versions.items() if version is not None}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
