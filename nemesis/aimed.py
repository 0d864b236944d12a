"""The aimed schedules: one file a mistake, each making exactly the danger that mistake is blind to.

They lie in ``nemesis/schedules`` and travel in the wheel. With the rule intact each of them is harmless,
so they double as the hardest episodes of an ordinary run. Others are aimed at a system as such; a
target names those that are aimed at it.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Final

import yaml

from .parse import parse

if TYPE_CHECKING:
    from .schedule import Schedule

_NAME: Final = re.compile(r"[a-z0-9-]+")


def aimed(name: str) -> Schedule:
    """Return the schedule aimed at a mistake, or at another system; `KeyError` if there is none."""
    folder = resources.files("nemesis").joinpath("schedules")
    found = folder.joinpath(f"{name}.yaml")
    if not _NAME.fullmatch(name) or not found.is_file():
        known = sorted(each.name.removesuffix(".yaml") for each in folder.iterdir())
        raise KeyError(f"no schedule is aimed at {name!r}; there are {', '.join(known)}")
    return parse(yaml.safe_load(found.read_text(encoding="utf-8")))
