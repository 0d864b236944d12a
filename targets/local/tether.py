"""Tie a program to the life of its parent, then become it: ``-m targets.local.tether PID COMMAND...``.

The kernel kills a process whose parent has died if that process has asked for it. Ours ask by
themselves; for any other program this asks and then executes it, under the same pid. A parent that died
before the kernel was asked is noticed by its pid.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from targets.host.lifeline import die_with

EXIT_ORPHAN: Final = 77
EXIT_NO_PROGRAM: Final = 127


def tethered(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that runs ``command`` and dies with this process."""
    return (sys.executable, "-P", "-m", "targets.local.tether", str(os.getpid()), *command)


def main(arguments: list[str]) -> int:
    """Become the program; return why not."""
    parent_pid, *command = arguments
    if not die_with(int(parent_pid)):
        return EXIT_ORPHAN
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        print(f"{command[0]} cannot be run: {error.strerror}", file=sys.stderr)  # noqa: T201
        return EXIT_NO_PROGRAM


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
