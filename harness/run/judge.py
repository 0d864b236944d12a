"""How a run ends: every judge is heard, then the worst thing that is certain is the outcome.

Judges are kept apart: one that breaks, or a history that is malformed, silences no other one, and is
itself part of the outcome. The order of the words is `harness.outcome`'s. A violation is never spoken of
more softly because something else went wrong as well, and nothing that went wrong in the harness is
ever spoken of as a violation. A hearing that is interrupted keeps what was said until then, and says of
the rest that nobody looked, not that nothing was there.

A *pass* asks for more than no violation: every claim of the policy was exercised, every step of a
schedule that was aimed or given was done, every node was there to be read back, and the harness itself
was fit to observe.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker import Budget, MalformedHistory, Report, check, formats
from checker.conviction import Conviction
from checker.errors import CheckerError
from checker.evidence_lines import gather, missed
from checker.operations import History
from checker.oracles.availability import WRITES
from checker.oracles.result import OracleResult, violations
from checker.timeline import Timelines
from checker.verdict import Outcome as CheckOutcome
from harness.bugs import traceback_of
from harness.memory import held_bytes
from harness.outcome import Outcome, worst
from harness.plan.plan import ScheduleFrom
from harness.report.claims import ALLOWED

from .testimony import Testimony, declared
from .workloads import model_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from checker.evidence import EvidenceLine
    from harness.plan.plan import Plan


KEYS_TOLD_MAX: Final = 10


class Seen(msgspec.Struct, kw_only=True):
    """What the run itself knows, besides its files. Times from the origin.

    ``leaders`` is how many terms were seen to have one, by asking the nodes now and then;
    ``interrupted`` what cut the run short, ``given_up`` what ended its check; ``unharmed`` why no fault
    took hold; ``silent`` the nodes with a part in the healed cluster that answered no final read, and
    ``unseen`` the keys that none told the value of; ``calm_ns`` the spans in which faults left a
    majority in peace, where availability is required; ``tracebacks`` those of what broke here, which
    are for whoever mends it.
    """

    leaders: int = 0
    load_ns: tuple[int, int] | None = None
    healed_ns: int | None = None
    calm_ns: tuple[tuple[int, int], ...] = ()
    interrupted: str | None = None
    given_up: str | None = None
    unreliable: str | None = None
    failures: list[str] = []
    tracebacks: list[str] = []
    missed: list[str] = []
    unharmed: str | None = None
    silent: list[str] = []
    unseen: list[str] = []
    notes: list[str] = []


class Judgement(msgspec.Struct, kw_only=True):
    """What all judges said. ``causes`` says why the outcome is no pass, by outcome.

    ``witnessed`` is what speaks against a pass and no file of the run shows, so that whoever judges them
    again has to be told. ``complete`` is whether every judge was heard; without it, what is missing was
    not looked for.
    """

    outcome: Outcome
    causes: dict[Outcome, list[str]]
    witnessed: dict[Outcome, list[str]]
    history: History | None
    report: Report | None
    timelines: Timelines | None
    oracles: tuple[OracleResult, ...]
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
        return next((told.kind for told in violations(self.oracles)), None)


def judge(plan: Plan, history: bytes | None, evidence: Mapping[str, bytes], seen: Seen) -> Judgement:
    """Hear every judge."""
    hearing = Hearing(plan, seen)
    hearing.hear_files(history, evidence)
    return hearing.conclude()


class Hearing:
    """What the judges have said so far; an interruption leaves it as it is."""

    def __init__(self, plan: Plan, seen: Seen) -> None:
        self.plan = plan
        self.seen = seen
        self.testimony = Testimony(plan, declared(plan, healed_ns=seen.healed_ns, calm_ns=seen.calm_ns))
        self.causes: dict[Outcome, list[str]] = {}
        self.witnessed: dict[Outcome, list[str]] = {}
        self.notes = list(seen.notes)
        self.history: History | None = None
        self.report: Report | None = None
        self.load_s = 0.0
        self.complete = False
        self._checking = False
        self._hurried = False

    def _because(self, outcome: Outcome, cause: str) -> None:
        self.causes.setdefault(outcome, []).append(cause)

    def _witness(self, outcome: Outcome, cause: str) -> None:
        """Enter a cause that the run alone could see."""
        self._because(outcome, cause)
        self.witnessed.setdefault(outcome, []).append(cause)

    def hear_files(self, history: bytes | None, evidence: Mapping[str, bytes]) -> None:
        """Hear every judge of a run's files."""
        self.hear("the history", lambda: self._read(history))
        self.hear("the evidence", lambda: self._read_evidence(evidence))
        self._hear_all()

    def hear_recorded(self, history: History, evidence: Iterable[EvidenceLine]) -> None:
        """Hear every judge of a run that is still in memory; lines of one node come in their order."""
        self.history = history
        self.hear("the evidence", lambda: self._lay(evidence, missing=()))
        self._hear_all()

    def _hear_all(self) -> None:
        self.hear("the checker", self._check)
        self.hear("the oracles", self._hear_oracles)
        self.hear("the rules", self._convict)
        self.hear("the count of what was exercised", lambda: self.testimony.count(self.history))
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
            self.seen.tracebacks.append(traceback_of(error))
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
        self._lay(gathered.lines, missing=gathered.missing)

    def _lay(self, lines: Iterable[EvidenceLine], *, missing: tuple[str, ...]) -> None:
        self.testimony.lay(lines, self.history)
        nodes = dict.fromkeys((*missing, *self.testimony.missing(self.history)))
        if nodes:
            self._because(Outcome.UNKNOWN, missed(tuple(nodes)))

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
        self.testimony.hear_oracles(self.history)
        for proof in self.testimony.proofs:
            self._because(Outcome.VIOLATION, f"{proof.name}: {proof.sentence}")
        for cause in self.testimony.unheard(self.history):
            self._because(Outcome.UNKNOWN, cause)

    def _convict(self) -> None:
        self.testimony.convict(self.report.violation if self.report is not None else None)

    def conclude(self) -> Judgement:
        """Return what all of it comes to."""
        for failure in self.seen.failures:
            sentence, *story = failure.splitlines()  # a node's last words, for instance
            self._witness(Outcome.HARNESS_FAILURE, sentence)
            self.notes.extend(story)
        if self.seen.interrupted is not None:
            self._witness(Outcome.INTERRUPTED, self.seen.interrupted)
        if self.seen.given_up is not None:
            self._because(Outcome.INTERRUPTED, self.seen.given_up)
        if self.seen.unreliable is not None:
            self._witness(Outcome.UNKNOWN, self.seen.unreliable)
        if self.seen.silent:
            nodes = ", ".join(self.seen.silent)
            unknown = f"{nodes} answered no final read: nobody knows what would have shown there"
            self._witness(Outcome.UNKNOWN, unknown)
        if acknowledged := self._unseen_writes():
            unknown = (
                f"no node answered a final read of {_listed(acknowledged)}, where writes were"
                " acknowledged: nobody knows whether they are still there"
            )
            self._witness(Outcome.UNKNOWN, unknown)
        self._not_exercised()
        if "not-exercised" in self.plan.allow:
            allowed = self.causes.pop(Outcome.NOT_EXERCISED, [])
            self.witnessed.pop(Outcome.NOT_EXERCISED, None)
            self.notes.extend(f"{ALLOWED}: {cause}" for cause in allowed)
        return Judgement(
            outcome=worst(self.causes),
            causes=self.causes,
            witnessed=self.witnessed,
            history=self.history,
            report=self.report,
            timelines=self.testimony.timelines,
            oracles=self.testimony.oracles,
            exercised=self.testimony.exercised,
            convictions=self.testimony.convictions,
            notes=self.notes,
            load_s=self.load_s,
            complete=self.complete,
        )

    def _unseen_writes(self) -> list[str]:
        """Return the keys with acknowledged writes that nobody could read back in the end."""
        if not self.seen.unseen or self.history is None:
            return []
        written = {each.key for each in self.history if each.f in WRITES and each.known}
        return [key for key in self.seen.unseen if key in written]

    def _not_exercised(self) -> None:
        drawn = self.plan.schedule_from is ScheduleFrom.SEED
        seen = [] if drawn else list(self.seen.missed)
        seen += [] if self.seen.unharmed is None else [self.seen.unharmed]
        if seen:
            self.witnessed[Outcome.NOT_EXERCISED] = seen
        if not self.complete:
            return  # nobody looked at the rest
        self.notes.extend(self.seen.missed if drawn else ())
        for cause in (*seen, *self.testimony.idle(self.history)):
            self._because(Outcome.NOT_EXERCISED, cause)


def _listed(keys: list[str]) -> str:
    more = len(keys) - KEYS_TOLD_MAX
    return ", ".join(keys[:KEYS_TOLD_MAX]) + (f" and {more} more" if more > 0 else "")


def failed(judged: Judgement, cause: str) -> Judgement:
    """Return a judgement with one more failure of the harness in it."""
    before = judged.causes.get(Outcome.HARNESS_FAILURE, [])
    causes = {**judged.causes, Outcome.HARNESS_FAILURE: [*before, cause]}
    return msgspec.structs.replace(judged, outcome=worst(causes), causes=causes)


def oracle_json(oracles: Iterable[OracleResult]) -> dict[str, Any]:
    """Return what the oracles said, by name, for ``--json`` and verdict.json."""
    return {result.name: msgspec.to_builtins(result, enc_hook=str, str_keys=True) for result in oracles}
