"""One node as an operating-system process: start, freeze, thaw, kill.

The parent of a node is the thread that started it: when that ends, the kernel kills the node. So start
nodes from the thread the harness lives in. A node has a session of its own, so that Ctrl-C reaches the
harness alone, and an environment in which nothing of the user's is left that could change how it runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import targets
from targets.cluster import ProcessState, TargetError
from targets.host import procfs
from targets.host.until import until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STOP_S: Final = 2.0
REAP_S: Final = 10.0
MODE: Final = 0o644
UMASK: Final = 0o022  # the user's own would decide who can read what a node leaves

_ROOT: Final = Path(targets.__file__).resolve().parent.parent


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return a node's environment; our own packages come first, whatever a working directory holds."""
    return {
        "LC_ALL": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONPATH": str(_ROOT),
        "PYTHONNOUSERSITE": "1",
        **extra,
    }


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module of ours, with no working directory on its path."""
    return (sys.executable, "-P", "-m", module, *arguments)


class NodeProcess:
    """A child that has been started; it stays a zombie, its pid its own, until `kill` reaps it."""

    def __init__(
        self, name: str, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path
    ) -> None:
        self.name = name
        with log.open("ab") as story:
            os.fchmod(story.fileno(), MODE)
            try:
                self._child = subprocess.Popen(  # noqa: S603 - a system's own command, no shell
                    command,
                    env=dict(env),
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=story,
                    stderr=story,
                    start_new_session=True,
                    umask=UMASK,
                )
            except OSError as error:
                sentence = f"{name} cannot be started: {command[0]}: {error.strerror}"
                raise TargetError(sentence) from error
        found = procfs.identity(self._child.pid)
        assert found is not None, "a child that was not reaped is always there"
        self.identity = found

    @property
    def exit_code(self) -> int | None:
        """Return how it ended (negative: by which signal), None while it lives."""
        return self._child.poll()

    def state(self) -> ProcessState:
        """Return what the kernel says of it now."""
        return procfs.state(self.identity)

    async def pause(self) -> None:
        """Stop it; return once every thread is stopped."""
        procfs.send(self.identity, signal.SIGSTOP)
        await until(ProcessState.STOPPED, self.state, name=self.name, verb="stop", within_s=STOP_S)

    def resume(self) -> None:
        """Let it go on; nothing if it runs or is gone."""
        procfs.send(self.identity, signal.SIGCONT)

    async def kill(self) -> None:
        """End it, stopped or not, and reap it."""
        procfs.send(self.identity, signal.SIGKILL)
        await until(ProcessState.GONE, self.state, name=self.name, verb="die", within_s=REAP_S)
        self._child.wait()
