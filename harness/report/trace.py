"""A run as trace events, the format of Chrome's tracing that ui.perfetto.dev opens.

Clients are one process of the trace, with a thread for each process of the history; every node is a
process, with a thread for each kind of band; faults are one more. Slices of one thread may nest but not
cross, so what overlaps lies on threads of its own. Times are microseconds on the true clock, from the
origin or from the first event before it: nodes start before the run does, and Perfetto drops what is
earlier than 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.values import shorten, show
from harness.store.files import write_new

from .escape import plain
from .faults import held, over_ns, phrase
from .load import load
from .rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from nemesis.machine.record import Injected

    from .load import RunData
    from .skim import Seen

OPERATIONS_MAX: Final = 200_000
NAME_CHARS_MAX: Final = 120
ROWS_MAX: Final = 50
_CLIENTS: Final = 1
_FAULTS: Final = 2
_FIRST_NODE: Final = 10


def write(directory: Path, path: Path) -> Path:
    """Write a run's trace as a new file; return its path. Raises `StoreError`."""
    run = load(directory, kept_max=OPERATIONS_MAX, stretch_ns=(0, 1 << 62))
    write_new(path, trace_of(run))
    return path


def trace_of(run: RunData) -> bytes:
    """Return the whole trace as JSON."""
    events = [*_names(run), *_operations(run), *_nodes(run), *_faults(run)]
    first_ns = min((0, *(event["ts"] for event in events if "ts" in event)))
    for event in events:
        if "ts" in event:
            event["ts"] = (event["ts"] - first_ns) / 1e3
    about = {
        "run": plain(run.name),
        "outcome": None if run.said is None else run.said.outcome.value,
        "operations": f"{len(run.skimmed.kept)} of {run.skimmed.operations}",
        "origin_us": -first_ns / 1e3,
    }
    return msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms", "otherData": about})


def _names(run: RunData) -> Iterator[dict[str, Any]]:
    yield _meta("process_name", _CLIENTS, 0, "clients")
    yield _meta("process_name", _FAULTS, 0, "faults")
    for number, node in enumerate(run.nodes, start=_FIRST_NODE):
        yield _meta("process_name", number, 0, node)
    for process, thread in _threads(run.skimmed.kept).items():
        yield _meta("thread_name", _CLIENTS, thread, f"p{process}")


def _threads(kept: Sequence[Seen]) -> dict[int | str, int]:
    """Return a thread for each process of the history, numbers first."""
    processes = sorted({each.process for each in kept}, key=lambda each: (isinstance(each, str), each))
    return {process: thread for thread, process in enumerate(processes, start=1)}


def _operations(run: RunData) -> Iterator[dict[str, Any]]:
    threads = _threads(run.skimmed.kept)
    for each in run.skimmed.kept:
        yield {
            **_slice(_CLIENTS, threads[each.process], str(each), each.call_ns, each.return_ns),
            "cat": each.outcome,
            "args": {
                "key": plain(shorten(show(each.key), NAME_CHARS_MAX)),
                "node": plain(each.node or ""),
                "path": plain(each.path),
                "outcome": each.outcome,
                "error": plain(each.error or ""),
                "term": each.term,
            },
        }


def _nodes(run: RunData) -> Iterator[dict[str, Any]]:
    for number, node in enumerate(run.nodes, start=_FIRST_NODE):
        thread = 1
        for kind in dict.fromkeys(band.kind for band in run.bands):
            mine = [band for band in run.bands if band.node == node and band.kind == kind]
            rows = rows_of(((band.start_ns, band.end_ns) for band in mine), rows_max=ROWS_MAX)
            for row in sorted(set(rows)):
                yield _meta("thread_name", number, thread + row, kind)
            for band, row in zip(mine, rows, strict=True):
                yield _slice(number, thread + row, band.text, band.start_ns, band.end_ns)
            thread += max(rows, default=0) + 1
        yield _meta("thread_name", number, thread, "votes and roles")
        for mark in run.marks:
            if mark.node == node:
                name = plain(mark.text, chars_max=NAME_CHARS_MAX)
                yield {
                    "ph": "i",
                    "s": "t",
                    "pid": number,
                    "tid": thread,
                    "ts": mark.at_ns,
                    "name": name,
                }


def _faults(run: RunData) -> Iterator[dict[str, Any]]:
    faults = [(each, each.asked_ns, _end_ns(each, run.end_ns)) for each in held(run.faults)]
    rows = rows_of(((start_ns, end_ns) for _, start_ns, end_ns in faults), rows_max=ROWS_MAX)
    for row in sorted(set(rows)):
        yield _meta("thread_name", _FAULTS, row + 1, "in force")
    for (each, start_ns, end_ns), row in zip(faults, rows, strict=True):
        yield {
            **_slice(_FAULTS, row + 1, phrase(each), start_ns, end_ns),
            "args": {"step": plain(each.step)},
        }


def _end_ns(each: Injected, last_ns: int) -> int:
    end_ns = over_ns(each)
    return last_ns if end_ns is None else end_ns


def _slice(process: int, thread: int, name: str, start_ns: int, end_ns: int | None) -> dict[str, Any]:
    """Return an interval, its ``ts`` still in ns from the origin; one nobody saw end is only begun."""
    told = {
        "ph": "B" if end_ns is None else "X",
        "pid": process,
        "tid": thread,
        "ts": start_ns,
        "name": plain(name, chars_max=NAME_CHARS_MAX),
    }
    return told if end_ns is None else {**told, "dur": max(end_ns - start_ns, 0) / 1e3}


def _meta(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": {"name": plain(name)}}
