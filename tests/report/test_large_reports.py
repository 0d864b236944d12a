"""Reports of long runs: how large they become, and how long they take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from report_runs import copy_of, simulated

from harness.report.html import render

if TYPE_CHECKING:
    from pathlib import Path

SIZE_MAX_BYTES = 5_000_000
LONG_S = 10.0


def lengthened(run_dir: Path, operations: int) -> None:
    """Give a run a history of so many operations, around those that it had."""
    head = (run_dir / "history.jsonl").read_bytes().partition(b"\n")[0]
    invoke = (
        b'{"index":%d,"time_ns":%d,"process":%d,"type":"invoke","f":"%s","key":"k%d","value":%s,'
        b'"node":"n1"}\n'
    )
    ok = (
        b'{"index":%d,"time_ns":%d,"process":%d,"type":"ok","f":"%s","key":"k%d","value":%d,"node":"n1",'
        b'"evidence":{"path":"lease","term":1,"lease_remaining_ns":900,"read_index":7,"applied_index":7}}\n'
    )
    with (run_dir / "history.jsonl").open("wb") as file:
        file.write(head + b"\n")
        for n in range(operations):
            f, asked = (b"write", b"%d" % n) if n % 4 == 0 else (b"read", b"null")
            call_ns = 1_000_000_000 + n * 20_000
            file.write(invoke % (2 * n, call_ns, n % 12, f, n // 300, asked))
            file.write(ok % (2 * n + 1, call_ns + 9_000, n % 12, f, n // 300, n))


@pytest.mark.parametrize(
    ("operations", "bound_s"),
    [(100_000, LONG_S), pytest.param(1_000_000, LONG_S, marks=pytest.mark.soak)],
)
def test_a_long_history_gives_a_small_report_in_time(
    operations: int, bound_s: float, tmp_path: Path
) -> None:
    run_dir = copy_of(simulated("vote-ignores-promise"), tmp_path)
    lengthened(run_dir, operations)
    began_s = time.process_time()
    html = render(run_dir)
    assert time.process_time() - began_s < bound_s
    assert len(html) < SIZE_MAX_BYTES
    assert str(operations // 4).encode() in html
