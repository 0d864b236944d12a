"""What tests of several parts share."""

from __future__ import annotations

import gc
import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@pytest.fixture
def collected() -> Iterator[None]:
    """Collect, within the test, what the engine's library leaves of a failed connection.

    The thread that failed holds it for a moment longer than the test that saw it fail.
    """
    yield
    for thread in threading.enumerate():
        if thread.name == "engine-call":
            thread.join(5)
    gc.collect()
