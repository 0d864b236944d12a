"""A run directory, looked at again: what its nodes' evidence says under the policy its plan declares.

Nothing but files is read, and nothing in them is acted on. Availability is not judged here: when the
faults were healed is known to the run alone. What else only the run could see its verdict tells, and
counts here as it did there (`vouched`). A run that was cut short is judged as far as it went, and is
unknown: of its rest nobody knows. So is one of which something cannot be read, or is not what the
verdict was written of. A history that lies in a directory all alone is judged like any other file.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from checker.conviction import Conviction
from checker.evidence_lines import MalformedEvidence, gather, missed
from checker.oracles import availability
from checker.oracles.result import OracleResult
from harness.outcome import Outcome, worst
from harness.plan import PlanError, Trust, from_file
from harness.plan.resolve import resolve
from harness.report import injected
from harness.report.claims import units
from harness.report.proof import proof_of, proof_of_oracles, violation_json
from harness.report.view import Proof
from harness.store.errors import StoreError
from harness.store.rundir import RunDir, existing

from . import convicted
from .judge import oracle_json
from .testimony import Testimony, declared
from .vouched import vouched

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from checker import History
    from checker.proof import FaultWindow
    from checker.verdict import Violation


class Rejudged(msgspec.Struct, frozen=True, kw_only=True):
    """What evidence says. ``notes`` tell what was torn off, or why nothing was judged.

    ``reason`` is the note that tells of the outcome, where that is neither a pass nor a violation;
    ``proof``: who served what the history proves false, or what an oracle found; ``claims``: what was
    exercised of what the policy claims, None where nobody could count.
    """

    outcome: Outcome
    reason: str | None = None
    oracles: tuple[OracleResult, ...] = ()
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    convictions: tuple[Conviction, ...] = ()
    claims: Mapping[str, int] | None = None
    units: Mapping[str, str] = {}

    def as_json(self, found: dict[str, Any] | None) -> dict[str, Any]:
        """Return what is told beside the history's own verdict, whose ``violation`` is ``found``."""
        return {
            "oracles": oracle_json(self.oracles),
            "exercised": None if self.claims is None else dict(self.claims),
            "violation": violation_json(found, self.proof),
            **convicted.as_json(self.convictions),
        }


def rejudge(directory: Path, history: History, violation: Violation | None = None) -> Rejudged:
    """Ask every oracle about a run directory; evidence that is broken is malformed, like a history.

    ``violation`` is what the history itself proves.
    """
    run = existing(directory)
    if not any(map(os.path.lexists, (run.plan, run.verdict, run.schedule, run.evidence))):
        return Rejudged(
            outcome=Outcome.PASS, notes=("only the history was judged: nothing else of a run is there",)
        )
    word = vouched(run, history)
    try:
        found = _rejudge(run, history, violation)
    except MalformedEvidence as error:
        found = _unjudged(Outcome.MALFORMED, f"evidence: {error}")
    except (PlanError, StoreError) as error:
        found = _unjudged(Outcome.UNKNOWN, f"only the history was judged: {error}")
    less = word.less_than(proved=violation is not None or found.proof is not None)
    reasons: list[tuple[Outcome, str | None]]
    reasons = [(outcome, causes[0]) for outcome, causes in word.causes.items()]
    reasons += [*((Outcome.UNKNOWN, cause) for cause in less), (found.outcome, found.reason)]
    outcome = worst(each for each, _ in reasons)
    return msgspec.structs.replace(
        found,
        outcome=outcome,
        reason=next(reason for each, reason in reasons if each is outcome),
        notes=(*word.notes, *itertools.chain(*word.causes.values()), *less, *found.notes),
    )


def _unjudged(outcome: Outcome, why: str) -> Rejudged:
    return Rejudged(outcome=outcome, reason=why, notes=(why,))


def _rejudge(run: RunDir, history: History, violation: Violation | None) -> Rejudged:
    evidence, unreadable = _evidence(run, run.evidence_nodes())
    draft, document = from_file(run.read_plan(), name=str(run.plan))
    plan = resolve(draft, fresh_seed=0, where=document.where, trust=Trust.LOOK)
    readable = [node for node in plan.node_names if node not in unreadable]
    gathered = gather(evidence, nodes=readable, where=f"{run.evidence}/")
    testimony = Testimony(plan, declared(plan))
    testimony.lay(gathered.lines, history)
    testimony.hear_oracles(history)
    testimony.convict(violation)
    testimony.count(history)
    windows, unread = _faults(run)
    silent = (node for node in testimony.missing(history) if node not in unreadable)
    missing = tuple(dict.fromkeys((*gathered.missing, *silent)))
    unheard = (*((missed(missing),) if missing else ()), *testimony.unheard(history))
    unheard = (*unreadable.values(), *unheard)
    idle = () if "not-exercised" in plan.allow else tuple(testimony.idle(history))
    reasons: dict[Outcome, str | None] = {}
    if testimony.proofs:
        reasons[Outcome.VIOLATION] = None
    if unheard:
        reasons[Outcome.UNKNOWN] = unheard[0]
    if idle:
        reasons[Outcome.NOT_EXERCISED] = idle[0]
    outcome = worst(reasons)
    return Rejudged(
        outcome=outcome,
        reason=reasons.get(outcome),
        oracles=tuple(each for each in testimony.oracles if each.name != availability.NAME),
        notes=(*gathered.notes, *unheard, *idle, *unread),
        proof=proof_of_oracles(testimony.oracles)
        if violation is None
        else proof_of(violation, testimony.timelines, windows),
        convictions=testimony.convictions,
        claims=testimony.exercised,
        units=units(testimony.claims, plan.clock),
    )


def _evidence(run: RunDir, nodes: Iterable[str]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return what can be read of the nodes' evidence, and why not of the others', by node."""
    evidence: dict[str, bytes] = {}
    unreadable: dict[str, str] = {}
    for node in nodes:
        try:
            evidence[node] = run.read_evidence_of(node)
        except StoreError as error:
            unreadable[node] = str(error)
    return evidence, unreadable


def _faults(run: RunDir) -> tuple[list[FaultWindow], tuple[str, ...]]:
    """Return the faults that took hold, and a note if nobody knows."""
    try:
        return injected.windows(injected.load(run).faults), ()
    except StoreError as error:
        return [], (f"which faults were in force is not known: {error}",)
