"""What a planted mistake is: one substitution in the rules of one policy, and what shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from targets.cluster import ClockMode
from targets.leasekv.rules import Rules
from targets.target import Mistake, Place

DRIFT_PPM: Final = 50_000
ANYWHERE: Final = (Place.SIM, Place.LOCAL, Place.DOCKER)
PROCESSES: Final = (Place.SIM, Place.LOCAL)
"""Shown on processes; in containers they have not been tried."""


class Planted(Mistake, frozen=True, kw_only=True):
    """A mistake of ours. ``also_off`` becomes `NodeConfig.rules_off`; ``change`` replaces one field."""

    nodes: int = 3
    also_off: tuple[str, ...] = ()
    drift_ppm: int = DRIFT_PPM
    clock: ClockMode = ClockMode.NONE
    change: Callable[[Rules], Rules]


def instead(**field: Any) -> Callable[[Rules], Rules]:
    """Return the change that puts this in place of one rule."""
    ((name, wrong),) = field.items()
    return lambda rules: msgspec.structs.replace(rules, **{name: wrong})
