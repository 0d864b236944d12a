"""What can be told about a schedule before anything starts, and is refused then.

Names that nobody bears, rates that no clock can run at, heals of nothing, endings before their
beginnings, and faults that exclude each other: two pauses, two kills or two bends of one node at a
time. (Cuts may overlap: links are counted.) Moments that hang on events cannot be compared beforehand;
what overlaps there is skipped by the machine, with the reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from targets.clock import SECOND
from targets.cluster import CLIENTS

from .fields import amount, shown
from .grudges import LEADER_SHAPES, ONE_NODE_SHAPES, Shape, Side
from .schedule import (
    RATES,
    Action,
    After,
    At,
    BendAt,
    CutAt,
    Episode,
    EventName,
    For,
    HealOf,
    MembersAt,
    NamedLinks,
    NodesAt,
    ProbeAt,
    Schedule,
    ScheduleError,
    ShapedLinks,
    SlowAt,
    Step,
    TransferAt,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

LEADER: Final = "leader"
NEW_LEADER: Final = "new-leader"
FOLLOWERS: Final = "followers"
ALL: Final = "all"
FOLLOWER: Final = re.compile(r"follower-([1-9][0-9]?)")
NODE: Final = re.compile(r"n[1-9][0-9]*")
"""How nodes are called where a schedule is read before the nodes are known."""

USUAL_ELECTION_NS: Final = SECOND
"""Compares seconds with election timeouts where nothing is configured yet."""


def validate(
    schedule: Schedule,
    *,
    nodes: Sequence[str] | None = None,
    drift_ppm: int | None = None,
    flat: bool = False,
) -> None:
    """Raise `ScheduleError` at the first thing that cannot be run.

    Rates in declared bounds are looked at where ``drift_ppm`` says what one bound is.
    """
    for place, episode in enumerate(schedule.episodes):
        if isinstance(episode.start, After) and episode.start.awaited.event is not EventName.STABLE:
            problem = (
                "an episode can begin after stable only: the other events are about one that has begun"
            )
            raise ScheduleError(f"schedule[{place}].after", problem)
        path = "schedule" if flat else f"schedule[{place}].steps"
        _Check(episode, path, nodes, drift_ppm).run()


class _Busy(msgspec.Struct, frozen=True):
    """A fault that still holds a name: by which step, and until when on which anchor."""

    step: int
    anchor: int
    ends_ns: int | None


class _Check:
    """One episode being gone through, with a clock that starts again at every awaited event."""

    def __init__(
        self, episode: Episode, path: str, nodes: Sequence[str] | None, drift_ppm: int | None
    ) -> None:
        self.episode, self.path, self.nodes, self.drift_ppm = episode, path, nodes, drift_ppm
        self.anchor = 0
        self.now_ns = 0
        self.named: dict[str, int] = {}
        self.busy: dict[tuple[str, str], _Busy] = {}

    def run(self) -> None:
        """Go through the steps."""
        for place, step in enumerate(self.episode.steps):
            self._moment(place, step)
            self._names(place, step)
            self._rate(place, step)
            self._ending(place, step)
            if isinstance(step.do, HealOf):
                self._heal(place, step.do)
            else:
                self._exclusive(place, step)
            if step.name is not None:
                if step.name in self.named:
                    raise self._error(
                        place, "name", f"{shown(step.name)} is already step {self.named[step.name]}"
                    )
                self.named[step.name] = place

    def _error(self, place: int, key: str, problem: str) -> ScheduleError:
        return ScheduleError(f"{self.path}[{place}].{key}", problem)

    def _moment(self, place: int, step: Step) -> None:
        """Advance the clock; times since the episode began must not run backwards."""
        match step.when:
            case Wait(span):
                self.now_ns += span.ns(USUAL_ELECTION_NS)
            case After():
                self.anchor, self.now_ns = place + 1, 0
            case At(span):
                at_ns = span.ns(USUAL_ELECTION_NS)
                if self.anchor == 0 and at_ns < self.now_ns:
                    raise self._error(place, "at", "comes before the step before it")
                if self.anchor == 0:
                    self.now_ns = at_ns

    def _names(self, place: int, step: Step) -> None:
        """Refuse a name that is neither a role nor a node."""
        match step.do:
            case CutAt(ShapedLinks() as links) | SlowAt(ShapedLinks() as links):
                self._shape(place, links)
            case CutAt(NamedLinks() as links) | SlowAt(NamedLinks() as links):
                for key, ends in (("from", links.sources), ("to", links.sinks)):
                    for name in ends:
                        self._name(place, key, name, clients=True)
                self._apart(place, links)
            case HealOf():
                pass
            case NodesAt(target) | ProbeAt(_, target):
                self._targets(place, target)
        match step.do:
            case TransferAt(to=to):
                self._one(place, "to", to, "leadership is handed over to one node")
                if step.do.target == (to,):
                    raise self._error(place, "to", f"{shown(to)} is who hands over: to whom?")
            case MembersAt(voters=voters, learners=learners):
                self._targets(place, voters, key="voters")
                self._targets(place, learners, key="learners")
                self._once(place, voters, learners)
            case _:
                pass

    def _apart(self, place: int, links: NamedLinks) -> None:
        """Refuse links of which each would begin where it ends."""
        many = {FOLLOWERS, ALL}
        if all(source == sink not in many for source in links.sources for sink in links.sinks):
            raise self._error(place, "to", f"from {shown(links.sources[0])} to itself there is no link")

    def _rate(self, place: int, step: Step) -> None:
        """Refuse what comes to a rate that no clock can run at."""
        if self.drift_ppm is None or not isinstance(step.do, BendAt) or step.do.rate is None:
            return
        if not step.do.rate.possible(self.drift_ppm):
            problem = f"of a declared bound of {self.drift_ppm} ppm, and {RATES}"
            raise self._error(place, "rate", f"{amount(step.do.rate)} is too much {problem}")

    def _once(self, place: int, voters: Sequence[str], learners: Sequence[str]) -> None:
        """Refuse who is named twice among those who are to take part."""
        seen: set[str] = set()
        for key, names in (("voters", voters), ("learners", learners)):
            for name in names:
                if name in seen:
                    raise self._error(place, key, f"{shown(name)} is named twice")
                seen.add(name)

    def _shape(self, place: int, links: ShapedLinks) -> None:
        """Refuse a shape around nobody or around many, and one that does not exist for clients."""
        if links.centre is not None:
            self._one(place, "target", links.centre, "a shape has one node at its centre")
        if links.side is Side.CLIENTS and links.shape not in ONE_NODE_SHAPES:
            raise self._error(place, "side", f"{links.shape} has no form between a node and its clients")

    def _one(self, place: int, key: str, name: str, why: str) -> None:
        """Refuse a name that stands for many."""
        self._name(place, key, name)
        if len(roles(name, self.nodes)) != 1:
            raise self._error(place, key, f"{why}, not {name}")

    def _targets(self, place: int, target: tuple[str, ...], *, key: str = "target") -> None:
        for name in target:
            self._name(place, key, name)

    def _name(self, place: int, key: str, name: str, *, clients: bool = False) -> None:
        if name in (LEADER, NEW_LEADER, FOLLOWERS, ALL) or (clients and name == CLIENTS):
            return
        if found := FOLLOWER.fullmatch(name):
            if self.nodes is not None and int(found[1]) >= len(self.nodes):
                raise self._error(place, key, f"there are {len(self.nodes) - 1} followers, so no {name}")
            return
        if (NODE.fullmatch(name) is None) if self.nodes is None else (name not in self.nodes):
            known = "roles are leader, new-leader, followers, follower-1 and so on, all"
            there = "" if self.nodes is None else f"; nodes are {', '.join(self.nodes)}"
            raise self._error(place, key, f"{shown(name)} is neither a role nor a node ({known}{there})")

    def _ending(self, place: int, step: Step) -> None:
        """Refuse an end of what has none, and an end before the beginning."""
        if step.until is None:
            return
        key = "for" if isinstance(step.until, For) else "until"
        if not lasts(step.do):
            raise self._error(place, key, "belongs to a fault that lasts")
        ends_at = step.until.span if isinstance(step.until, At) and self.anchor == 0 else None
        if ends_at is not None and ends_at.ns(USUAL_ELECTION_NS) <= self.now_ns:
            raise self._error(place, key, "is not after the step begins")

    def _heal(self, place: int, do: HealOf) -> None:
        """Free what an earlier fault held; refuse the heal of what is none."""
        if do.of not in self.named:
            raise self._error(place, "of", f"no earlier step is called {shown(do.of)}")
        healed = self.named[do.of]
        what = self.episode.steps[healed].do
        if not lasts(what):
            raise self._error(place, "of", f"step {shown(do.of)} leaves nothing to heal")
        if do.stagger is not None and not isinstance(what, CutAt | SlowAt):
            raise self._error(place, "stagger", "only links heal one by one")
        self.busy = {key: busy for key, busy in self.busy.items() if busy.step != healed}

    def _exclusive(self, place: int, step: Step) -> None:
        """Refuse a second fault of an exclusive kind on a node that surely still has the first."""
        kind, target = exclusive(step.do)
        ends_ns: int | None = None
        match step.until:
            case For(span):
                ends_ns = self.now_ns + span.ns(USUAL_ELECTION_NS)
            case At(span) if self.anchor == 0:
                ends_ns = span.ns(USUAL_ELECTION_NS)
            case _:
                pass
        for name in dict.fromkeys(each for given in target for each in roles(given, self.nodes)):
            busy = self.busy.get((kind, name))
            if busy is not None and self._still(busy):
                held = f"{name} is still under the {kind} of step {busy.step}"
                if self.episode.steps[busy.step].until is None:
                    raise self._error(place, "target", f"{held}, which nothing has healed")
                ending = "for" if isinstance(self.episode.steps[busy.step].until, For) else "until"
                raise self._error(busy.step, ending, f"{held} when step {place} wants it")
            self.busy[kind, name] = _Busy(place, self.anchor, ends_ns)

    def _still(self, busy: _Busy) -> bool:
        """Whether a fault surely holds on: it has no end of its own, or one that is yet to come."""
        if self.episode.steps[busy.step].until is None:
            return True
        return busy.ends_ns is not None and busy.anchor == self.anchor and busy.ends_ns > self.now_ns


def exclusive(do: Action) -> tuple[str, tuple[str, ...]]:
    """Return the kind of exclusion a step takes part in, and on whom; no names if in none."""
    return (do.makes.called, do.target) if isinstance(do, NodesAt) and do.makes.lasts else ("", ())


def lasts(do: Action) -> bool:
    """Whether a step leaves something to heal."""
    match do:
        case HealOf() | ProbeAt():
            return False
        case NodesAt():
            return do.makes.lasts
        case CutAt() | SlowAt():
            return True


def roles(name: str, nodes: Sequence[str] | None) -> tuple[str, ...]:
    """Spell a role of many out, so that two names can be compared; a node's own name stays itself."""
    followers = tuple(f"follower-{place}" for place in range(1, len(nodes) if nodes else 10))
    match name:
        case "followers":
            return followers
        case "all":
            return (LEADER, *followers)
        case _:
            return (name,)


def centre_of(links: ShapedLinks) -> str:
    """Return the role or node that a shape is centred on when the schedule does not say."""
    if links.centre is not None:
        return links.centre
    followers = (Shape.FOLLOWER_MUTE, Shape.FOLLOWER_DEAF)
    assert not (set(followers) & LEADER_SHAPES), "a shape is named after one role"
    return "follower-1" if links.shape in followers else LEADER
