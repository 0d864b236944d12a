"""What tests of several parts share.

Under CI=true nothing is skipped: `.ci/run` has installed and started what tests need, or has failed, and
a skip is then a failure with the same reason. Only what CI cannot have may be missing there.
"""

from __future__ import annotations

import gc
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

ENGINE_S = 10.0
CI = os.environ.get("CI") == "true"
NOT_IN_CI = "LANTERN_HISTORIES"
"""Public histories are not ours to hand on; what lacks them says how to get them."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Have a skip fail under CI."""
    report = yield
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if NOT_IN_CI not in reason:
            report.outcome = "failed"
            report.longrepr = f"not to be skipped under CI=true: {reason}"
    return report


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker engine that answers, on this host, to root; else the reason why a test is skipped."""
    reason = _no_engine()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def compose() -> list[str]:
    """The command of compose, v2 or 1.29."""
    for command in (["docker", "compose"], ["docker-compose"]):
        try:
            subprocess.run([*command, "version"], check=True, capture_output=True, timeout=20)
        except (OSError, subprocess.SubprocessError):
            continue
        return command
    pytest.skip("neither compose v2 nor docker-compose is installed: .ci/engine.sh installs one")


def _no_engine() -> str | None:
    if os.geteuid() != 0:
        return "containers are cut and signalled from outside, which needs root"
    try:
        subprocess.run(["docker", "info"], capture_output=True, check=True, timeout=ENGINE_S)
    except (OSError, subprocess.SubprocessError) as error:
        return f"no Docker engine answers ({type(error).__name__}): .ci/engine.sh starts one"
    return None


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory whose path leaves room for that of a socket, as a worker's of pytest may not."""
    with tempfile.TemporaryDirectory(prefix="l") as place:
        yield Path(place)


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
