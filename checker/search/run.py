"""Driving a search to its end under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker import direct
from checker.models.register import CasRegister, FencedRegister, Register
from checker.search import generic, register
from checker.zones.decide import Conflict, Fits, Unsure, decide
from checker.zones.lower import lower

if TYPE_CHECKING:
    from checker.budget import Meter
    from checker.part import Part
    from checker.search.result import Found, Searching

REGISTERS = (Register, CasRegister, FencedRegister)


def search(part: Part) -> Searching:
    """Return the search that fits the model of ``part``."""
    if type(part.model) in REGISTERS:
        return register.search(lower(part))
    return generic.search(part.model, part.operations, part.start, part.calls, part.returns)


def drive(searching: Searching, meter: Meter) -> Found | None:
    """Return what is found, or None when the budget ran out."""
    remembered = 0
    try:
        while meter.spent() is None:
            spent = next(searching)
            meter.configurations += spent.configurations
            meter.remembered += spent.remembered - remembered
            remembered = spent.remembered
    except StopIteration as done:
        found: Found = done.value
        return found
    finally:
        meter.remembered -= remembered
    return None


def illegal(part: Part, meter: Meter) -> bool | None:
    """Return whether no order of ``part`` fits; None when the budget ran out."""
    if type(part.model) in REGISTERS:
        match decide(lower(part)):
            case Conflict():
                return True
            case Fits():
                return False
            case Unsure() | None:
                pass
    match direct.decide(part):
        case direct.Impossible():
            return True
        case direct.Ordered():
            return False
        case None:
            pass
    found = drive(search(part), meter)
    return None if found is None else found.order is None
