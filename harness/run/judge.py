"""How a run ends: every judge is heard, then the worst thing that is certain is the outcome.

Judges are kept apart: one that breaks, or a history that is malformed, silences no other one, and is
itself part of the outcome. The order of the words is `harness.outcome`'s. A violation is never spoken of
more softly because something else went wrong as well, and nothing that went wrong in the harness is
ever spoken of as a violation. A hearing that is interrupted keeps what was said until then, and says of
the rest that nobody looked, not that nothing was there.

A *pass* asks for more than no violation: every claim of the policy was exercised, every step of a
schedule that was aimed or given was done, and the harness itself was fit to observe.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from checker import Budget, MalformedHistory, Report, check, formats
from checker import exercised as exercising
from checker.conviction import Conviction
from checker.errors import CheckerError
from checker.evidence_lines import gather, missed
from checker.operations import History, Operation
from checker.oracles.availability import READS
from checker.oracles.judge import Declared
from checker.oracles.judge import judge as judge_evidence
from checker.oracles.result import OracleOutcome, OracleResult
from checker.timeline import Timelines
from checker.timeline import build as build_timelines
from checker.verdict import Outcome as CheckOutcome
from harness.memory import held_bytes
from harness.outcome import Outcome, worst
from harness.plan.plan import Load, ScheduleFrom
from harness.report import checked
from targets.catalog import find

from .convicted import convicted
from .workloads import claims_of, model_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from checker.evidence import EvidenceLine
    from harness.plan.plan import Plan

AVAILABLE_AGAIN_E = 5  # reads and writes are back within so many election timeouts of the heal


class Seen(msgspec.Struct, kw_only=True):
    """What the run itself knows, besides its files. Times from the origin.

    ``leaders`` is how many terms were seen to have one, by asking the nodes now and then; ``unharmed``
    why no fault took hold although some were made; ``calm_ns`` the spans in which faults left a majority
    in peace, where availability is required.
    """

    leaders: int = 0
    load_ns: tuple[int, int] | None = None
    healed_ns: int | None = None
    calm_ns: tuple[tuple[int, int], ...] = ()
    interrupted: str | None = None
    unreliable: str | None = None
    failures: list[str] = []
    missed: list[str] = []
    unharmed: str | None = None
    notes: list[str] = []


class Judgement(msgspec.Struct, kw_only=True):
    """What all judges said. ``causes`` says why the outcome is no pass, by outcome.

    ``complete`` is whether every judge was heard; without it, what is missing was not looked for.
    """

    outcome: Outcome
    causes: dict[Outcome, list[str]]
    history: History | None
    report: Report | None
    timelines: Timelines | None
    oracles: list[OracleResult]
    exercised: dict[str, int]
    convictions: tuple[Conviction, ...] = ()
    notes: list[str]
    load_s: float
    complete: bool = True

    @property
    def reason(self) -> str | None:
        """The first cause of the outcome."""
        return next(iter(self.causes.get(self.outcome, ())), None)

    @property
    def kind(self) -> str | None:
        """What kind of violation is proved; the history's own comes first."""
        if self.outcome is not Outcome.VIOLATION:
            return None
        if self.report is not None and self.report.violation is not None:
            return str(self.report.violation.kind)
        broken = (told for told in self.oracles if told.outcome is OracleOutcome.VIOLATION)
        return next((told.kind for told in broken), None)


def declared(
    plan: Plan, *, healed_ns: int | None, calm_ns: tuple[tuple[int, int], ...] = ()
) -> Declared:
    """Return what the oracles hold a run of this plan to; ``healed_ns`` None if no one knows."""
    mode = find(plan.target).modes[plan.policy]
    return Declared(
        nodes=plan.node_names,
        drift_ppm=plan.drift_ppm,
        owes=mode.owes,
        healed_ns=healed_ns,
        calm_ns=calm_ns,
        resume_within_ns=AVAILABLE_AGAIN_E * plan.election_ns,
        availability_required="availability" in plan.require,
    )


def judge(plan: Plan, history: bytes | None, evidence: Mapping[str, bytes], seen: Seen) -> Judgement:
    """Hear every judge."""
    hearing = Hearing(plan, seen)
    hearing.hear_files(history, evidence)
    return hearing.conclude()


class Hearing:
    """What the judges have said so far; an interruption leaves it as it is."""

    def __init__(self, plan: Plan, seen: Seen) -> None:
        self.plan = plan
        self.claims = claims_of(plan)
        self.seen = seen
        self.causes: dict[Outcome, list[str]] = {}
        self.notes = list(seen.notes)
        self.history: History | None = None
        self.report: Report | None = None
        self.timelines: Timelines | None = None
        self.oracles: list[OracleResult] = []
        self.exercised: dict[str, int] = {}
        self.convictions: tuple[Conviction, ...] = ()
        self.load_s = 0.0
        self.complete = False
        self._checking = False
        self._hurried = False

    def _because(self, outcome: Outcome, cause: str) -> None:
        self.causes.setdefault(outcome, []).append(cause)

    def hear_files(self, history: bytes | None, evidence: Mapping[str, bytes]) -> None:
        """Hear every judge of a run's files."""
        self.hear("the history", lambda: self._read(history))
        self.hear("the evidence", lambda: self._read_evidence(evidence))
        self._hear_all()

    def hear_recorded(self, history: History, evidence: Iterable[EvidenceLine]) -> None:
        """Hear every judge of a run that is still in memory; lines of one node come in their order."""
        self.history = history
        self.hear("the evidence", lambda: self._lay(evidence))
        self._hear_all()

    def _hear_all(self) -> None:
        self.hear("the checker", self._check)
        self.hear("the oracles", self._hear_oracles)
        self.hear("the rules", self._convict)
        self.hear("the count of what was exercised", self._count)
        self.complete = True

    def hurry(self) -> bool:
        """Let a check that goes on end where it is, with what it has proved; False if none does."""
        hurried = self._checking and not self._hurried
        self._hurried = hurried or self._hurried
        return hurried

    def _clock_s(self) -> float:
        """Return the time, at which every budget has run out once somebody is in a hurry."""
        return math.inf if self._hurried else time.monotonic()

    def hear(self, who: str, judging: Callable[[], None]) -> None:
        """Let one judge speak; what goes wrong with it is said of it alone."""
        try:
            judging()
        except MalformedHistory as error:
            self._because(Outcome.MALFORMED, str(error))
        except CheckerError as error:
            self._because(Outcome.HARNESS_FAILURE, f"{who}: {error}")
        except Exception as error:  # noqa: BLE001 - isolated: the other judges are still heard
            self._because(Outcome.HARNESS_FAILURE, f"{who} broke: {error!r}")

    def _read(self, data: bytes | None) -> None:
        if data is None:
            return
        began_s = time.monotonic()
        self.history = formats.read(data, name="history.jsonl", format="jsonl", lenient=False)
        self.load_s = time.monotonic() - began_s
        self.notes.extend(self.history.notes)

    def _read_evidence(self, evidence: Mapping[str, bytes]) -> None:
        gathered = gather(evidence, nodes=self.plan.node_names)
        self.notes.extend(gathered.notes)
        if gathered.missing:
            self._because(Outcome.UNKNOWN, missed(gathered.missing))
        self._lay(gathered.lines)

    def _lay(self, lines: Iterable[EvidenceLine]) -> None:
        origin_ns = self.history.header.origin_ns if self.history and self.history.header else 0
        self.timelines = build_timelines(lines, origin_ns=origin_ns)

    def _check(self) -> None:
        if self.history is None:
            return
        before_bytes = held_bytes()
        budget = Budget(
            time_s=self.plan.check_s,
            memory_bytes=self.plan.check_mb << 20,
            clock=self._clock_s,
            memory=lambda: held_bytes() - before_bytes,
        )
        self._checking = True
        try:
            self.report = check(self.history, model=model_of(self.plan), budget=budget)
        finally:
            self._checking = False
        if self._hurried and self.report.outcome is not CheckOutcome.VIOLATION:
            self.report = None  # "the time limit" would be a lie
        else:
            self._take(self.report)
        if self._hurried:
            raise KeyboardInterrupt

    def _take(self, report: Report) -> None:
        match report.outcome:
            case CheckOutcome.VIOLATION:
                self._because(Outcome.VIOLATION, report.sentence)
            case CheckOutcome.UNKNOWN:
                self._because(Outcome.UNKNOWN, report.sentence)
            case CheckOutcome.NOT_EXERCISED:
                self._because(Outcome.NOT_EXERCISED, report.sentence)
            case CheckOutcome.PASS:
                pass

    def _hear_oracles(self) -> None:
        if self.history is None or self.timelines is None:
            return
        owed = declared(self.plan, healed_ns=self.seen.healed_ns, calm_ns=self.seen.calm_ns)
        self.oracles = list(judge_evidence(list(self.history), self.timelines, owed))
        for result in self.oracles:
            if result.outcome is OracleOutcome.VIOLATION:
                said = result.findings[0].sentence if result.findings else result.kind
                self._because(Outcome.VIOLATION, f"{result.name}: {said}")

    def _convict(self) -> None:
        found = self.report.violation if self.report is not None else None
        self.convictions = convicted(self.plan, found, self.oracles, self.timelines)

    def _count(self) -> None:
        if self.history is None or self.timelines is None:
            return
        counts = exercising.count(self.history, self.timelines)
        self.exercised = {claim: counts.get(claim, 0) for claim in self.claims}

    def conclude(self) -> Judgement:
        """Return what all of it comes to."""
        for failure in self.seen.failures:
            sentence, *story = failure.splitlines()  # a node's last words, for instance
            self._because(Outcome.HARNESS_FAILURE, sentence)
            self.notes.extend(story)
        if self.seen.interrupted is not None:
            self._because(Outcome.INTERRUPTED, self.seen.interrupted)
        if self.seen.unreliable is not None:
            self._because(Outcome.UNKNOWN, self.seen.unreliable)
        for cause in self._not_exercised():
            self._because(Outcome.NOT_EXERCISED, cause)
        if "not-exercised" in self.plan.allow:
            allowed = self.causes.pop(Outcome.NOT_EXERCISED, [])
            self.notes.extend(f"not exercised, which was allowed: {cause}" for cause in allowed)
        return Judgement(
            outcome=worst(self.causes),
            causes=self.causes,
            history=self.history,
            report=self.report,
            timelines=self.timelines,
            oracles=self.oracles,
            exercised=self.exercised,
            convictions=self.convictions,
            notes=self.notes,
            load_s=self.load_s,
            complete=self.complete,
        )

    def _claimant(self) -> str:
        """Return who makes the claims, for a sentence about them."""
        load = self.plan.workload
        beside = "" if load is Load.REGISTER else f" under workload {load}"
        return f"policy {self.plan.policy}{beside} claims"

    def _not_exercised(self) -> list[str]:
        causes: list[str] = []
        if not self.complete:
            return causes  # nobody looked
        if self.plan.schedule_from is ScheduleFrom.SEED:
            self.notes.extend(self.seen.missed)
        else:
            causes.extend(self.seen.missed)
        idle = [claim for claim in self.claims if not self.exercised.get(claim)]
        if idle:
            causes.append(f"{self._claimant()} {', '.join(idle)}, and this run had none")
        if self.seen.unharmed is not None:
            causes.append(self.seen.unharmed)
        if self.history is not None and self.history and not any(map(_is_read, self.history)):
            causes.append("no read was answered, so there was nothing that could have been stale")
        return causes


def _is_read(operation: Operation) -> bool:
    return operation.f in READS and operation.known


def failed(judged: Judgement, cause: str) -> Judgement:
    """Return a judgement with one more failure of the harness in it."""
    before = judged.causes.get(Outcome.HARNESS_FAILURE, [])
    causes = {**judged.causes, Outcome.HARNESS_FAILURE: [*before, cause]}
    return msgspec.structs.replace(judged, outcome=worst(causes), causes=causes)


def words_of_keys(report: Report | None) -> dict[str, int]:
    """Return how many keys ended how."""
    return dict(Counter(checked.key_word(key) for key in report.keys)) if report is not None else {}


def oracle_json(oracles: list[OracleResult]) -> dict[str, Any]:
    """Return what the oracles said, by name, for ``--json`` and verdict.json."""
    return {result.name: msgspec.to_builtins(result, enc_hook=str, str_keys=True) for result in oracles}
