"""What a run gives back: one value for the exit code, ``--json``, the summary and verdict.json."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from harness import program
from harness.ci.case import Case, of_run
from harness.ci.junit import ORIGIN, junit, now
from harness.outcome import Outcome
from harness.report import checked
from harness.report.claims import units
from harness.report.proof import proof_of
from harness.report.rules import rule_lines
from harness.report.title import title_of
from harness.report.view import OracleLine, Proof, RunView
from harness.store.errors import StoreError
from harness.store.files import write_atomic
from targets.catalog import find, is_file
from targets.target import Place

from . import convicted, figures, injected
from .judge import Judgement, Seen, failed, oracle_json, words_of_keys
from .workloads import model_of

if TYPE_CHECKING:
    from pathlib import Path

    from checker.proof import FaultWindow
    from harness.plan.plan import Plan
    from harness.store.rundir import RunDir
    from nemesis.machine import InjectionRecord


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. ``json`` is the object of ``--json``; ``view`` what the summary shows.

    ``interrupted`` is whether a signal cut it short, which a worse outcome does not say.
    """

    outcome: Outcome
    reason: str | None
    directory: str
    interrupted: bool
    view: RunView
    json: dict[str, Any]


def result_of(
    plan: Plan, judged: Judgement, seen: Seen, *, record: InjectionRecord, directory: Path
) -> RunResult:
    """Put everything together that is told of a run."""
    windows = injected.windows(injected.from_origin(record, seen.load_ns).faults)
    proof = _proof(judged, windows)
    faults = figures.fault_counts(record)
    trust = ["--trust"] if is_file(plan.target) or plan.compose or plan.containers else []
    replay = shlex.join([program.command(), "run", str(directory / "plan.yaml"), *trust])
    load_ns = seen.load_ns or (0, 0)
    history = judged.history
    view = RunView(
        outcome=judged.outcome,
        title=title_of(plan),
        reason=judged.reason,
        seconds=(load_ns[1] - load_ns[0]) / 1e9,
        operations=_operations(judged, seen),
        faults=faults,
        leader_changes=_leader_changes(judged, seen),
        reads=figures.reads_by_path(history) if history is not None else (),
        stall_ns=figures.largest_stall(history, load_ns) if history is not None else None,
        keys=words_of_keys(judged.report) if judged.complete or judged.report is not None else None,
        oracles=tuple(
            OracleLine(told.name, told.outcome.value, told.sentence) for told in judged.oracles
        ),
        claims=judged.exercised if judged.complete else None,
        proof=proof,
        rules=rule_lines(judged.convictions),
        planted=tuple(
            f"{each['mistake']}, which breaks rule {each['rule']}: {each['sentence']}"
            " (known because it was planted, not because it was proved)"
            for each in planted_json(plan)
        ),
        units=units(judged.exercised, plan.clock),
        notes=(*_causes(judged), *judged.notes),
        directory=str(directory),
        replay=replay,
    )
    return RunResult(
        outcome=judged.outcome,
        reason=judged.reason,
        directory=str(directory),
        interrupted=seen.interrupted is not None,
        view=view,
        json=_json(plan, judged, view, seen=seen),
    )


def _proof(judged: Judgement, windows: list[FaultWindow]) -> Proof | None:
    found = judged.report.violation if judged.report is not None else None
    if found is not None:
        return proof_of(found, judged.timelines, windows)
    for result in judged.oracles:
        if result.outcome.value == "violation":
            sentence = result.findings[0].sentence if result.findings else result.kind
            return Proof(kind=result.kind, key=None, sentence=sentence)
    return None


def _json(plan: Plan, judged: Judgement, view: RunView, *, seen: Seen) -> dict[str, Any]:
    if judged.report is not None:
        told = checked.as_json(judged.report, load_s=judged.load_s)
    else:
        seconds = {"load": round(judged.load_s, 6), "check": 0.0}
        told = {
            "format": "jsonl",
            "model": model_of(plan),
            "operations": None if view.operations is None else len(judged.history or ()),
            "keys": {},
            "seconds": seconds,
        }
        told["violation"] = None
    proof = view.proof
    if proof is not None:
        violation: dict[str, Any] = {
            "kind": proof.kind,
            "key": None,
            "operations": [],
            "sentence": proof.sentence,
        }
        violation |= told["violation"] or {}
        violation |= {"served": proof.served, "faults": list(proof.faults)}
        told["violation"] = violation
    told |= {
        "outcome": judged.outcome.value,
        "reason": judged.reason,
        "notes": list(view.notes),
        "run": view.directory,
        "seed": plan.seed,
        "faults": figures.fault_json(view.faults),
        "exercised": None if view.claims is None else dict(view.claims),
        "oracles": oracle_json(judged.oracles),
        "planted": planted_json(plan),
        "replay": view.replay,
        **convicted.as_json(judged.convictions),
        "by_outcome": {f: dict(ends) for f, ends in (view.operations or {}).items()},
        "reads": {path.path: {"reads": path.reads, "p50_ns": path.p50_ns} for path in view.reads},
        "leader_changes": view.leader_changes,
        "largest_stall_ns": None if view.stall_ns is None else view.stall_ns[0],
        "load_seconds": round(view.seconds, 6),
        "healed": seen.healed_ns is not None,
    }
    return told


def written(
    plan: Plan, judged: Judgement, seen: Seen, *, record: InjectionRecord, directory: RunDir
) -> RunResult:
    """Put everything together and write verdict.json; a disk that refuses is part of the outcome."""
    result = result_of(plan, judged, seen, record=record, directory=directory.path)
    try:
        put(directory, plan, result)
    except StoreError as error:
        told = failed(judged, f"the verdict could not be written: {error}")
        return result_of(plan, told, seen, record=record, directory=directory.path)
    return result


def put(directory: RunDir, plan: Plan, result: RunResult) -> None:
    """Write verdict.json and junit.xml; virtual time begins when no clock of ours says."""
    directory.write_verdict(result.json)
    began = ORIGIN if plan.on is Place.SIM else now()
    write_atomic(directory.junit, junit([case_of(plan, result)], began=began))


def case_of(plan: Plan, result: RunResult) -> Case:
    """Return the run as a case of a CI server."""
    return of_run(result.json, suite=plan.name, name=f"seed {plan.seed}")


def _operations(judged: Judgement, seen: Seen) -> dict[str, dict[str, int]] | None:
    """Return how operations ended; None if there was a load and nobody looked at what it left."""
    if judged.history is not None:
        return figures.by_outcome(judged.history)
    return {} if judged.complete or seen.load_ns is None else None


def planted_json(plan: Plan) -> list[dict[str, str]]:
    """Return what is wrong with the target because the plan put it there."""
    mistakes = [find(plan.target).mistakes[name] for name in plan.mistakes]
    return [{"mistake": each.id, "rule": each.rule, "sentence": each.sentence} for each in mistakes]


def _causes(judged: Judgement) -> list[str]:
    """Everything else that went wrong, after the reason of the outcome itself.

    What is proved stands with the proof and with the oracle that proved it.
    """
    every = [
        (outcome, cause)
        for outcome, causes in judged.causes.items()
        for cause in causes
        if outcome is not Outcome.VIOLATION
    ]
    every.sort(key=lambda pair: pair[0].rank)
    return [f"{outcome.value}: {cause}" for outcome, cause in every if cause != judged.reason]


def _leader_changes(judged: Judgement, seen: Seen) -> int:
    """Count by the nodes' own evidence; where they leave none, by what they said when asked."""
    timelines = [] if judged.timelines is None else list(judged.timelines.values())
    terms = {lead.term for timeline in timelines for lead in timeline.leaderships}
    return max(0, (len(terms) or seen.leaders) - 1)
