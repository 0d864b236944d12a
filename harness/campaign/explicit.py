"""From what a run did to a plan that does just that: faults as steps at an instant, operations listed.

A drawn plan says how things are decided; an explicit one says what was decided, so that single things
can be left out. What was done is taken from the recording: every installed fault with its nodes, its
beginning and its end, and every operation, a probe's too, with its moment and its node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from checker.events import EventType
from harness.plan.plan import ScheduleFrom
from harness.plan.schedules import dumped, of_plan
from harness.plan.script import Scripted
from harness.report.faults import held
from nemesis import Episode, Schedule, Step
from nemesis.faults import Cut, Slow
from nemesis.kinds import step_of
from nemesis.schedule import (
    At,
    CutAt,
    For,
    NamedLinks,
    SlowAt,
    Span,
)
from targets.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.plan.plan import Plan
    from harness.run.simulate import Recording
    from nemesis import Injected
    from nemesis.schedule import FaultAction
    from targets.cluster import Link

FIRST_NS: Final = 21 * MS
"""The episode begins once the nemesis has seen who leads, which takes one status of every node."""

NAME: Final = "explicit"


def faults_of(recording: Recording) -> tuple[Injected, ...]:
    """Return the faults that took hold, in order."""
    return tuple(held(recording.record.faults))


def operations_of(recording: Recording) -> tuple[Scripted, ...]:
    """Return the operations of clients and probes during the load, one seat a process."""
    load_ns = recording.seen.load_ns
    if load_ns is None:
        return ()
    return tuple(
        Scripted(
            at_ns=event.time_ns - load_ns[0],
            seat=int(event.process),
            f=event.f,  # type: ignore[arg-type]
            key=str(event.key),
            node=str(event.node),
            value=event.value,
            fenced=event.f == "write" and isinstance(event.value, list),
        )
        for event in recording.events
        if event.type is EventType.INVOKE and load_ns[0] <= event.time_ns < load_ns[1]
    )


def explicit(
    plan: Plan, faults: Iterable[Step], operations: Iterable[Scripted], *, time_ns: int
) -> Plan:
    """Return the plan that makes these faults and operations and nothing else."""
    steps = tuple(faults)
    moved = tuple(
        msgspec.structs.replace(step, when=At(_seconds(max(0, step.when.span.ns(SECOND) - FIRST_NS))))
        for step in steps
        if isinstance(step.when, At)
    )
    episode = Episode(name=NAME, start=At(_seconds(FIRST_NS)), steps=moved, required=False)
    return msgspec.structs.replace(
        plan,
        faults=(),
        schedule_from=ScheduleFrom.FILE,
        schedule=dumped(Schedule((episode,) if steps else ())),
        operations=tuple(operations),
        time_s=time_ns / 1e9,
    )


def listed_in(plan: Plan) -> tuple[tuple[Step, ...], tuple[Scripted, ...], int] | None:
    """Return the steps, operations and time_ns of which `explicit` makes this very plan, if any."""
    if plan.operations is None:
        return None
    steps = tuple(
        msgspec.structs.replace(step, when=At(_seconds(step.when.span.ns(SECOND) + FIRST_NS)))
        for episode in of_plan(plan).episodes
        for step in episode.steps
        if isinstance(step.when, At)
    )
    time_ns = round(plan.time_s * 1e9)
    if explicit(plan, steps, plan.operations, time_ns=time_ns) != plan:
        return None
    return steps, plan.operations, time_ns


def steps_of(faults: Iterable[Injected]) -> Iterator[Step]:
    """Yield a step for each fault, in the order they were made, times from the start of the load."""
    for fault in faults:
        until = None
        if fault.healed_ns is not None and fault.fault.lasts:
            until = For(_seconds(fault.healed_ns - fault.asked_ns))
        for do in _actions(fault):
            yield Step(do=do, when=At(_seconds(fault.asked_ns)), until=until)


def _actions(fault: Injected) -> Iterator[FaultAction]:
    match fault.fault:
        case Cut(links, flight):
            for named in named_links(links):
                yield CutAt(named, flight)
        case Slow(links, delay_ns):
            for named in named_links(links):
                yield SlowAt(named, _seconds(delay_ns))
        case on_nodes:
            yield step_of(on_nodes)


def named_links(links: Iterable[Link]) -> Iterator[NamedLinks]:
    """Yield as few products of sources and sinks as a simple look finds."""
    by_source: dict[str, tuple[str, ...]] = {}
    for link in links:
        by_source[link.source] = (*by_source.get(link.source, ()), link.target)
    by_sinks: dict[tuple[str, ...], tuple[str, ...]] = {}
    for source, sinks in by_source.items():
        by_sinks[sinks] = (*by_sinks.get(sinks, ()), source)
    for sinks, sources in by_sinks.items():
        yield NamedLinks(sources, sinks)


def _seconds(length_ns: int) -> Span:
    return Span(length_ns / 1e9)
