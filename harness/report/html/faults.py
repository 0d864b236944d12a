"""Faults as stripes: when each was in force, on whom, and what is known of it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from harness.report.faults import held, hit, name_of, over_ns, with_roles
from nemesis.faults import Standing

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
            nodes=with_roles(each),
            step=f"{each.episode} {each.repetition}, {each.step}",
            start_ns=each.asked_ns,
            end_ns=each.healed_ns,
            standing=str(each.standing or Standing.UNKNOWN),
            reason=each.reason or each.heal_problem or "",
        )


def stripes_of(faults: Iterable[Injected], end_ns: int, *, height: int) -> tuple[Bar, ...]:
    """Return a stripe for each fault that took hold; its tags are the nodes that it hit."""
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
        for each in islice(held(faults), STRIPES_MAX)
    )


def _end_ns(each: Injected, last_ns: int) -> int:
    end_ns = over_ns(each)
    return max(each.asked_ns, last_ns if end_ns is None else end_ns)


def _tip(each: Injected) -> str:
    until = "never healed" if each.healed_ns is None else f"to {at(each.healed_ns)}"
    until = until if each.fault.lasts else "at once"
    return f"{name_of(each)} of {with_roles(each)}: {at(each.asked_ns)} {until}, step {each.step}"
