"""The command line as a user runs it: a process of its own, with its streams and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

START = "from harness.cli.main import entry\nentry()\n"
RUN_S_MAX = 50.0


class Lantern:
    """Runs ``lantern`` in a directory of its own; what it saves on a failure stays there."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def command(self, *arguments: str, patch: str = "") -> list[str]:
        """Return the command; ``patch`` is Python that is executed first, to break something."""
        return [sys.executable, "-P", "-c", f"{patch}\n{START}", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.place)}

    def __call__(
        self,
        *arguments: str,
        patch: str = "",
        env: dict[str, str] | None = None,
        data: bytes | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*arguments, patch=patch),
            cwd=self.place,
            env={**self.environment, **(env or {})},
            input=data,
            capture_output=True,
            timeout=RUN_S_MAX,
            check=False,
        )

    def shell(self, line: str) -> subprocess.CompletedProcess[bytes]:
        """Run a line of bash in which ``$LANTERN`` is the command."""
        env = {**self.environment, "LANTERN": f"{sys.executable} -P -m harness.cli.main"}
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.place,
            env=env,
            capture_output=True,
            timeout=RUN_S_MAX,
            check=False,
        )
