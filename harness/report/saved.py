"""verdict.json read back: what a run, or a later check, said, as a value with names.

It may come from anybody: a word that is no outcome, a count that is no number or a list that is a text
is refused here, by name, so that whoever shows it need not ask. What an older version did not write is
None, or empty. Nothing in it is believed beyond being shown as what it is: somebody's word.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from checker.conviction import Conviction
from checker.operations import Operation
from checker.oracles.result import OracleResult
from checker.values import show
from harness.outcome import Outcome
from harness.store.errors import NotARun

from .rules import rule_lines
from .view import FaultCount, OracleLine, Proof, ReadPathCount, RunView

if TYPE_CHECKING:
    from collections.abc import Mapping


class Staleness(msgspec.Struct, frozen=True):
    """How far behind the offending read was, at least."""

    versions: int
    stale_ns: int | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The violation: the history's proof with its operations, or an oracle's sentence without any."""

    kind: str
    sentence: str
    key: Any = None
    operations: tuple[Operation, ...] = ()
    staleness: Staleness | None = None
    served: str | None = None
    faults: tuple[str, ...] = ()


class KeyWord(msgspec.Struct, frozen=True):
    """How one key ended."""

    outcome: str
    reason: str | None = None


class Planted(msgspec.Struct, frozen=True):
    """A mistake that the plan put there; verdicts of before have none of its ``rules`` but the first."""

    mistake: str
    rule: str
    sentence: str
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        word = "rules" if len(self.rules) > 1 else "rule"
        broken = ", ".join(self.rules or (self.rule,))
        return (
            f"{self.mistake}, which breaks {word} {broken}: {self.sentence}"
            " (known because it was planted, not because it was proved)"
        )


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The object of ``run --json``, as far as a report shows it."""

    outcome: Outcome
    reason: str | None = None
    model: str = ""
    operations: int | None = None
    keys: dict[str, KeyWord] = {}
    violation: Found | None = None
    notes: tuple[str, ...] = ()
    run: str = ""
    seed: int | None = None
    faults: dict[str, FaultCount] = {}
    exercised: dict[str, int] | None = None
    oracles: dict[str, OracleResult] = {}
    planted: tuple[Planted, ...] = ()
    replay: str = ""
    convictions: tuple[Conviction, ...] = ()
    by_outcome: dict[str, dict[str, int]] = {}
    reads: dict[str, ReadPathCount] = {}
    leader_changes: int = 0
    load_seconds: float = 0.0


def told(verdict: Mapping[str, Any], *, name: str) -> Told:
    """Return a verdict as a value; raise `NotARun` naming what in it cannot be."""
    try:
        return msgspec.convert(verdict, Told)
    except msgspec.ValidationError as error:
        raise NotARun(f"{name}: {error}") from error
    except (RecursionError, OverflowError, ValueError) as error:
        raise NotARun(f"{name}: {type(error).__name__}: {error}") from error


def view_of(
    said: Told,
    *,
    title: str,
    units: Mapping[str, str],
    directory: str,
    proof: Proof | None = None,
    stall_ns: tuple[int, int] | None = None,
) -> RunView:
    """Return what a summary shows of a run whose verdict this is.

    ``proof`` is the verdict's with more than is saved of it; ``stall_ns`` as a `RunView` has it.
    """
    if proof is None and said.violation is not None:
        proof = _proof(said.violation)
    return RunView(
        outcome=said.outcome,
        title=title,
        reason=said.reason,
        seconds=said.load_seconds,
        operations=_operations(said),
        faults=said.faults,
        leader_changes=said.leader_changes,
        reads=said.reads,
        stall_ns=stall_ns,
        keys=_words(said),
        oracles=tuple(
            OracleLine(name, each.outcome.value, each.sentence) for name, each in said.oracles.items()
        ),
        claims=said.exercised,
        proof=proof,
        rules=rule_lines(said.convictions),
        planted=tuple(map(str, said.planted)),
        units=units,
        notes=said.notes,
        directory=directory,
        replay=said.replay,
    )


def _operations(said: Told) -> Mapping[str, Mapping[str, int]] | None:
    """Return how operations ended; None where there were some and nobody said, or nobody looked."""
    return said.by_outcome if said.by_outcome or said.operations == 0 else None


def _words(said: Told) -> dict[str, int] | None:
    """Return how many keys ended how; None where nobody looked, not at what was exercised either."""
    counts = Counter(key.outcome for key in said.keys.values())
    return dict(counts) if counts or said.exercised is not None else None


def _proof(found: Found) -> Proof:
    return Proof(
        kind=found.kind,
        key=None if found.key is None else show(found.key),
        sentence=found.sentence,
        served=found.served,
        faults=found.faults,
    )
