"""verdict.json read back: what a run, or a later check, said, as a value with names.

It may come from anybody: a word that is no outcome, a count that is no number or a list that is a text
is refused here, by name, so that whoever shows it need not ask. What an older version did not write is
None, or empty. Nothing in it is believed beyond being shown as what it is: somebody's word.
"""

from __future__ import annotations

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


class PathCount(msgspec.Struct, frozen=True):
    """Reads of one path."""

    reads: int
    p50_ns: int


class Counts(msgspec.Struct, frozen=True):
    """Faults of one kind."""

    installed: int = 0
    skipped: int = 0
    unknown: int = 0
    did: str = ""


class Planted(msgspec.Struct, frozen=True):
    """A mistake that the plan put there."""

    mistake: str
    rule: str
    sentence: str


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
    faults: dict[str, Counts] = {}
    exercised: dict[str, int] | None = None
    oracles: dict[str, OracleResult] = {}
    planted: tuple[Planted, ...] = ()
    replay: str = ""
    convictions: tuple[Conviction, ...] = ()
    by_outcome: dict[str, dict[str, int]] = {}
    reads: dict[str, PathCount] = {}
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


def view_of(said: Told, *, title: str, units: Mapping[str, str], directory: str) -> RunView:
    """Return what a summary shows of a run whose verdict this is."""
    return RunView(
        outcome=said.outcome,
        title=title,
        reason=said.reason,
        seconds=said.load_seconds,
        operations=said.by_outcome or None,
        faults=tuple(
            FaultCount(kind=kind, installed=n.installed, skipped=n.skipped, unknown=n.unknown, did=n.did)
            for kind, n in said.faults.items()
        ),
        leader_changes=said.leader_changes,
        reads=tuple(
            ReadPathCount(path=path, reads=n.reads, p50_ns=n.p50_ns) for path, n in said.reads.items()
        ),
        stall_ns=None,
        keys=_words(said.keys),
        oracles=tuple(
            OracleLine(name, each.outcome.value, each.sentence) for name, each in said.oracles.items()
        ),
        claims=said.exercised,
        proof=None if said.violation is None else _proof(said.violation),
        rules=rule_lines(said.convictions),
        planted=tuple(
            f"{each.mistake}, which breaks rule {each.rule}: {each.sentence}" for each in said.planted
        ),
        units=units,
        notes=said.notes,
        directory=directory,
        replay=said.replay,
    )


def _words(keys: Mapping[str, KeyWord]) -> dict[str, int] | None:
    counts: dict[str, int] = {}
    for key in keys.values():
        counts[key.outcome] = counts.get(key.outcome, 0) + 1
    return counts or None


def _proof(found: Found) -> Proof:
    return Proof(
        kind=found.kind,
        key=None if found.key is None else show(found.key),
        sentence=found.sentence,
        served=found.served,
        faults=found.faults,
    )
