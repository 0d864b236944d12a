"""What somebody writes to have their own cluster tested: one Python file with a class ``Client``.

    class Client:
        modes = {"strong": "a quorum confirms every read", "local": "whatever this node has"}
        port = 2379                       # where clients dial a node, inside its container

        def __init__(self, mode): ...
        async def connect(self, host, port): ...      # one connection to one node
        async def close(self): ...
        async def read(self, key): ...                # the value, None if there is none
        async def write(self, key, value): ...
        async def cas(self, key, old, new): ...       # True if swapped, False if the value differed
        async def leading(self): ...                  # (does this node lead, its term or epoch)

Values are small integers; keys are strings. The first mode is the default. An answer of another kind
than is shown here means nothing: the operation is left open, and the run fails. What a method raises
is the whole art: `Definite` if the operation certainly did not happen and never will; anything else
leaves a write open, and a read, which has no effect, fails. In doubt do not say `Definite`. Switch
hidden retries and redirects of a client library off: what may happen twice cannot be judged.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from targets.cluster import TargetError

from .words import in_words

if TYPE_CHECKING:
    from pathlib import Path

METHODS: Final = ("connect", "close", "read", "write", "cas", "leading")

PORTS: Final = range(1, 1 << 16)


class Definite(Exception):  # noqa: N818 - an answer, not a failure
    """The operation certainly did not happen and never will."""


class Client(Protocol):
    """A connection of one process to one node; see the module."""

    modes: dict[str, str]
    port: int

    def __init__(self, mode: str) -> None:
        """Read in this mode."""

    async def connect(self, host: str, port: int) -> None:
        """Dial the node."""

    async def close(self) -> None:
        """Drop the connection."""

    async def read(self, key: str) -> Any:
        """Return the value of a key."""

    async def write(self, key: str, value: Any) -> Any:
        """Set a key."""

    async def cas(self, key: str, old: Any, new: Any) -> bool:
        """Set a key if it has the value ``old``."""

    async def leading(self) -> tuple[bool, int]:
        """Return whether this node leads, and a number that grows with every leader."""


def load(path: Path) -> type[Client]:
    """Return the class ``Client`` of a file; raise `TargetError` naming what it lacks.

    The file is code and is run: only a person's own command line may name one.
    """
    name = f"lantern_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not os.path.isfile(path):  # noqa: PTH113 - false, too, of a name that no file can have
        raise TargetError(f"there is no file {path}")
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is no Python file: its name has to end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is the result's alone
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an exit among them
        raise TargetError(f"{path} cannot be imported: {in_words(error)}") from error
    client = getattr(module, "Client", None)
    if not inspect.isclass(client):
        raise TargetError(f"{path} has no class Client")
    for method in METHODS:
        if not inspect.iscoroutinefunction(getattr(client, method, None)):
            raise TargetError(f"{path}: Client needs `async def {method}`")
    modes = getattr(client, "modes", None)
    if not isinstance(modes, dict) or not modes or not all(map(_is_text, (*modes, *modes.values()))):
        raise TargetError(f"{path}: Client.modes must map each read mode to what it promises, in words")
    port = getattr(client, "port", None)
    if not isinstance(port, int) or port not in PORTS:
        raise TargetError(f"{path}: Client.port must be the number that clients dial")
    return cast("type[Client]", client)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
