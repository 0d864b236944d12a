"""What may make a run smaller, one change at a time: of its plan, of a step, of a list of operations.

Nothing here runs anything. Whoever shrinks tries what it is offered, and keeps what still shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.plan.plan import Plan, seats_min
from nemesis.schedule import At, CutAt, For, NamedLinks, SlowAt, Span, Step
from targets.clock import SECOND
from targets.sim.weather import STILL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.plan.script import Scripted


def changes(plan: Plan) -> Iterator[dict[str, object]]:
    """Yield what may make a run smaller, the largest savings first."""
    if plan.weather != STILL:
        yield {"weather": STILL}
        for field, value in msgspec.structs.asdict(STILL).items():
            yield {"weather": msgspec.structs.replace(plan.weather, **{field: value})}
    if plan.peer_delay_ns:
        yield {"peer_delay_ns": 0}
    for key in ("append_max", "compact_entries", "workload"):
        usual = getattr(Plan(), key)
        if getattr(plan, key) != usual:
            yield {key: usual}
    if plan.operations is None:
        yield from _lighter(plan)


def _lighter(plan: Plan) -> Iterator[dict[str, object]]:
    for nodes in (3, 5):
        if plan.nodes > nodes:
            clients = min(plan.clients, seats_min(nodes) + 3)
            yield {"nodes": nodes, "voters": min(plan.voters, nodes), "clients": clients}
    yield from simpler_load(plan)
    yield from lower_rates(plan, 20, 50, 100, 200, 400)


def simpler_load(plan: Plan) -> Iterator[dict[str, object]]:
    """Yield what makes a load simpler: one key, one way to read, no client beyond those it must have."""
    if plan.keys > 1:
        yield {"keys": 1}
    if plan.readindex_one_in:
        yield {"readindex_one_in": 0}
    if plan.clients > seats_min(plan.nodes):
        yield {"clients": seats_min(plan.nodes)}


def lower_rates(plan: Plan, *rates: int) -> Iterator[dict[str, object]]:
    """Yield those of ``rates`` that are less than a plan has; 0 is as fast as it goes."""
    for rate in rates:
        if plan.rate > rate or not plan.rate:
            yield {"rate": rate}


def fewer_links(step: Step) -> Iterator[Step]:
    """Yield the cut or the slowness of a step with one end fewer; nothing for another step."""
    do = step.do
    if not isinstance(do, CutAt | SlowAt) or not isinstance(do.links, NamedLinks):
        return
    for ends, other in (("sources", "sinks"), ("sinks", "sources")):
        names = getattr(do.links, ends)
        for name in names if len(names) > 1 else ():
            fewer = {
                ends: tuple(each for each in names if each != name),
                other: getattr(do.links, other),
            }
            links = NamedLinks(fewer["sources"], fewer["sinks"])
            yield msgspec.structs.replace(step, do=msgspec.structs.replace(do, links=links))


def rounded(step: Step, unit_ns: int) -> Step:
    """Return a step whose instant and length are whole units; what is shorter than one stays."""

    def whole(span: Span) -> Span:
        return Span(round(span.ns(SECOND) / unit_ns) * unit_ns / 1e9)

    when = At(whole(step.when.span)) if isinstance(step.when, At) else step.when
    until = step.until
    if isinstance(until, For):
        until = For(whole(until.span)) if until.span.ns(SECOND) >= unit_ns else until
    return msgspec.structs.replace(step, when=when, until=until)


def ascending(steps: tuple[Step, ...]) -> bool:
    """Whether steps begin in the order in which they stand."""
    times = [step.when.span.amount for step in steps if isinstance(step.when, At)]
    return times == sorted(times)


def in_order(operations: tuple[Scripted, ...]) -> bool:
    """Whether operations are called in the order in which they stand."""
    times = [each.at_ns for each in operations]
    return times == sorted(times)
