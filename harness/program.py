"""How this program was called, so that a command it prints can be typed as it stands."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

NAME: Final = "lantern"


def command(argument_0: str | None = None) -> str:
    """Return ``lantern`` where a shell finds this one, else the path it was started by."""
    started = Path(sys.argv[0] if argument_0 is None else argument_0)
    found = shutil.which(NAME)
    if started.name != NAME or (found is not None and _same(Path(found), started)):
        return NAME
    return str(started)


def replaying(run: str) -> str:
    """Return the command that runs a saved run once more."""
    return shlex.join([command(), "replay", run])


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
