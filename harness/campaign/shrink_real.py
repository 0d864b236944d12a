"""A failing plan made small where it ran, on processes or in containers, by asking each part for a rate.

In virtual time one run answers whether a plan still shows the failure; here it shows it now and then. So
the plan as it is comes first: it is run until it has shown the failure a few times, which says how often
it does. Then each candidate is run until it is known whether it shows the failure as often, or hardly
ever (`rate.Question`); what is not known in time counts as hardly, so nothing is left out by luck.
All of it is asked again until a whole round leaves nothing out, but no plan that hardly shows it twice.

A run costs seconds, so what is left out is coarse, the largest savings first: episodes, their
repetitions, time after the proof, load, single steps. The operations stay those of the workload: on
processes no instant of a list means anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from harness.plan import is_plan
from harness.plan.plan import Plan, ScheduleFrom
from harness.plan.schedules import dumped, of_plan
from harness.store.errors import StoreError
from harness.words import many
from nemesis import Episode, Schedule

from .rate import Known, Question, Rate
from .reduce import reduced
from .shrink import INTERRUPTED, NotReproduced, Undecided, fingerprint
from .smaller import lower_rates, simpler_load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHOWN_MIN: Final = 3
BASE_TRIES_MAX: Final = 10
USUALLY_MAX: Final = 0.8
HARDLY_SHARE: Final = 0.375
"""A plan hardly shows it if it does so this much as often as the plan as it was."""
AFTER_S: Final = 1.0
WORTH: Final = 0.9


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """One run: the kind of violation it proved, if any, its sentence, and where it lies.

    ``proof_s`` is when the proof's last operation ended, in seconds from the start of the load.
    """

    kind: str | None
    proof_s: float | None
    directory: Path
    reason: str | None


class ShrunkReal(msgspec.Struct, frozen=True, kw_only=True):
    """Where it came to: the plan, how often it shows the failure, and one run that did.

    ``before`` is the rate of the plan as it was; ``stopped`` says why it might go on from here.
    """

    plan: Plan
    rate: Rate
    before: Rate
    shown: Try
    tries: int
    stopped: str | None

    @property
    def steps(self) -> int:
        """How many steps are left in its schedule."""
        return sum(len(episode.steps) for episode in of_plan(self.plan).episodes)


class Stopped(Exception):  # noqa: N818 - an end, not a failure
    """No run is to be started any more; the message says why."""


def shrink_real(
    plan: Plan,
    attempt: Callable[[Plan], Try],
    drop: Callable[[Try], None],
    *,
    say: Callable[[str], None] = lambda _line: None,
) -> ShrunkReal:
    """Return the smallest plan that shows the failure as often as ``plan`` does.

    ``attempt`` runs a plan; it raises `Stopped` (or KeyboardInterrupt) where no more is to be run. Of a
    run that is not needed any more ``drop`` is told. A disk without room for the next run ends it with
    what was found. Raises `NotReproduced` if ``plan`` shows nothing,
    and `Undecided` if that is not known when no more is to be run.
    """
    shrinking = _Shrinking(msgspec.structs.replace(plan, name="minimal"), attempt, drop, say)
    try:
        shrinking.until_minimal()
    except (Stopped, StoreError) as why:
        return shrinking.result(stopped=str(why))
    except KeyboardInterrupt:
        return shrinking.result(stopped=INTERRUPTED)
    return shrinking.result(stopped=None)


class _Shrinking:
    def __init__(
        self,
        plan: Plan,
        attempt: Callable[[Plan], Try],
        drop: Callable[[Try], None],
        say: Callable[[str], None],
    ) -> None:
        self.plan = plan
        self._attempt = attempt
        self._drop = drop
        self._say = say
        self._tries = 0
        self._in_vain: set[bytes] = set()
        self._kind: str | None = None
        self._shown: Try | None = None
        self._proof_s = 0.0
        self._before = self._rate = self._base()
        share = self._before.share
        assert share is not None
        usually = min(USUALLY_MAX, share)
        self._question = Question(
            usually=usually, hardly=usually * HARDLY_SHARE, tries_max=round(8 / usually)
        )

    def result(self, *, stopped: str | None) -> ShrunkReal:
        assert self._shown is not None, "the base was shown"
        return ShrunkReal(
            plan=self.plan,
            rate=self._rate,
            before=self._before,
            shown=self._shown,
            tries=self._tries,
            stopped=stopped,
        )

    # How often.

    def _base(self) -> Rate:
        """Run the plan as it is until it has shown the failure a few times."""
        rate, shown = Rate(), None
        while rate.shown < SHOWN_MIN:
            if rate.tries >= BASE_TRIES_MAX:
                if shown is not None:
                    self._drop(shown)
                raise NotReproduced(f"on {self.plan.on} the plan showed it in {rate}; that is too rare")
            try:
                tried = self._run(self.plan)
            except Stopped as why:
                if shown is not None:
                    self._drop(shown)
                raise Undecided(f"{why} when it had been shown in {rate}") from why
            rate = rate.and_then(showed=self._shows(tried))
            shown = self._newer(shown, tried)
        self._shown = shown
        self._say(f"{many(self._tries, 'run'):>9}: as it is, {rate}")
        return rate

    def _shows(self, tried: Try) -> bool:
        if tried.kind is not None and self._kind is None:
            self._kind = tried.kind
        return tried.kind is not None and tried.kind == self._kind

    def _newer(self, before: Try | None, tried: Try) -> Try | None:
        """Keep one run that shows it, the newest; drop the others."""
        if not self._shows(tried):
            self._drop(tried)
            return before
        if before is not None:
            self._drop(before)
        if tried.proof_s is not None:
            self._proof_s = max(self._proof_s, tried.proof_s)
        return tried

    def _run(self, plan: Plan) -> Try:
        tried = self._attempt(plan)
        self._tries += 1
        return tried

    def _try(self, plan: Plan) -> bool:
        """Ask a plan; take it if it shows the failure as often as the plan as it was.

        What is no plan is not run: one that heals, say, what was left out.
        """
        if plan == self.plan:
            return True
        asked = fingerprint(plan)
        if asked in self._in_vain or not is_plan(plan):
            return False
        rate, shown = Rate(), None
        before_s, self._proof_s = self._proof_s, 0.0
        try:
            while (known := self._question.answer(rate)) is Known.OPEN:
                tried = self._run(plan)
                rate = rate.and_then(showed=self._shows(tried))
                shown = self._newer(shown, tried)
        except BaseException:
            self._give_up(shown, before_s)
            raise
        if known is not Known.USUALLY:
            self._in_vain.add(asked)
            self._give_up(shown, before_s)
            return False
        assert self._shown is not None
        self._drop(self._shown)
        self.plan, self._rate, self._shown = plan, rate, shown
        return True

    def _give_up(self, shown: Try | None, proof_s: float) -> None:
        self._proof_s = proof_s
        if shown is not None:
            self._drop(shown)

    # What is left out.

    def until_minimal(self) -> None:
        """Leave out what can be left out, until a whole round of it changes nothing."""
        before = None
        while before != self.plan:
            before = self.plan
            self.smaller()

    def smaller(self) -> None:
        """Try to leave out each thing there is, the largest savings first."""
        reduced(of_plan(self.plan).episodes, self._try_episodes)
        self._told("episodes")
        once = tuple(
            msgspec.structs.replace(episode, times=1) for episode in of_plan(self.plan).episodes
        )
        self._try_episodes(once)
        self._cut_time()
        self._told("time")
        for changes in _lighter(self.plan):
            if self._try(msgspec.structs.replace(self.plan, **changes)):
                self._told(", ".join(changes))
        for place in range(len(of_plan(self.plan).episodes)):
            self._fewer_steps(place)
        self._cut_time()
        self._told("steps")

    def _told(self, what: str) -> None:
        episodes = of_plan(self.plan).episodes
        steps = sum(len(episode.steps) for episode in episodes)
        self._say(
            f"{many(self._tries, 'run'):>9}: {what}: {self.plan.time_s:.1f} s of load,"
            f" {many(len(episodes), 'episode')} of {many(steps, 'step')}, {self._rate}"
        )

    def _try_episodes(self, episodes: tuple[Episode, ...]) -> bool:
        schedule, source = dumped(Schedule(episodes)), ScheduleFrom.FILE
        return self._try(
            msgspec.structs.replace(self.plan, schedule=schedule, schedule_from=source, faults=())
        )

    def _fewer_steps(self, place: int) -> None:
        episodes = of_plan(self.plan).episodes
        episode = episodes[place]

        def still(steps: tuple[object, ...]) -> bool:
            fewer = msgspec.structs.replace(episode, steps=steps)
            return self._try_episodes((*episodes[:place], fewer, *episodes[place + 1 :]))

        reduced(episode.steps, still)

    def _cut_time(self) -> None:
        time_s = self._proof_s + AFTER_S
        if self._proof_s and time_s < WORTH * self.plan.time_s:
            self._try(msgspec.structs.replace(self.plan, time_s=round(time_s, 1)))


def _lighter(plan: Plan) -> Iterator[dict[str, object]]:
    """Yield what makes a load lighter; of rates the first that shows it is enough."""
    yield from simpler_load(plan)
    yield from lower_rates(plan, 200, 50)
