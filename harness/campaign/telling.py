"""A minimal run in words: what was done, what was seen, what it proves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.events import EventType
from checker.values import show
from harness import program
from harness.report.escape import plain
from harness.report.faults import name_of, shape_of
from harness.words import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.events import Event
    from nemesis import Injected

    from .shrink import Shrunk


def told(found: Shrunk, directory: str) -> Iterator[str]:
    """Yield the story of the run it came to, times from the start of its load."""
    recording = found.recording
    load_ns = recording.seen.load_ns
    origin_ns = 0 if load_ns is None else load_ns[0]
    how = found.stopped or "minimal"
    left = f"{many(found.faults, 'fault')}, {many(found.operations, 'operation')}"
    yield f"{how} after {many(found.tries, 'run')}: {left}"
    lines = [(fault.asked_ns, _fault(fault)) for fault in recording.record.faults]
    lines += [
        (event.time_ns - origin_ns, _operation(event))
        for event in recording.events
        if isinstance(event.process, int)
    ]
    for time_ns, line in sorted(lines, key=lambda pair: pair[0]):
        yield f"  {time_ns / 1e9:8.3f} s  {plain(line)}"
    yield plain(found.judged.reason or "")
    yield f"run     {plain(directory)}"
    yield f"replay  {program.replaying(directory)}"


def _fault(fault: Injected) -> str:
    whom = "" if shape_of(fault.fault) else f" {', '.join(fault.fault.concerned)}"
    lasts = "" if fault.healed_ns is None else f" for {(fault.healed_ns - fault.asked_ns) / 1e9:.3f} s"
    return f"{name_of(fault)}{whom}{lasts}"


def _operation(event: Event) -> str:
    value = "" if event.value is None and event.type is EventType.INVOKE else f" {show(event.value)}"
    error = f" ({event.error})" if event.error else ""
    word = event.type.value
    return f"process {event.process} {word:6} {event.f} {event.key}{value} at {event.node}{error}"
