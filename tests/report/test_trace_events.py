"""The trace: what Perfetto needs of it to be drawn, and every interval in it."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from report_drawn import MS, drawn
from report_runs import simulated

from harness.report.load import load
from harness.report.trace import trace_of

if TYPE_CHECKING:
    from harness.report.load import RunData


def events() -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(trace_of(drawn()))["traceEvents"]
    return told


def started_before_the_run() -> RunData:
    """The drawn run, whose first leader led 40 ms before the origin, and had started before that."""
    run = drawn()
    led = [msgspec.structs.replace(band, start_ns=-40 * MS) for band in run.bands[:1]]
    began = [msgspec.structs.replace(mark, at_ns=-100 * MS - 7) for mark in run.marks[:1]]
    return dataclasses.replace(run, bands=(*led, *run.bands[1:]), marks=(*began, *run.marks[1:]))


@pytest.mark.parametrize("where", ["drawn", "before the origin", "simulated"])
def test_a_trace_is_what_perfetto_takes_whole(where: str) -> None:
    """Among other things nothing is earlier than 0, which its trace processor drops.

    So the first leader's term was missing from the trace of every real run.
    """
    runs = {"drawn": drawn, "before the origin": started_before_the_run}
    run = runs[where]() if where in runs else load(simulated("role-only-read"))
    told = json.loads(trace_of(run))
    assert told["displayTimeUnit"] == "ms"
    named: set[tuple[str, int, int]] = set()
    begun: set[tuple[int, int]] = set()
    for each in told["traceEvents"]:
        place = each["pid"], each["tid"]
        assert all(type(number) is int for number in place)
        assert isinstance(each["name"], str)
        assert each["name"]
        match each["ph"]:
            case "M":
                assert set(each["args"]) == {"name"}
                named.add(
                    (each["name"], each["pid"], 0 if each["name"] == "process_name" else each["tid"])
                )
                continue
            case "X":
                assert each["dur"] >= 0
            case "B":  # nobody saw it end, so nothing comes after it there
                assert place not in begun
                begun.add(place)
            case phase:
                assert (phase, each["s"]) == ("i", "t")
        assert each["ts"] >= 0
        assert ("process_name", each["pid"], 0) in named
    threads = {(each["pid"], each["tid"]) for each in told["traceEvents"] if each["ph"] != "M"}
    assert {("thread_name", *place) for place in threads} <= named


def test_a_trace_that_begins_before_the_run_says_where_the_run_begins() -> None:
    told = json.loads(trace_of(started_before_the_run()))
    assert told["otherData"]["origin_us"] == 100_000.007
    at = {each["name"]: each["ts"] for each in told["traceEvents"] if "ts" in each}
    assert (at["write 1"], at["term 1"]) == (130_000.007, 60_000.007)
    assert min(each["ts"] for each in told["traceEvents"] if "ts" in each) == 0
    assert json.loads(trace_of(drawn()))["otherData"]["origin_us"] == 0


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
        (2, "pause (n1)", 75_000.0, 45_000.0),
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
