"""What a run gives back: one value for the exit code, ``--json``, the summary and verdict.json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from harness import program
from harness.ci.case import Case, of_run
from harness.ci.junit import ORIGIN, junit, now
from harness.outcome import Outcome
from harness.report import checked, injected, saved
from harness.report.claims import units
from harness.report.proof import proof_of, proof_of_oracles, violation_json
from harness.report.saved import view_of
from harness.report.title import title_of
from harness.report.view import Proof, RunView
from harness.store.errors import StoreError
from harness.store.files import write_atomic
from harness.store.rundir import OWN_LOG
from targets.catalog import find, is_file
from targets.target import Place

from . import convicted, figures
from .judge import Judgement, Seen, failed, oracle_json
from .workloads import claims_of, model_of

if TYPE_CHECKING:
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
    directory: Path
    interrupted: bool
    view: RunView
    json: dict[str, Any]


def result_of(
    plan: Plan, judged: Judgement, seen: Seen, *, record: InjectionRecord, directory: Path
) -> RunResult:
    """Put everything together that is told of a run."""
    windows = injected.windows(injected.from_origin(record, seen.load_ns).faults)
    proof = _proof(judged, windows)
    load_ns = seen.load_ns or (0, 0)
    history = judged.history
    stall_ns = figures.largest_stall(history, load_ns) if history is not None else None
    trust = ["--trust"] if is_file(plan.target) or plan.compose or plan.containers else []
    counted = judged.complete and judged.exercised.keys() == set(claims_of(plan))
    told = _judged_json(plan, judged, seen)
    told |= {
        "violation": violation_json(told["violation"], proof),
        "outcome": judged.outcome.value,
        "reason": judged.reason,
        "witnessed": {outcome.value: causes for outcome, causes in judged.witnessed.items()},
        "notes": [*_causes(judged), *judged.notes, *_where_it_broke(seen)],
        "run": str(directory),
        "seed": plan.seed,
        "faults": msgspec.to_builtins(figures.fault_counts(record)),
        "exercised": judged.exercised if counted else None,
        "oracles": oracle_json(judged.oracles),
        "planted": planted_json(plan),
        "replay": program.replaying(str(directory), *trust),
        **convicted.as_json(judged.convictions),
        "by_outcome": {} if history is None else figures.by_outcome(history),
        "reads": {} if history is None else msgspec.to_builtins(figures.reads_by_path(history)),
        "leader_changes": _leader_changes(judged, seen),
        "largest_stall_ns": None if stall_ns is None else stall_ns[0],
        "load_seconds": round((load_ns[1] - load_ns[0]) / 1e9, 6),
        "healed": seen.healed_ns is not None,
    }
    view = view_of(
        saved.told(told, name="the verdict of this run"),
        title=title_of(plan),
        units=units(judged.exercised, plan.clock),
        directory=str(directory),
        proof=proof,
        stall_ns=stall_ns,
    )
    return RunResult(
        outcome=judged.outcome,
        reason=judged.reason,
        directory=directory,
        interrupted=seen.interrupted is not None or seen.given_up is not None,
        view=view,
        json=told,
    )


def _proof(judged: Judgement, windows: list[FaultWindow]) -> Proof | None:
    found = judged.report.violation if judged.report is not None else None
    if found is not None:
        return proof_of(found, judged.timelines, windows)
    return proof_of_oracles(judged.oracles)


def _judged_json(plan: Plan, judged: Judgement, seen: Seen) -> dict[str, Any]:
    """Return what the checker said of the history, or what there is to say where it did not."""
    if judged.report is not None:
        return checked.as_json(judged.report, load_s=judged.load_s)
    looked = judged.history is not None or judged.complete or seen.load_ns is None
    return {
        "format": "jsonl",
        "model": model_of(plan),
        "operations": len(judged.history or ()) if looked else None,
        "keys": {},
        "seconds": {"load": round(judged.load_s, 6), "check": 0.0},
        "violation": None,
    }


def written(
    plan: Plan, judged: Judgement, seen: Seen, *, record: InjectionRecord, directory: RunDir
) -> RunResult:
    """Put everything together and write verdict.json; a disk that refuses is part of the outcome."""
    result = result_of(plan, judged, seen, record=record, directory=directory.path)
    try:
        put(directory, plan, result, seen)
    except StoreError as error:
        told = failed(judged, f"the verdict could not be written: {error}")
        return result_of(plan, told, seen, record=record, directory=directory.path)
    return result


def put(directory: RunDir, plan: Plan, result: RunResult, seen: Seen) -> None:
    """Write verdict.json and junit.xml, and what broke here, if anything did.

    Virtual time begins when no clock of ours says.
    """
    if seen.tracebacks:
        write_atomic(directory.own_log, "\n".join(seen.tracebacks).encode(errors="backslashreplace"))
    directory.write_verdict(result.json)
    began = ORIGIN if plan.on is Place.SIM else now()
    write_atomic(directory.junit, junit([case_of(plan, result)], began=began))


def case_of(plan: Plan, result: RunResult) -> Case:
    """Return the run as a case of a CI server."""
    return of_run(result.json, suite=plan.name, name=f"seed {plan.seed}")


def planted_json(plan: Plan) -> list[dict[str, Any]]:
    """Return what is wrong with the target because the plan put it there."""
    mistakes = [find(plan.target).mistakes[name] for name in plan.mistakes]
    return [
        {
            "mistake": each.id,
            "rule": each.rule,
            "rules": list(each.rules),
            "sentence": each.sentence,
        }
        for each in mistakes
    ]


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


def _where_it_broke(seen: Seen) -> list[str]:
    return [f"where something broke that should not stands in {OWN_LOG}"] if seen.tracebacks else []


def _leader_changes(judged: Judgement, seen: Seen) -> int:
    """Count by the nodes' own evidence; where they leave none, by what they said when asked."""
    timelines = [] if judged.timelines is None else list(judged.timelines.values())
    terms = {lead.term for timeline in timelines for lead in timeline.leaderships}
    return max(0, (len(terms) or seen.leaders) - 1)
