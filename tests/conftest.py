"""What tests of several parts share."""

from __future__ import annotations

import os
import subprocess

import pytest

ENGINE_S = 10.0


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker engine that answers, on this host, to root; else the reason why a test is skipped."""
    if os.geteuid() != 0:
        pytest.skip("containers are cut and signalled from outside, which needs root")
    try:
        subprocess.run(["docker", "info"], capture_output=True, check=True, timeout=ENGINE_S)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no Docker engine answers ({type(error).__name__}): .ci/engine.sh starts one")
