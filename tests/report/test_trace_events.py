"""The trace: what Perfetto needs of it to be drawn, and every interval in it."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from report_drawn import drawn

from harness.report.trace import trace_of


def events() -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(trace_of(drawn()))["traceEvents"]
    return told


def test_operations_bands_and_faults_are_slices_with_names_and_places() -> None:
    named = {(e["name"], e["pid"]): e["args"]["name"] for e in events() if e["name"] == "process_name"}
    assert sorted(named.values()) == ["clients", "faults", "n1", "n2"]
    told = [(e["pid"], e["name"], e["ts"], e.get("dur")) for e in events() if e["ph"] in {"X", "B"}]
    assert told == [
        (1, "write 1", 30_000.0, 2_000.0),
        (1, "write 2", 95_000.0, 5_000.0),
        (1, "write 3", 110_000.0, None),
        (1, "read -> 1", 126_000.0, 5_000.0),
        (10, "term 1", 12_000.0, 138_000.0),
        (10, "lease, term 1", 20_000.0, 120_000.0),
        (10, "silence to n2, term 2", 170_000.0, 0.0),
        (11, "term 2", 82_000.0, 98_000.0),
        (11, "lease, term 2", 90_000.0, 90_000.0),
        (11, "silence to n1, term 1", 20_000.0, 150_000.0),
        (2, "pause n1", 75_000.0, 45_000.0),
    ]
    assert sum(e["ph"] == "i" for e in events()) >= 6


def test_slices_of_one_thread_never_cross() -> None:
    by_thread: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for each in events():
        if each["ph"] == "X":
            by_thread[each["pid"], each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
    for spans in by_thread.values():
        for a, b in spans:
            assert not any(a < c < b < d for c, d in spans)
