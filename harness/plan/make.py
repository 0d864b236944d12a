"""From what stands on the command line to a complete plan; here files are read."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from harness.store.errors import NotARun
from harness.store.files import open_named, open_regular
from targets.target import TAKEN_BY_SOME

from .document import BYTES_MAX, read
from .draft import Draft, Given, Trust, from_file, from_options, from_values, option
from .errors import PlanError
from .plan import FIELDS, Plan
from .resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def plan_from(
    file: Path | None,
    options: Mapping[str, Any],
    *,
    schedule_file: Path | None = None,
    trust: Trust = Trust.OWN,
    called: Callable[[str], str] = option,
) -> Plan:
    """Return the plan of a file, of options by their plan keys (None: not given), or of both.

    An option overrides the file, which decides as much as ``trust`` gives it. A seed that nobody gave is
    drawn here. Raises `PlanError`, with the line or the option (as it is ``called``), before anything is
    started.
    """
    draft: Draft = {}
    where: Callable[[str], str] | None = None
    if file is not None:
        draft, document = from_file(file_bytes(file, trust), name=str(file))
        where = document.where
    draft |= from_options(options, called)
    if schedule_file is not None:
        document = read(file_bytes(schedule_file, Trust.OWN), name=str(schedule_file))
        entries = document.value.get("schedule") if isinstance(document.value, dict) else document.value
        if not isinstance(entries, list):
            raise PlanError("a schedule is a list of episodes or steps", where=document.where(""))
        bare = not isinstance(document.value, dict)
        where = (lambda path: document.where(path.removeprefix("schedule"))) if bare else document.where
        draft["schedule"] = Given(tuple(entries), f"--schedule {schedule_file}", option=True)
    return resolve(draft, fresh_seed=secrets.randbelow(1 << 31), where=where, trust=trust)


def is_plan(plan: Plan) -> bool:
    """Tell whether a file that holds this plan is read as it: what is refused there is not to be run."""
    try:
        draft = from_values(msgspec.to_builtins(plan), str)
        return resolve(draft, fresh_seed=plan.seed, trust=Trust.TRUSTED) == plan
    except PlanError:
        return False


def moved(on: str) -> dict[str, Any]:
    """Return the options that put a saved plan elsewhere: what was of its old place stays there."""
    left = {
        key: msgspec.to_builtins(getattr(Plan(), FIELDS[key].name))
        for key, place in TAKEN_BY_SOME.items()
        if place not in {None, on}
    }
    return {"on": on, **left}


def file_bytes(path: Path, trust: Trust) -> bytes:
    """Return a plan file, or so much of it that it is too large; raise `PlanError`.

    What lies in a run directory may be a stranger's, and leads nowhere else.
    """
    try:
        with (open_regular if trust is Trust.STRANGER else open_named)(path) as file:
            return file.read(BYTES_MAX + 1)
    except NotARun as error:
        raise PlanError(str(error)) from error
    except OSError as error:
        raise PlanError(error.strerror or str(error), where=str(path)) from error
