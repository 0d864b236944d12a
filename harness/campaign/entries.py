"""What a campaign runs: names, each with what is expected of it and a plan for every seed.

Three sources. The *catalog*: every mistake under the schedule aimed at it, and every policy under the
main job. The *swarm*: the same names, each seed drawn on its own. A *file*: a list of plans in the words
of a plan file, with ``expect``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from harness.outcome import Outcome
from harness.plan import PlanError, plan_from
from harness.plan.document import BYTES_MAX, read
from harness.plan.plan import Plan  # noqa: TC001 - a field of a struct
from targets.catalog import DEFAULT, find, is_file
from targets.target import Place

from .swarm import swarm_plan

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness.plan.document import Document

TESTED: Final[tuple[str, ...]] = ("target", "policy", "mistake")


class Drawn(StrEnum):
    """Where the plan of a seed comes from."""

    AIMED = "aimed"
    SWARM = "swarm"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One name. ``options`` are keys of a plan file; a swarm looks at those of `TESTED` only."""

    name: str
    expected: Outcome
    options: dict[str, Any]
    drawn: Drawn = Drawn.AIMED

    def plan(self, seed: int) -> Plan:
        """Return the plan of one seed."""
        if self.drawn is Drawn.SWARM:
            tested = {key: self.options[key] for key in TESTED if key in self.options}
            asked = {"on": Place.SIM, "seed": seed, "name": self.name}
            return swarm_plan(plan_from(None, {**asked, **tested}))
        return plan_from(None, {**self.options, "seed": seed})


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of a campaign file."""

    name: str
    expect: Literal["pass", "violation"] = "pass"
    swarm: bool = False
    plan: dict[str, Any] = {}


class CampaignFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A campaign file: ``schema``, ``seeds`` and ``runs``."""

    schema: Literal[1]
    runs: tuple[FileEntry, ...]
    seeds: int | None = None


def catalog(*, on: str, drawn: Drawn) -> tuple[Entry, ...]:
    """Return every mistake that can be shown there, then every policy as its control."""
    target = find(DEFAULT)
    mistakes = [
        Entry(
            name=name,
            expected=Outcome.VIOLATION,
            options={"mistake": (name,), "on": on},
            drawn=drawn,
        )
        for name, mistake in target.mistakes.items()
        if on in mistake.places
    ]
    controls = [
        Entry(name=name, expected=Outcome.PASS, options={"policy": name, "on": on}, drawn=drawn)
        for name in target.modes
    ]
    return (*mistakes, *controls)


def chosen(entries: Iterable[Entry], only: Iterable[str]) -> tuple[Entry, ...]:
    """Return the entries of these names, all if none is named; raise `PlanError` for an unknown one."""
    entries, wanted = tuple(entries), tuple(only)
    known = {entry.name for entry in entries}
    for name in wanted:
        if name not in known:
            raise PlanError(
                f"'{name}' is no name of this campaign; there are {', '.join(sorted(known))}"
            )
    return tuple(entry for entry in entries if not wanted or entry.name in wanted)


def from_file(path: Path) -> tuple[tuple[Entry, ...], int | None]:
    """Read a campaign file; return its entries and how many seeds it wants."""
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise PlanError(error.strerror or str(error), where=str(path)) from error
    document = read(data, name=str(path))
    try:
        campaign = msgspec.convert(document.value, CampaignFile, strict=True)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$.")
        raise PlanError(sentence, where=document.where(place.rstrip("`"))) from error
    entries = tuple(
        Entry(
            name=run.name,
            expected=Outcome(run.expect),
            options=_options(run),
            drawn=Drawn.SWARM if run.swarm else Drawn.AIMED,
        )
        for run in campaign.runs
    )
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise PlanError("two runs of a campaign have one name", where=document.where("runs"))
    for number, (run, entry) in enumerate(zip(campaign.runs, entries, strict=True)):
        _try(run, entry, document, f"runs[{number}].plan")
    return entries, campaign.seeds


def _try(run: FileEntry, entry: Entry, document: Document, path: str) -> None:
    """Say whatever is wrong with a plan, at its line, before anything starts."""
    if is_file(str(run.plan.get("target"))):
        sentence = "a Python file is code, and no campaign file may have it run"
        raise PlanError(sentence, where=document.where(f"{path}.target"))
    for key in run.plan if run.swarm else ():
        if key not in TESTED:
            sentence = f"a swarm draws {key} itself; it is told {', '.join(TESTED)} only"
            raise PlanError(sentence, where=document.where(f"{path}.{key}"))
    try:
        entry.plan(0)
    except PlanError as error:
        key = (error.where or "").removeprefix("--").replace("-", "_")
        raise PlanError(error.sentence, where=document.where(f"{path}.{key}")) from error


def _options(run: FileEntry) -> dict[str, Any]:
    mistake = run.plan.get("mistake", ())
    told = {**run.plan, "name": run.name, "mistake": (mistake,) if isinstance(mistake, str) else mistake}
    return {key: value for key, value in told.items() if value not in (None, ())}
