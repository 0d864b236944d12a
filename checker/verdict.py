"""What a check says.

A verdict is per key, for keys are independent objects: *pass* (here is a linearization), *violation*
(here are the few operations that prove it) or *unknown* (here is what ran out, and where). The report's
outcome is the worst of them, violation above unknown above pass; a violation once found is never spoken
of more softly because another key could not be finished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from checker.values import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.operations import Operation


class Outcome(StrEnum):
    """How a check ends; the words of the command line."""

    PASS = "pass"  # noqa: S105 - a verdict, no secret  # a verdict, no secret
    NOT_EXERCISED = "not-exercised"
    UNKNOWN = "unknown"
    VIOLATION = "violation"

    @property
    def severity(self) -> int:
        """0 is good; the worst of several wins."""
        return _SEVERITY[self]


_SEVERITY = {outcome: at for at, outcome in enumerate(Outcome)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the most severe; of none, PASS."""
    return max(outcomes, key=lambda outcome: outcome.severity, default=Outcome.PASS)


class Method(StrEnum):
    """How a key was decided."""

    ZONES = "zones"
    DIRECT = "direct"
    WALK = "walk"
    SEARCH = "search"
    GUIDED = "guided search"


class KeyVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for one key.

    ``reason``: what ran out, and where (of an unknown). ``operations`` counts the key's in the history.
    ``seconds`` is 0 where keys were decided together.
    """

    key: Any
    outcome: Outcome
    method: Method
    operations: int
    seconds: float = 0.0
    configurations: int = 0
    reason: str | None = None
    witness: Callable[[], tuple[int, ...]] | None = None

    def linearization(self) -> tuple[int, ...] | None:
        """Return indices into the history in an order that the model accepts; None unless it passed."""
        return None if self.witness is None else self.witness()


_SHOWN_NS_MIN = 500
"""Less is 0.000 ms: lines without stamps are a nanosecond apart."""


@dataclass(frozen=True, kw_only=True)
class Staleness:
    """How far behind a read was: since when, and by how many overwrites, its value was gone."""

    read: Operation
    stale_ns: int | None
    versions: int

    def __str__(self) -> str:
        many = f"{self.versions} version{'s' * (self.versions != 1)}"
        if self.stale_ns is None or self.stale_ns < _SHOWN_NS_MIN:
            return f"stale by at least {many}"
        return f"stale by at least {self.stale_ns / 1e6:.3f} ms and {many}"


@dataclass(frozen=True, kw_only=True)
class Violation:
    """The proof. ``operations`` alone, in any order their intervals allow, fit no sequence.

    ``states``: what the object could be when the search got stuck, and why nothing fits; empty where
    the sentence says it all. ``drawing``: the operations as intervals, in plain text.
    """

    key: Any
    operations: tuple[Operation, ...]
    sentence: str
    kind: str = "history"
    drawing: str = ""
    states: tuple[str, ...] = ()
    staleness: Staleness | None = None
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """The answer to one check. ``violations`` holds every key's; without ``all_keys`` the first."""

    outcome: Outcome
    format: str
    model: str
    operations: int
    keys: tuple[KeyVerdict, ...]
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def violation(self) -> Violation | None:
        """The first violation found."""
        return self.violations[0] if self.violations else None

    @property
    def size(self) -> str:
        """How much was looked at, in words."""
        operations, keys = self.operations, len(self.keys)
        return f"{operations} operation{'s' * (operations != 1)} on {keys} key{'s' * (keys != 1)}"

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        undecided = [key for key in self.keys if key.outcome is Outcome.UNKNOWN]
        match self.outcome:
            case Outcome.VIOLATION:
                found = self.violations[0]
                where = "" if found.key is None else f"key {show(found.key)}: "
                return f"not linearizable: {where}{found.sentence}"
            case Outcome.UNKNOWN:
                names = ", ".join(show(key.key) for key in undecided[:5]) + (
                    ", ..." * (len(undecided) > 5)
                )
                many = f"{len(undecided)} of {len(self.keys)} keys undecided"
                return f"unknown: {many} ({names}): {undecided[0].reason}"
            case Outcome.NOT_EXERCISED:
                return "not exercised: the history holds no operation"
            case Outcome.PASS:
                return f"linearizable: {self.size} ({self.model})"
