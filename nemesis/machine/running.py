"""One repetition of an episode, from its binding to its last heal.

Steps go one after the other. Beside them runs what earlier steps left behind: endings (a fault heals
when its time or event comes), repeated probes, and links that heal one by one. When all of it is over,
whatever the episode still holds is healed.

A step whose event does not come is *missed*: the danger was not made, so the rest of the repetition is
given up and healed. A step whose target nobody is at the moment is *skipped*, and the rest goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from nemesis.ports import NemesisEffect, Note, Probe
from nemesis.schedule import (
    After,
    At,
    Awaited,
    Episode,
    For,
    HealOf,
    ProbeAt,
    ProbeKind,
    Span,
    Step,
    Wait,
)

from .aim import Scale, faults_of
from .ledger import Entry, Ledger
from .roles import Binding, Unbound, resolve
from .watch import Watch

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from targets.cluster import Link

    from .sight import Sight

GAP_MIN_NS: Final = 20_000_000
"""Links that heal one by one are at least this far apart: less is all at once for the nodes."""

STEPS_MAX: Final = 10_000
"""No machine does more at one instant than this; more is a loop, and our own bug."""


@dataclass(slots=True)
class Ending:
    """A fault's end to come: an absolute time, or an event with its deadline."""

    numbers: tuple[int, ...]
    step: str
    armed_ns: int
    due_ns: int | None = None
    until: After | None = None


@dataclass(slots=True)
class Repeat:
    """A probe step going on beside the others."""

    step: int
    do: ProbeAt
    next_ns: int
    left: int


@dataclass(slots=True)
class Release:
    """One link of a cut that heals on its own."""

    number: int
    link: Link
    due_ns: int


class Running:
    """One repetition under way."""

    def __init__(  # noqa: PLR0913 - what a repetition is made of
        self,
        episode: Episode,
        repetition: int,
        binding: Binding,
        began_ns: int,
        *,
        scale: Scale,
        sight: Sight,
        ledger: Ledger,
        rng: random.Random,
        numbers: Iterator[int],
    ) -> None:
        self.episode, self.repetition, self.binding, self.began_ns = (
            episode,
            repetition,
            binding,
            began_ns,
        )
        self.trouble: list[str] = []
        self.given_up = False
        self._scale, self._sight, self._ledger, self._rng = scale, sight, ledger, rng
        self._numbers = numbers
        self._cursor = 0
        self._armed_ns = began_ns
        self._event_ns: int | None = None
        self._injected: dict[str, list[int]] = {}
        self._endings: list[Ending] = []
        self._repeats: list[Repeat] = []
        self._releases: list[Release] = []
        self._rests_until_ns: int | None = None
        self.watch = Watch(binding, sight, election_ns=scale.election_ns, reported=self._reported)

    def _reported(self) -> bool:
        return not any(self._ledger.entries[number].unreported for number in self.numbers)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the injections of this repetition, in order."""
        return tuple(number for made in self._injected.values() for number in made)

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to do but to heal."""
        pending = (
            self._cursor < len(self.episode.steps) or self._repeats or self._endings or self._releases
        )
        return self.given_up or not pending

    # What goes out.

    def advance(self, now_ns: int) -> list[NemesisEffect]:
        """Do everything that is due."""
        effects: list[NemesisEffect] = []
        if self._rests_until_ns is not None and now_ns < self._rests_until_ns:
            return effects
        for _ in range(STEPS_MAX):
            done = self._end_faults(now_ns) or self._release_links(now_ns)
            done = done or self._repeat_probes(now_ns) or self._next_step(now_ns)
            if done is None:
                self._rests_until_ns = None if self._awaits_events else self._soonest_ns()
                return effects
            effects.extend(done)
            if self.given_up:
                return effects
        raise AssertionError("a schedule that does not come to rest")

    def _next_step(self, now_ns: int) -> list[NemesisEffect] | None:
        """Do the next step if its moment has come; None if there is nothing to do."""
        if self.given_up or self._cursor >= len(self.episode.steps):
            return None
        step = self.episode.steps[self._cursor]
        due_ns = self._due_ns(step, now_ns)
        if due_ns is None:
            assert isinstance(step.when, After), "only an event can be missed"
            if now_ns < self._armed_ns + step.when.by.ns(self._scale.election_ns):
                return None
            return self._miss(step)
        if now_ns < due_ns:
            return None
        place, self._cursor = self._cursor, self._cursor + 1
        unless = step.unless
        passed_over = unless is not None and self.watch.happened(unless, self._armed_ns, now_ns)
        self._armed_ns, self._event_ns = now_ns, None
        return [] if passed_over else self._do(place, step, now_ns)

    def _due_ns(self, step: Step, now_ns: int) -> int | None:
        """Return when a step is due; None while its event has not happened."""
        election_ns = self._scale.election_ns
        match step.when:
            case At(span):
                return self.began_ns + span.ns(election_ns)
            case Wait(span):
                return self._armed_ns + span.ns(election_ns)
            case After(awaited, _, wait):
                if self._event_ns is None and self.watch.happened(awaited, self._armed_ns, now_ns):
                    self._event_ns = now_ns
                return None if self._event_ns is None else self._event_ns + wait.ns(election_ns)

    def _miss(self, step: Step) -> list[NemesisEffect]:
        """Give the repetition up."""
        assert isinstance(step.when, After), "only an event can be missed"
        words = (
            f"step {self._called(self._cursor)} missed: {step.when.awaited.event} did not happen in time"
        )
        self.given_up = True
        return [self._note(words)]

    def _do(self, place: int, step: Step, now_ns: int) -> list[NemesisEffect]:
        """Do a step."""
        match step.do:
            case HealOf(of, stagger):
                return self._heal(of, stagger, now_ns)
            case ProbeAt() as probe:
                if probe.f is ProbeKind.WRITE:
                    self.watch.wrote(place)
                if probe.times > 1:
                    next_ns = now_ns + probe.every.ns(self._scale.election_ns)
                    self._repeats.append(Repeat(place, probe, next_ns, probe.times - 1))
                return self._probe(place, probe, now_ns, first=True)
            case fault:
                return self._inject(place, step, fault, now_ns)

    def _inject(self, place: int, step: Step, do: Any, now_ns: int) -> list[NemesisEffect]:
        """Ask for the faults of a step, and remember when they end."""
        called = self._called(place)
        try:
            faults = faults_of(do, self._scale, self._resolver(now_ns))
        except Unbound as why:
            return [self._note(f"step {called} skipped: {why}")]
        effects: list[NemesisEffect] = []
        made = self._injected.setdefault(called, [])
        for fault in faults:
            entry = Entry(
                id=next(self._numbers),
                fault=fault,
                episode=self.episode.name,
                repetition=self.repetition,
                step=called,
                roles=self.binding.roles,
                asked_ns=now_ns,
            )
            made.append(entry.id)
            effects.extend(self._ledger.inject(entry))
        election_ns = self._scale.election_ns
        match step.until:
            case None:
                pass
            case For(span):
                due_ns = now_ns + span.ns(election_ns)
                self._endings.append(Ending(tuple(made), called, now_ns, due_ns))
            case At(span):
                due_ns = self.began_ns + span.ns(election_ns)
                self._endings.append(Ending(tuple(made), called, now_ns, due_ns))
            case After():
                self._endings.append(Ending(tuple(made), called, now_ns, until=step.until))
        return effects

    def _heal(self, of: str, stagger: Span | None, now_ns: int) -> list[NemesisEffect]:
        """Heal what an earlier step made, its links one by one if so wanted."""
        made = self._injected.get(of, [])
        self._endings = [each for each in self._endings if each.step != of]
        if stagger is None:
            return [effect for number in made for effect in self._ledger.heal(number, now_ns)]
        gap_max_ns = max(GAP_MIN_NS, stagger.ns(self._scale.election_ns))
        due_ns = now_ns
        for number in made:
            links = list(getattr(self._ledger.entries[number].fault, "links", ()))
            self._rng.shuffle(links)
            for link in links:
                self._releases.append(Release(number, link, due_ns))
                due_ns += self._rng.randint(GAP_MIN_NS, gap_max_ns)
        return []

    def _end_faults(self, now_ns: int) -> list[NemesisEffect] | None:
        """End the first fault whose time has come."""
        for ending in self._endings:
            effects = self._look(ending, now_ns)
            if ending.due_ns is not None and now_ns >= ending.due_ns:
                self._endings.remove(ending)
                for number in ending.numbers:
                    effects.extend(self._ledger.heal(number, now_ns))
                return effects
        return None

    def _look(self, ending: Ending, now_ns: int) -> list[NemesisEffect]:
        """Set the time of an ending that waits for an event, once that came or will not come."""
        if ending.due_ns is not None:
            return []
        assert ending.until is not None, "an ending has a time or an event"
        awaited, election_ns = ending.until.awaited, self._scale.election_ns
        if self.watch.happened(awaited, ending.armed_ns, now_ns):
            ending.due_ns = now_ns + ending.until.wait.ns(election_ns)
        elif now_ns >= ending.armed_ns + ending.until.by.ns(election_ns):
            ending.due_ns = now_ns
            return [
                self._note(f"step {ending.step} healed early: {awaited.event} did not happen in time")
            ]
        return []

    def _release_links(self, now_ns: int) -> list[NemesisEffect] | None:
        """Open the first link whose turn has come."""
        for release in self._releases:
            if now_ns >= release.due_ns:
                self._releases.remove(release)
                return list(self._ledger.heal(release.number, now_ns, links=(release.link,)))
        return None

    def _repeat_probes(self, now_ns: int) -> list[NemesisEffect] | None:
        """Send the first repeated probe that is due."""
        for repeat in self._repeats:
            if self.watch.acked(repeat.step):
                self._repeats.remove(repeat)
                return []
            if now_ns >= repeat.next_ns:
                repeat.left -= 1
                repeat.next_ns = now_ns + repeat.do.every.ns(self._scale.election_ns)
                if not repeat.left:
                    self._repeats.remove(repeat)
                return self._probe(repeat.step, repeat.do, now_ns, first=False)
        return None

    def _probe(self, place: int, do: ProbeAt, now_ns: int, *, first: bool) -> list[NemesisEffect]:
        """Send one operation to each target."""
        try:
            nodes = resolve(do.target, self.binding, self._sight, now_ns)
        except Unbound as why:
            return [self._note(f"step {self._called(place)} skipped: {why}")] if first else []
        probes: list[NemesisEffect] = []
        for node in nodes:
            number = next(self._numbers)
            if do.f is ProbeKind.WRITE:
                self.watch.wrote(place, number)
            probes.append(Probe(number, do.f.value, node, self.watch.key))
        return probes

    def _resolver(self, now_ns: int) -> Callable[..., tuple[str, ...]]:
        return lambda names: resolve(names, self.binding, self._sight, now_ns)

    def _called(self, place: int) -> str:
        """Return a step's name, or its place."""
        return self.episode.steps[place].name or str(place)

    def _note(self, words: str) -> Note:
        """Remember trouble: this repetition is not complete."""
        self.trouble.append(words)
        return Note(f"{self.episode.name} #{self.repetition}: {words}")

    # When to come back.

    def wake_ns(self) -> int | None:
        """Return the next instant at which something may be due, as far as it is known."""
        return self._soonest_ns() if self._rests_until_ns is None else self._rests_until_ns

    @property
    def _awaits_events(self) -> bool:
        """Whether something may be due before its time, because of what happens."""
        if self._repeats or any(ending.due_ns is None for ending in self._endings):
            return True
        if self._cursor >= len(self.episode.steps):
            return False
        return isinstance(self.episode.steps[self._cursor].when, After) and self._event_ns is None

    def _soonest_ns(self) -> int | None:
        election_ns = self._scale.election_ns
        times = [repeat.next_ns for repeat in self._repeats] + [
            release.due_ns for release in self._releases
        ]
        for ending in self._endings:
            if ending.until is None or ending.due_ns is not None:
                times.extend([] if ending.due_ns is None else [ending.due_ns])
            else:
                times.append(ending.armed_ns + ending.until.by.ns(election_ns))
                times.extend(self._expiries(ending.until.awaited))
        if self._cursor < len(self.episode.steps):
            match self.episode.steps[self._cursor].when:
                case At(span):
                    times.append(self.began_ns + span.ns(election_ns))
                case Wait(span):
                    times.append(self._armed_ns + span.ns(election_ns))
                case After(awaited, by, wait) if self._event_ns is None:
                    times.append(self._armed_ns + by.ns(election_ns))
                    times.extend(self._expiries(awaited))
                case After(wait=wait):
                    assert self._event_ns is not None, "the other case came first"
                    times.append(self._event_ns + wait.ns(election_ns))
        return min(times, default=None)

    def _expiries(self, awaited: Awaited) -> list[int]:
        """Return when the lease will be short enough, if that is what is awaited."""
        at_ns = self.watch.expiring_ns(awaited)
        return [] if at_ns is None else [at_ns]
