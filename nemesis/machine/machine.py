"""The nemesis as a pure state machine: ``step(input, now_ns) -> effects``.

It goes through the repetitions of the episodes one after the other. Each waits for its start (usually a
*stable* cluster), binds its roles, runs, heals what is left, and waits until every report is in.
`HealNow` ends all of it with a heal that is absolute. It holds no clock and no socket; its only
randomness is a generator of its own, for the order in which links heal.
"""

from __future__ import annotations

import itertools
import random
from enum import Enum
from typing import TYPE_CHECKING, Final

from nemesis.faults import Standing
from nemesis.ports import (
    Completed,
    Happened,
    HealNow,
    NemesisEffect,
    NemesisInput,
    Note,
    StatusSeen,
    WakeUp,
)
from nemesis.schedule import After, At, Episode, Schedule, Wait

from .aim import Scale
from .ledger import Ledger
from .record import EpisodeRun, InjectionRecord
from .roles import Unbound, bind
from .running import Running
from .sight import Sight

if TYPE_CHECKING:
    from collections.abc import Sequence

REPORTS_E: Final = 15.0
"""How long reports of heals are waited for, in election timeouts, before the next repetition begins."""

USUAL_DRIFT_PPM: Final = 50_000


class Phase(Enum):
    """Where the machine is within a repetition."""

    STARTING = "starting"
    RUNNING = "running"
    CLOSING = "closing"
    OVER = "over"
    HEALING = "healing"


class Machine:
    """The nemesis of one run. See `nemesis.ports` for its inputs and effects."""

    def __init__(
        self,
        schedule: Schedule,
        nodes: Sequence[str],
        *,
        election_ns: int,
        seed: int,
        drift_ppm: int = USUAL_DRIFT_PPM,
    ) -> None:
        self._scale = Scale(tuple(nodes), election_ns, drift_ppm)
        self._sight = Sight(nodes, election_ns=election_ns)
        self._ledger = Ledger()
        self._rng = random.Random(f"{seed}/nemesis")
        self._numbers = itertools.count(1)
        self._plan = [
            (episode, repetition)
            for episode in schedule.episodes
            for repetition in range(1, episode.times + 1)
        ]
        self._place = 0
        self._phase = Phase.STARTING if self._plan else Phase.OVER
        self._origin_ns: int | None = None
        self._armed_ns = 0
        self._running: Running | None = None
        self._runs: list[EpisodeRun] = []

    @property
    def done(self) -> bool:
        """Whether nothing is left to do and everything is healed or known not to be."""
        return self._phase is Phase.OVER

    @property
    def record(self) -> InjectionRecord:
        """What was really done so far."""
        return InjectionRecord(episodes=tuple(self._runs), faults=self._ledger.record())

    @property
    def wake_ns(self) -> int | None:
        """When to feed `WakeUp` (harness clock); None when only events are awaited."""
        match self._phase:
            case Phase.OVER:
                return None
            case _ if self._origin_ns is None:
                return 0
            case Phase.STARTING:
                return self._start_ns(self._plan[self._place][0])
            case Phase.RUNNING:
                assert self._running is not None, "a repetition is running"
                return self._running.wake_ns()
            case Phase.CLOSING | Phase.HEALING:
                return self._armed_ns + self._reports_ns

    def step(self, event: NemesisInput, now_ns: int) -> tuple[NemesisEffect, ...]:
        """Take what happened; return what is to be done."""
        if self._origin_ns is None:
            self._origin_ns = self._armed_ns = now_ns
        effects: list[NemesisEffect] = []
        match event:
            case StatusSeen():
                self._sight.see(event.status, now_ns)
                if self._running is not None:
                    self._running.watch.looked(now_ns)
            case Completed():
                if self._running is not None:
                    self._running.watch.completed(event, now_ns)
            case Happened():
                effects.extend(self._ledger.happened(event, now_ns))
            case HealNow():
                effects.extend(self._heal_now(now_ns))
            case WakeUp():
                pass
        effects.extend(self._advance(now_ns))
        return tuple(effects)

    @property
    def _reports_ns(self) -> int:
        return round(REPORTS_E * self._scale.election_ns)

    def _advance(self, now_ns: int) -> list[NemesisEffect]:
        """Go on until nothing is due."""
        effects: list[NemesisEffect] = []
        before: tuple[Phase, int] | None = None
        while before != (self._phase, self._place):
            before = (self._phase, self._place)
            match self._phase:
                case Phase.STARTING:
                    effects.extend(self._start(now_ns))
                case Phase.RUNNING:
                    effects.extend(self._run(now_ns))
                case Phase.CLOSING | Phase.HEALING:
                    effects.extend(self._close(now_ns))
                case Phase.OVER:
                    pass
        return effects

    def _start_ns(self, episode: Episode) -> int:
        """Return when an episode is due, or given up."""
        assert self._origin_ns is not None, "the schedule has begun"
        match episode.start:
            case At(span):
                return self._origin_ns + span.ns(self._scale.election_ns)
            case Wait(span):
                return self._armed_ns + span.ns(self._scale.election_ns)
            case After(_, by):
                return self._armed_ns + by.ns(self._scale.election_ns)

    def _start(self, now_ns: int) -> list[NemesisEffect]:
        """Begin the next repetition if its moment has come."""
        episode, repetition = self._plan[self._place]
        due = now_ns >= self._start_ns(episode)
        if isinstance(episode.start, After):
            if not self._sight.stable(now_ns):
                return self._give_up("missed: the cluster did not become stable", now_ns) if due else []
        elif not due:
            return []
        try:
            binding = bind(self._scale.nodes, self._sight, now_ns)
        except Unbound as why:
            return self._give_up(f"skipped: {why}", now_ns)
        self._running = Running(
            episode,
            repetition,
            binding,
            now_ns,
            scale=self._scale,
            sight=self._sight,
            ledger=self._ledger,
            rng=self._rng,
            numbers=self._numbers,
        )
        self._phase = Phase.RUNNING
        words = f"begins in term {binding.term}, {binding.leader} leads {', '.join(binding.followers)}"
        return [Note(f"{episode.name} #{repetition}: {words}")]

    def _give_up(self, reason: str, now_ns: int) -> list[NemesisEffect]:
        """Leave a repetition out."""
        episode, repetition = self._plan[self._place]
        self._runs.append(
            EpisodeRun(episode=episode.name, repetition=repetition, ended_ns=now_ns, trouble=(reason,))
        )
        return [Note(f"{episode.name} #{repetition}: {reason}"), *self._next(now_ns)]

    def _run(self, now_ns: int) -> list[NemesisEffect]:
        """Let the repetition do what is due; heal what it leaves."""
        assert self._running is not None, "a repetition is running"
        effects = self._running.advance(now_ns)
        if self._running.over:
            for number in self._running.numbers:
                effects.extend(self._ledger.heal(number, now_ns))
            self._phase, self._armed_ns = Phase.CLOSING, now_ns
        return effects

    def _close(self, now_ns: int) -> list[NemesisEffect]:
        """End the repetition, or the whole, once every report is in (or nobody will report)."""
        effects: list[NemesisEffect] = []
        if not self._ledger.settled:
            if now_ns < self._armed_ns + self._reports_ns:
                return []
            effects.append(Note("some faults were never reported on"))
        if self._phase is Phase.HEALING:
            self._phase = Phase.OVER
            return effects
        self._file(now_ns)
        return [*effects, *self._next(now_ns)]

    def _file(self, now_ns: int) -> None:
        """Enter the repetition that was running into the record."""
        running, self._running = self._running, None
        if running is None:
            return
        if not running.over:
            running.trouble.append("cut short by the end of the load")
        entries = [self._ledger.entries[number] for number in running.numbers]
        held = all(entry.standing is Standing.INSTALLED for entry in entries)
        self._runs.append(
            EpisodeRun(
                episode=running.episode.name,
                repetition=running.repetition,
                began_ns=running.began_ns,
                ended_ns=now_ns,
                term=running.binding.term,
                roles=running.binding.roles,
                complete=held and not running.trouble,
                trouble=tuple(running.trouble),
            )
        )

    def _next(self, now_ns: int) -> list[NemesisEffect]:
        """Turn to the next repetition; after an episode's last, say if it never ran through."""
        episode = self._plan[self._place][0]
        self._place += 1
        self._armed_ns = now_ns
        ended = self._place == len(self._plan)
        self._phase = Phase.OVER if ended else Phase.STARTING
        return self._verdict(episode) if ended or self._plan[self._place][0] is not episode else []

    def _verdict(self, episode: Episode) -> list[NemesisEffect]:
        """Say that a required episode never ran through: the run was not exercised."""
        through = any(run.complete for run in self._runs if run.episode == episode.name)
        if through or not episode.required:
            return []
        return [Note(f"{episode.name}: no repetition ran through as planned", missed=True)]

    def _heal_now(self, now_ns: int) -> list[NemesisEffect]:
        """Heal everything and start nothing more."""
        if self._phase is Phase.HEALING:
            return []
        effects: list[NemesisEffect] = []
        if self._phase is not Phase.OVER:
            self._file(now_ns)
            left = dict.fromkeys(episode for episode, _ in self._plan[self._place :])
            for episode in left:
                effects.extend(self._verdict(episode))
        self._phase, self._armed_ns = Phase.HEALING, now_ns
        return [*effects, *self._ledger.heal_all()]
