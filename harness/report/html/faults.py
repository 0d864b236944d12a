"""Faults as stripes: when each was in force, on whom, and what is known of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from nemesis.faults import LinksFault, Standing

from .shapes import Bar, at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nemesis.machine.record import Injected

STRIPES_MAX: Final = 300


class FaultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One fault, as a row of a table; times from the origin."""

    what: str
    nodes: str
    step: str
    start_ns: int
    end_ns: int | None
    standing: str
    reason: str


def rows_of_faults(faults: Iterable[Injected]) -> Iterator[FaultRow]:
    """Yield every fault, installed or not, in the order of time."""
    for each in sorted(faults, key=lambda each: each.asked_ns):
        yield FaultRow(
            what=name_of(each),
            nodes=", ".join(_with_role(each, node) for node in each.fault.concerned),
            step=f"{each.episode} {each.repetition}, {each.step}",
            start_ns=each.asked_ns,
            end_ns=each.healed_ns,
            standing=str(each.standing or Standing.UNKNOWN),
            reason=each.reason or each.heal_problem or "",
        )


def stripes_of(faults: Iterable[Injected], end_ns: int, *, height: int) -> tuple[Bar, ...]:
    """Return a stripe for each fault that took hold; its tags are the nodes that it hit."""
    held = [each for each in faults if each.standing is Standing.INSTALLED][:STRIPES_MAX]
    return tuple(
        Bar(
            start_ns=each.asked_ns,
            end_ns=_end_ns(each, end_ns),
            y=0,
            height=height,
            kind="stripe",
            label=name_of(each),
            tip=_tip(each),
            tags=" ".join(hit(each)),
        )
        for each in held
    )


def name_of(each: Injected) -> str:
    """Return what a fault is called: its kind, and its shape if it has one."""
    shape = getattr(each.fault, "shape", None)
    return each.fault.kind if shape is None else f"{each.fault.kind} {shape}"


def hit(each: Injected) -> tuple[str, ...]:
    """Return whom a fault is aimed at: of links that are cut, the node that most of them belong to."""
    fault = each.fault
    if not isinstance(fault, LinksFault):
        return fault.concerned
    ends = Counter(end for link in fault.links for end in (link.source, link.target))
    most = max(ends.values(), default=0)
    return tuple(node for node in fault.concerned if ends[node] == most)


def _end_ns(each: Injected, last_ns: int) -> int:
    """Return when a fault was over: at once, if there is nothing to heal."""
    if not each.fault.lasts:
        return max(each.asked_ns, each.installed_ns or each.asked_ns)
    return max(each.asked_ns, last_ns if each.healed_ns is None else each.healed_ns)


def _tip(each: Injected) -> str:
    until = "never healed" if each.healed_ns is None else f"to {at(each.healed_ns)}"
    until = until if each.fault.lasts else "at once"
    nodes = ", ".join(_with_role(each, node) for node in each.fault.concerned)
    return f"{name_of(each)} of {nodes}: {at(each.asked_ns)} {until}, step {each.step}"


def _with_role(each: Injected, node: str) -> str:
    role = each.roles.get(node)
    return node if role is None else f"{node} ({role})"
