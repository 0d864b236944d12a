"""A worker whose campaign is gone before it listens ends, and says nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from harness.campaign.workers import work_for

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, mp_context=context, initializer=work_for, initargs=(1,))
    print(type(pool.submit(int).exception(timeout=30)).__name__)
"""


def test_a_worker_without_its_campaign_ends_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(POOL)
    done = subprocess.run(
        [sys.executable, "-P", str(tmp_path / "pool.py")], capture_output=True, check=True, text=True
    )
    assert (done.stdout, done.stderr) == ("BrokenProcessPool\n", "")
