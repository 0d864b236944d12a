"""Under CI=true a test that is skipped has failed: what is not tested there is not known to work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = """
import pytest

def test_a():
    pytest.skip({reason!r})

@pytest.mark.skipif(True, reason={reason!r})
def test_b():
    pass
"""


@pytest.mark.parametrize(
    ("ci", "reason", "code"),
    [
        ("true", "no engine answers", 1),
        ("", "no engine answers", 0),
        ("true", "no histories (LANTERN_HISTORIES names the folder)", 0),
    ],
)
def test_a_skip_fails_under_ci(tmp_path: Path, ci: str, reason: str, code: int) -> None:
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(SKIPPED.format(reason=reason))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", tmp_path],
        env={**os.environ, "CI": ci}, capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout
    told = "1 failed, 1 error" if code else "2 skipped"  # a mark skips before the test begins
    assert told in done.stdout
    assert done.stdout.count(reason) >= 2
