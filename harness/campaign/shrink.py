"""From a failing plan to a minimal one, by running it again in virtual time with things left out.

A step is kept if the run still proves a violation of the same kind; what is no plan (a step about a node
that was left out, say) is not run. First what makes the run large:
time after the proof, weather, load, episodes. Then what was decided is written down (`explicit`), and
single faults and operations are left out, faults shortened, and the instants rounded. What comes
later may make room for what was tried before (an operation at another instant is one that can go), so
all of it is done again until a whole round changes nothing: what is minimal shrinks to itself.

Nothing is drawn and no clock is looked at, so one failing plan shrinks to one minimal plan. A bound on
the runs ends it, or an interruption, with the smallest plan that was found until then.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec

from harness.outcome import Outcome
from harness.plan import is_plan
from harness.plan.plan import Plan, ScheduleFrom
from harness.run.judge import Judgement
from harness.run.simulate import Recording, judge_recording, simulate
from harness.words import many
from nemesis.schedule import For, Span, Step
from targets.clock import MS

from .explicit import explicit, faults_of, listed_in, operations_of, steps_of
from .reduce import reduced
from .smaller import ascending, changes, fewer_links, in_order, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.plan.script import Scripted

TRIES_MAX: Final = 3000
BUDGET_OVER: Final = "the budget was over"
INTERRUPTED: Final = "interrupted"
AFTER_NS: Final = 50 * MS
SHORTEST_S: Final = 0.001
ROUNDS: Final = (100 * MS, 10 * MS, MS)


class Shrunk(msgspec.Struct, frozen=True, kw_only=True):
    """A minimal plan with its run. ``faults`` and ``operations`` are what is left of them.

    ``stopped`` says why it might go on from here.
    """

    recording: Recording
    judged: Judgement
    faults: int
    operations: int
    tries: int
    stopped: str | None


class Best(msgspec.Struct, frozen=True):
    """A plan, its run and what is proved of it."""

    plan: Plan
    recording: Recording
    judged: Judgement


class NotReproduced(Exception):  # noqa: N818 - an answer, not a failure
    """The plan shows no violation in virtual time; the message says what it showed."""


class Undecided(NotReproduced):
    """Nor is it known that it shows none, for there was no time; the message says what it showed."""


def shrink(
    plan: Plan,
    *,
    say: Callable[[str], None] = lambda _line: None,
    show: Callable[[str], None] = lambda _line: None,
) -> Shrunk:
    """Return the minimal plan of one for the simulator; raise `NotReproduced` if it shows nothing.

    ``say`` is told what each part of the work came to, ``show`` after every run how far it is.
    """
    shrinking = Shrinking(msgspec.structs.replace(plan, name="minimal"), say, show)
    try:
        shrinking.until_minimal()
    except KeyboardInterrupt:
        return shrinking.result(stopped=INTERRUPTED)
    return shrinking.result(stopped=BUDGET_OVER if shrinking.refused else None)


class Shrinking:
    """The best plan so far, and the run that proves it: ``best``, in one piece.

    ``refused`` is whether a plan was not tried because there were `TRIES_MAX` of them.
    """

    def __init__(self, plan: Plan, say: Callable[[str], None], show: Callable[[str], None]) -> None:
        self._say = say
        self._show = show
        self._tries = 0
        self._in_vain: set[bytes] = set()
        self.refused = False
        recording = simulate(plan)
        self.best = Best(plan, recording, judge_recording(recording))
        self._kind = self.judged.kind
        if self.judged.outcome is not Outcome.VIOLATION:
            raise NotReproduced(
                f"in virtual time the plan ends as {self.judged.outcome.value}"
                + (f": {self.judged.reason}" if self.judged.reason else "")
            )
        self._steps: tuple[Step, ...] = ()
        self._operations: tuple[Scripted, ...] = ()
        self._time_ns = 0

    @property
    def plan(self) -> Plan:
        """The smallest plan that still proves it."""
        return self.best.plan

    @property
    def recording(self) -> Recording:
        """What that plan's run left."""
        return self.best.recording

    @property
    def judged(self) -> Judgement:
        """What was proved of it."""
        return self.best.judged

    def result(self, *, stopped: str | None) -> Shrunk:
        """Return where it came to."""
        best = self.best
        return Shrunk(
            recording=best.recording,
            judged=best.judged,
            faults=len(faults_of(best.recording)),
            operations=len(operations_of(best.recording)),
            tries=self._tries,
            stopped=stopped,
        )

    def _try(self, plan: Plan) -> bool:
        """Run a plan; take it if it still proves the same. One that did not is not run again."""
        if plan == self.plan:
            return True
        asked = fingerprint(plan)
        if asked in self._in_vain or not is_plan(plan):
            return False
        if self._tries >= TRIES_MAX:
            self.refused = True
            return False
        self._tries += 1
        recording = simulate(plan)
        judged = judge_recording(recording)
        proves = judged.outcome is Outcome.VIOLATION and judged.kind == self._kind
        if proves:
            self.best = Best(plan, recording, judged)
        else:
            self._in_vain.add(asked)
        self._show(self._so_far)
        return proves

    @property
    def _so_far(self) -> str:
        if self._time_ns:
            operations = many(len(self._operations), "operation")
            left = f"{many(len(self._steps), 'fault')}, {operations}"
        else:
            left = f"{self.plan.time_s:.2f} s of load, {many(self.plan.nodes, 'node')}"
        return f"{many(self._tries, 'run'):>9}: {left}"

    def until_minimal(self) -> None:
        """Do all there is to do, over again, until a whole round of it changes nothing."""
        before = None
        while before != self.plan:
            before = self.plan
            self.smaller()
            if self.written_down():
                self.left_out()

    # The run as a whole.

    def smaller(self) -> None:
        """Cut time, weather, nodes, load and episodes, as far as it goes."""
        self._cut_time()
        before = None
        while before != self.plan:
            before = self.plan
            for change in changes(self.plan):
                if self._try(msgspec.structs.replace(self.plan, **change)):
                    self._cut_time()
            if self.plan.operations is None:
                reduced(self.plan.schedule, self._try_schedule)
        self._say(self._so_far)

    def _try_schedule(self, episodes: tuple[object, ...]) -> bool:
        source = ScheduleFrom.FILE
        return self._try(
            msgspec.structs.replace(self.plan, schedule=episodes, schedule_from=source, faults=())
        )

    def _cut_time(self) -> None:
        """End the load soon after the last operation of the proof."""
        load_ns = self.recording.seen.load_ns
        assert load_ns is not None, "what proves something was under load"
        proof_ns = self._proved_ns()
        if proof_ns is not None:
            time_s = (proof_ns - load_ns[0] + AFTER_NS) / 1e9
            if time_s < self.plan.time_s:
                self._try(msgspec.structs.replace(self.plan, time_s=time_s))

    def _proved_ns(self) -> int | None:
        """Return when the last operation of the proof ended."""
        found = self.judged.report.violation if self.judged.report is not None else None
        if found is None:
            return None
        ends = [each.return_ns or each.call_ns for each in found.operations]
        return max(ends, default=None)

    # What was decided.

    def written_down(self) -> bool:
        """Turn what the run did into steps and a list, and return whether these show it too.

        What is written down already is taken as it stands. Taken from the run again it would read
        otherwise where the end of the run cut a fault short, say, and there would be no end of changes.
        """
        listed = listed_in(self.plan)
        if listed is not None:
            self._steps, self._operations, self._time_ns = listed
            return True
        load_ns = self.recording.seen.load_ns
        assert load_ns is not None, "what proves something was under load"
        steps = tuple(steps_of(faults_of(self.recording)))
        operations = self.plan.operations
        if operations is None:
            operations = operations_of(self.recording)
        time_ns = load_ns[1] - load_ns[0]
        self._steps, self._operations, self._time_ns = steps, operations, time_ns
        shown = self._try_parts(steps, operations)
        self._say(
            self._so_far if shown else "written down step by step it does not show: it stays as is"
        )
        return shown

    def _try_parts(self, steps: tuple[Step, ...], operations: tuple[Scripted, ...]) -> bool:
        if not self._try(explicit(self.plan, steps, operations, time_ns=self._time_ns)):
            return False
        self._steps, self._operations = steps, operations
        return True

    def left_out(self) -> None:
        """Leave out faults and operations until nothing more can be left out."""
        before = None
        while before != (self._steps, self._operations, self.plan.time_s):
            before = (self._steps, self._operations, self.plan.time_s)
            self._cut_load()
            for change in changes(self.plan):
                self._try(msgspec.structs.replace(self.plan, **change))
            reduced(self._operations, lambda part: self._try_parts(self._steps, part))
            reduced(self._steps, lambda part: self._try_parts(part, self._operations))
            self._split()
            self._lengthen_or_shorten()
            self._say(self._so_far)
        self._round()
        self._fewer_seats()

    def _cut_load(self) -> None:
        load_ns, proof_ns = self.recording.seen.load_ns, self._proved_ns()
        if load_ns is None or proof_ns is None:
            return
        time_ns = proof_ns - load_ns[0] + AFTER_NS
        if time_ns < self._time_ns:
            before, self._time_ns = self._time_ns, time_ns
            if not self._try_parts(self._steps, self._operations):
                self._time_ns = before

    def _split(self) -> None:
        """Cut fewer links: leave out ends of cuts, one at a time."""
        for place in range(len(self._steps)):
            again = True
            while again:
                again = any(
                    self._try_parts(
                        (*self._steps[:place], smaller, *self._steps[place + 1 :]), self._operations
                    )
                    for smaller in fewer_links(self._steps[place])
                )

    def _lengthen_or_shorten(self) -> None:
        """Let faults last to the end, which says less; else shorten them by halves."""
        for place, step in enumerate(self._steps):
            if step.until is None:
                continue
            if self._try_step(place, msgspec.structs.replace(step, until=None)):
                continue
            seconds = step.until.span.amount if isinstance(step.until, For) else 0.0
            while seconds > SHORTEST_S:
                seconds /= 2
                if not self._try_step(place, msgspec.structs.replace(step, until=For(Span(seconds)))):
                    break

    def _try_step(self, place: int, step: Step) -> bool:
        return self._try_parts((*self._steps[:place], step, *self._steps[place + 1 :]), self._operations)

    def _round(self) -> None:
        """Round instants and lengths as coarsely as they stand it."""
        for unit_ns in ROUNDS:
            for place, each in enumerate(self._operations):
                at_ns = round(each.at_ns / unit_ns) * unit_ns
                moved = msgspec.structs.replace(each, at_ns=at_ns)
                parts = (*self._operations[:place], moved, *self._operations[place + 1 :])
                if each.at_ns % (10 * unit_ns) and in_order(parts):
                    self._try_parts(self._steps, parts)
            for place, step in enumerate(self._steps):
                coarser = rounded(step, unit_ns)
                parts_ = (*self._steps[:place], coarser, *self._steps[place + 1 :])
                if ascending(parts_):
                    self._try_parts(parts_, self._operations)

    def _fewer_seats(self) -> None:
        """Give the seats the numbers from 0 on."""
        taken = sorted({each.seat for each in self._operations})
        seats = {seat: place for place, seat in enumerate(taken)}
        self._try_parts(
            self._steps,
            tuple(msgspec.structs.replace(each, seat=seats[each.seat]) for each in self._operations),
        )


def fingerprint(plan: Plan) -> bytes:
    """Return what equal plans have in common and no others."""
    return hashlib.sha256(msgspec.json.encode(plan)).digest()
