"""Faults in words, the same wherever one is told of: what it is called, whom it hit, how long it lasted.

All of a record (`nemesis.machine.record`); times are of whatever clock it is on.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nemesis.faults import LinksFault, Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nemesis.faults import Fault
    from nemesis.machine.record import Injected


def named(kind: str, shape: str | None) -> str:
    """Return what a fault is called: its kind, and its shape if it has one."""
    return kind if shape is None else f"{kind} {shape}"


def shape_of(fault: Fault) -> str | None:
    """Return the name of the shape that links were cut in, of a fault that has one."""
    return getattr(fault, "shape", None)


def name_of(each: Injected) -> str:
    """Return what a fault is called."""
    return named(each.fault.kind, shape_of(each.fault))


def phrase(each: Injected) -> str:
    """Return what a fault is called, and all whom it is about."""
    return f"{name_of(each)} ({', '.join(each.fault.concerned)})"


def with_roles(each: Injected) -> str:
    """Return all whom a fault is about, each with its role when the episode began."""
    nodes = ((node, each.roles.get(node)) for node in each.fault.concerned)
    return ", ".join(node if role is None else f"{node} ({role})" for node, role in nodes)


def hit(each: Injected) -> tuple[str, ...]:
    """Return whom a fault is aimed at: of links that are cut, the node that most of them belong to."""
    fault = each.fault
    if not isinstance(fault, LinksFault):
        return fault.concerned
    ends = Counter(end for link in fault.links for end in (link.source, link.target))
    most = max(ends.values(), default=0)
    return tuple(node for node in fault.concerned if ends[node] == most)


def held(faults: Iterable[Injected]) -> Iterator[Injected]:
    """Yield the faults that took hold."""
    return (each for each in faults if each.standing is Standing.INSTALLED)


def over_ns(each: Injected) -> int | None:
    """Return when a fault was over: at once where there is nothing to heal, None if it never was."""
    if each.fault.lasts:
        return each.healed_ns
    return each.asked_ns if each.installed_ns is None else each.installed_ns
