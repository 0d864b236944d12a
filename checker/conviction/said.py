"""What is said of a violation: a rule for certain, rules that evidence cannot tell apart, or nothing."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class Certainty(StrEnum):
    """How sure a conviction is of its rules.

    *certain*: the evidence contradicts this rule, and the violation rests on the contradiction.
    *consistent-with*: one of these rules was broken, for certain; nothing tells which. *unknown*: no
    rule that is known here is contradicted.
    """

    CERTAIN = "certain"
    CONSISTENT = "consistent-with"
    UNKNOWN = "unknown"


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence against a node: ``rules`` are those that it contradicts, one of them at least.

    ``sentence`` names the node, the time and the facts; ``looks_like`` are ids of catalog mistakes that
    leave the same trace.
    """

    rules: tuple[str, ...]
    node: str
    term: int
    sentence: str
    looks_like: tuple[str, ...] = ()


def first_of_each(found: Iterable[Breach]) -> list[Breach]:
    """Return the first breach of each rule: it stands for the others."""
    kept: dict[tuple[str, ...], Breach] = {}
    for breach in found:
        kept.setdefault(breach.rules, breach)
    return list(kept.values())


class Conviction(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one breach; without any, ``around`` tells of leases, promises and votes."""

    certainty: Certainty
    sentence: str
    rules: tuple[str, ...] = ()
    node: str | None = None
    term: int | None = None
    looks_like: tuple[str, ...] = ()
    around: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.certainty:
            case Certainty.CERTAIN:
                return f"breaks {self.rules[0]}: {self.sentence}"
            case Certainty.CONSISTENT:
                return f"breaks {' or '.join(self.rules)}, which nothing tells apart: {self.sentence}"
            case Certainty.UNKNOWN:
                return f"unknown rule: {self.sentence}"


def of_breach(breach: Breach) -> Conviction:
    """Return what a breach comes to."""
    sure = len(breach.rules) == 1
    return Conviction(
        certainty=Certainty.CERTAIN if sure else Certainty.CONSISTENT,
        sentence=breach.sentence,
        rules=breach.rules,
        node=breach.node,
        term=breach.term,
        looks_like=breach.looks_like,
    )
