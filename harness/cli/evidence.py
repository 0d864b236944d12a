"""A run directory, looked at again: what its nodes' evidence says under the policy its plan declares.

Nothing but files is read, and nothing in them is acted on. Availability is not judged here: when the
faults were healed is known to the run alone. A run that was cut short, or that its own verdict does not
vouch for, is judged as far as it went, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker import exercised
from checker.conviction import Conviction
from checker.evidence_lines import MalformedEvidence, gather, missed
from checker.oracles.judge import judge
from checker.oracles.result import OracleOutcome, OracleResult
from checker.timeline import build
from harness.outcome import Outcome, worst
from harness.plan import PlanError, from_file
from harness.plan.resolve import resolve
from harness.report.checked import told
from harness.report.claims import amount, units
from harness.report.escape import plain
from harness.report.proof import proof_of
from harness.report.rules import labelled, rule_lines
from harness.report.view import Proof
from harness.run import convicted, injected
from harness.run.judge import declared, oracle_json
from harness.run.workloads import claims_of
from harness.store.errors import NotARun, StoreError
from harness.store.files import read_bounded
from harness.store.rundir import PLAN_MAX_BYTES, RunDir, existing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from checker import History
    from checker.proof import FaultWindow
    from checker.verdict import Violation
    from harness.plan import Plan

NOT_JUDGED: Final = "availability"
_CHARS_MAX: Final = 2000


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What evidence says. ``notes`` tell what was torn off, or why nothing was judged.

    ``proof``: who served what the history proves false; ``claims``: what was exercised of what the
    policy claims, None where nobody could count.
    """

    outcome: Outcome
    oracles: tuple[OracleResult, ...] = ()
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    convictions: tuple[Conviction, ...] = ()
    claims: Mapping[str, int] | None = None
    units: Mapping[str, str] = {}

    def as_json(self) -> dict[str, Any]:
        """Return what is told beside the history's own verdict."""
        claims = None if self.claims is None else dict(self.claims)
        told = {"oracles": oracle_json([*self.oracles]), "exercised": claims}
        return told | convicted.as_json(self.convictions)

    def violation_json(self, found: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the history's proof with who is to blame, or an oracle's in the same shape."""
        if found is not None:
            proof = self.proof
            return (
                found if proof is None else {**found, "served": proof.served, "faults": [*proof.faults]}
            )
        convicting = next(
            (each for each in self.oracles if each.outcome is OracleOutcome.VIOLATION), None
        )
        if convicting is None:
            return None
        sentence = convicting.sentence
        return {"kind": convicting.kind, "key": None, "operations": [], "sentence": sentence}

    def lines(self) -> Iterator[str]:
        """Yield who served, what was exercised, a line an oracle, and the notes."""
        if self.proof is not None and self.proof.served is not None:
            yield from told(f"who served: {plain(self.proof.served, chars_max=_CHARS_MAX)}")
            for fault in self.proof.faults or ("none",):
                yield from told(f"fault in force: {plain(fault)}")
        for label, text in labelled(rule_lines(self.convictions)):
            yield from told(f"{label}: {plain(text, chars_max=_CHARS_MAX)}")
        if self.claims:
            counts = (f"{claim} {amount(n, self.units.get(claim))}" for claim, n in self.claims.items())
            yield from told(f"exercised: {', '.join(counts)}")
        for each in self.oracles:
            said = f"  {plain(each.sentence, chars_max=_CHARS_MAX)}".rstrip()
            yield from told(f"oracle {plain(each.name)}: {each.outcome.value}{said}")
        for note in self.notes:
            yield from told(f"note: {plain(note)}")


def look(directory: Path, history: History, violation: Violation | None = None) -> Seen:
    """Ask every oracle about a run directory; evidence that is broken is malformed, like a history."""
    run = existing(directory)
    notes = tuple(_of_the_run(run))
    try:
        seen = _look(run, history, violation)
    except MalformedEvidence as error:
        seen = Seen(outcome=Outcome.MALFORMED, notes=(f"evidence: {error}",))
    except (PlanError, StoreError) as error:
        seen = Seen(outcome=Outcome.PASS, notes=(f"only the history was judged: {error}",))
    return msgspec.structs.replace(seen, notes=(*notes, *seen.notes))


def _of_the_run(run: RunDir) -> Iterator[str]:
    """Yield what the run's own verdict says against relying on what is judged here."""
    if not run.verdict.exists():
        yield "this run has no verdict.json: it was cut short, and is judged as far as it went"
        return
    try:
        verdict = run.read_verdict()
    except NotARun as error:
        yield f"what the run itself ended with is not known: {error}"
        return
    ended = verdict.get("outcome")
    if ended in {Outcome.PASS, Outcome.VIOLATION}:
        return
    short = ", cut short, and is judged as far as it went" if ended == Outcome.INTERRUPTED else ""
    yield f"the run itself ended as {ended}{short}: {verdict.get('reason')}"


def _look(run: RunDir, history: History, violation: Violation | None) -> Seen:
    evidence = run.read_evidence()
    if not evidence:
        return Seen(outcome=Outcome.PASS, notes=("only the history was judged: there is no evidence",))
    draft, document = from_file(run.read_plan(), name=str(run.plan))
    plan = resolve(draft, fresh_seed=0, where=document.where)
    gathered = gather(evidence, nodes=plan.node_names, where=f"{run.evidence}/")
    origin_ns = history.header.origin_ns if history.header is not None else 0
    timelines = build(gathered.lines, origin_ns=origin_ns)
    owed = declared(plan, healed_ns=None)
    oracles = tuple(each for each in judge(history, timelines, owed) if each.name != NOT_JUDGED)
    notes = [*gathered.notes, *([missed(gathered.missing)] if gathered.missing else ())]
    missed_by = [Outcome.UNKNOWN] if gathered.missing else []
    windows, unread = _faults(run)
    counts = exercised.count(history, timelines)
    claims = {claim: counts.get(claim, 0) for claim in claims_of(plan)}
    return Seen(
        outcome=worst([_outcome(plan, oracles, claims), *missed_by]),
        oracles=oracles,
        notes=(*notes, *unread),
        proof=None if violation is None else proof_of(violation, timelines, windows),
        convictions=convicted.convicted(plan, violation, oracles, timelines),
        claims=claims,
        units=units(claims, plan.clock),
    )


def _outcome(plan: Plan, oracles: tuple[OracleResult, ...], claims: Mapping[str, int]) -> Outcome:
    """Return what evidence comes to: a pass is worth what was exercised, here as in a run."""
    outcomes = [Outcome.PASS]
    if any(each.outcome is OracleOutcome.VIOLATION for each in oracles):
        outcomes.append(Outcome.VIOLATION)
    if not all(claims.values()) and "not-exercised" not in plan.allow:
        outcomes.append(Outcome.NOT_EXERCISED)
    return worst(outcomes)


def _faults(run: RunDir) -> tuple[list[FaultWindow], tuple[str, ...]]:
    """Return the faults that took hold, and a note if nobody knows."""
    try:
        data = read_bounded(run.schedule, bytes_max=PLAN_MAX_BYTES)
        return injected.windows(injected.read(data, name=str(run.schedule))), ()
    except StoreError as error:
        return [], (f"which faults were in force is not known: {error}",)
