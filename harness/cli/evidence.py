"""A run directory, looked at again: what its nodes' evidence says under the policy its plan declares.

Nothing but files is read, and nothing in them is acted on. Availability is not judged here: when the
faults were healed is known to the run alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.evidence_lines import MalformedEvidence, load
from checker.oracles.judge import Declared, judge
from checker.oracles.result import OracleOutcome, OracleResult
from checker.timeline import build
from harness.outcome import Outcome
from harness.plan import PlanError, from_file
from harness.plan.resolve import resolve
from harness.report.escape import plain
from harness.run.judge import oracle_json
from harness.store.errors import StoreError
from harness.store.rundir import existing
from targets.catalog import find

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from checker import History

NOT_JUDGED: Final = "availability"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What evidence says. ``notes`` tell what was torn off, or why nothing was judged."""

    outcome: Outcome
    oracles: tuple[OracleResult, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return every oracle's answer by its name."""
        return oracle_json([*self.oracles])

    def violation_json(self) -> dict[str, Any] | None:
        """Return the first oracle's proof, in the shape of a history's."""
        convicting = next(
            (each for each in self.oracles if each.outcome is OracleOutcome.VIOLATION), None
        )
        if convicting is None:
            return None
        sentence = _sentence(convicting)
        return {"kind": convicting.kind, "key": None, "operations": [], "sentence": sentence}

    def lines(self) -> Iterator[str]:
        """Yield a line an oracle, and the notes."""
        for each in self.oracles:
            yield f"  oracle {plain(each.name)}: {each.outcome.value}  {plain(_sentence(each))}".rstrip()
        for note in self.notes:
            yield f"  note: {plain(note)}"


def look(directory: Path, history: History) -> Seen:
    """Ask every oracle about a run directory; evidence that is broken is malformed, like a history."""
    try:
        return _look(directory, history)
    except MalformedEvidence as error:
        return Seen(outcome=Outcome.MALFORMED, notes=(f"evidence: {error}",))
    except (PlanError, StoreError) as error:
        return Seen(outcome=Outcome.PASS, notes=(f"only the history was judged: {error}",))


def _look(directory: Path, history: History) -> Seen:
    run = existing(directory)
    evidence = run.read_evidence()
    if not evidence:
        return Seen(outcome=Outcome.PASS, notes=("only the history was judged: there is no evidence",))
    draft, document = from_file(run.read_plan(), name=str(run.plan))
    plan = resolve(draft, fresh_seed=0, where=document.where)
    files = {node: load(data, str(run.evidence / f"{node}.jsonl")) for node, data in evidence.items()}
    origin_ns = history.header.origin_ns if history.header is not None else 0
    timelines = build([line for file in files.values() for line in file.lines], origin_ns=origin_ns)
    owed = find(plan.target).modes[plan.policy].overlap
    declared = Declared(nodes=plan.node_names, drift_ppm=plan.drift_ppm, overlap=owed, promise=owed)
    oracles = tuple(each for each in judge(history, timelines, declared) if each.name != NOT_JUDGED)
    convicted = any(each.outcome is OracleOutcome.VIOLATION for each in oracles)
    return Seen(
        outcome=Outcome.VIOLATION if convicted else Outcome.PASS,
        oracles=oracles,
        notes=tuple(note for file in files.values() for note in file.notes),
    )


def _sentence(result: OracleResult) -> str:
    return result.reason or (result.findings[0].sentence if result.findings else "")
