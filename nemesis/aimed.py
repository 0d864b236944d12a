"""The aimed schedules: one file a mistake, each making exactly the danger that mistake is blind to.

They lie in ``nemesis/schedules`` and travel in the wheel. With the rule intact each of them is harmless,
so they double as the hardest episodes of an ordinary run.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

import yaml

from .parse import parse

if TYPE_CHECKING:
    from .schedule import Schedule

AIMED: Final = (
    "role-only-read",
    "lease-from-last-ack",
    "cached-lease-flag",
    "lease-wall-clock",
    "fallback-stale",
    "no-drift-margin",
    "vote-ignores-promise",
    "no-applied-wait",
)
"""The mistakes that have one."""

ELSEWHERE: Final = ("paused-leader", "etcd-20418")
"""Schedules aimed at systems that are not ours."""


def aimed(mistake_id: str) -> Schedule:
    """Return the schedule aimed at a mistake, or at another system; `KeyError` if there is none."""
    if mistake_id not in (*AIMED, *ELSEWHERE):
        raise KeyError(f"no schedule is aimed at {mistake_id!r}; there are {', '.join(AIMED)}")
    found = resources.files("nemesis").joinpath("schedules", f"{mistake_id}.yaml")
    return parse(yaml.safe_load(found.read_text(encoding="utf-8")))
