"""What tests of several parts share."""

from __future__ import annotations

import os
import subprocess

import pytest

ENGINE_S = 10.0


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker engine that answers, on this host, to root; else the reason why a test is skipped.

    Under CI=true nothing is skipped for want of an engine: `.ci/run` has started one, or has failed.
    """
    reason = _no_engine()
    if reason is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


def _no_engine() -> str | None:
    if os.geteuid() != 0:
        return "containers are cut and signalled from outside, which needs root"
    try:
        subprocess.run(["docker", "info"], capture_output=True, check=True, timeout=ENGINE_S)
    except (OSError, subprocess.SubprocessError) as error:
        return f"no Docker engine answers ({type(error).__name__}): .ci/engine.sh starts one"
    return None
