"""What a campaign runs: names, each with what is expected of it and a plan for every seed.

Entries come from a matrix (`harness.campaign.matrix`), which somebody wrote or which is made here by
code: the *catalog* of every mistake under the schedule aimed at it and every policy under the main job,
or drawn by the *swarm*.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from harness.outcome import Outcome
from harness.plan import PlanError, plan_from
from harness.plan.plan import SEED_END, Plan
from targets.catalog import DEFAULT, find
from targets.target import Place

from .swarm import swarm_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from targets.target import Mistake

SEEDS_MAX: Final = 1_000_000
TESTED: Final[tuple[str, ...]] = ("target", "policy", "mistake", "workload")


Seed = Annotated[int, msgspec.Meta(ge=0, lt=SEED_END)]
Many = Annotated[int, msgspec.Meta(ge=1, le=SEEDS_MAX)]


class Seeds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many seeds, from the first one on."""

    count: Many
    first: Seed = 0

    @property
    def listed(self) -> range:
        """The seeds, in order."""
        return range(self.first, self.first + self.count)


class Drawn(StrEnum):
    """Where the plan of a seed comes from."""

    AIMED = "aimed"
    SWARM = "swarm"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One name. ``options`` are keys of a plan file; a swarm looks at those of `TESTED` only.

    ``known`` are ids of rules whose violation is known and counts as expected. ``seeds`` are this
    entry's own; None are those of the whole campaign. A million of them stay two numbers: an entry goes
    with each of its runs to whoever makes it.
    """

    name: str
    expected: Outcome
    options: dict[str, Any]
    drawn: Drawn = Drawn.AIMED
    known: tuple[str, ...] = ()
    seeds: Seeds | tuple[int, ...] | None = None

    def seeds_of(self, campaign: Sequence[int]) -> Sequence[int]:
        """Return the seeds it is run with, in a campaign that has these."""
        match self.seeds:
            case None:
                return campaign
            case Seeds() as seeds:
                return seeds.listed
            case listed:
                return listed

    def plan(self, seed: int) -> Plan:
        """Return the plan of one seed; raise `PlanError`."""
        if self.drawn is Drawn.SWARM:
            tested = {key: self.options[key] for key in TESTED if key in self.options}
            asked = {"on": Place.SIM, "seed": seed, "name": self.options.get("name", self.name)}
            return swarm_plan(plan_from(None, {**asked, **tested}))
        return plan_from(None, {**self.options, "seed": seed})


def planted_in(entries: Iterable[Entry]) -> dict[str, Mistake]:
    """Return, by their names, the mistakes that single entries are to show."""
    catalog = find(DEFAULT).mistakes
    sought = {
        entry.name: entry.options.get("mistake", ())
        for entry in entries
        if entry.expected is Outcome.VIOLATION and entry.options.get("target", DEFAULT) == DEFAULT
    }
    return {name: catalog[mistakes[0]] for name, mistakes in sought.items() if len(mistakes) == 1}


def chosen(entries: Iterable[Entry], only: Iterable[str]) -> tuple[Entry, ...]:
    """Return the entries of these names, all if none is named; raise `PlanError` for an unknown one.

    Several names may stand in one word, with commas.
    """
    entries = tuple(entries)
    known = {entry.name for entry in entries}
    asked = (word.split(",") if word not in known else (word,) for word in only)
    wanted = tuple(name.strip() for names in asked for name in names)
    for name in wanted:
        if name not in known:
            raise PlanError(
                f"'{name}' is no name of this campaign; there are {', '.join(sorted(known))}"
            )
    return tuple(entry for entry in entries if not wanted or entry.name in wanted)
