"""The command line as a user runs it: a process of its own, with its streams and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pathlib import Path

START = "from harness.cli.main import entry\nentry()\n"


class Lantern(Protocol):
    """Run ``lantern ARGUMENTS``; ``patch`` is Python that is executed first, to break something."""

    def __call__(
        self,
        *arguments: str,
        patch: str = "",
        env: dict[str, str] | None = None,
        data: bytes | None = None,
    ) -> subprocess.CompletedProcess[bytes]: ...


@pytest.fixture
def lantern(tmp_path: Path) -> Lantern:
    def run(
        *arguments: str, patch: str = "", env: dict[str, str] | None = None, data: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-P", "-c", patch + "\n" + START, *arguments],
            cwd=tmp_path,
            env={**os.environ, **(env or {}), "TMPDIR": str(tmp_path)},
            input=data,
            capture_output=True,
            timeout=50,
            check=False,
        )

    return run
