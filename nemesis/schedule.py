"""Schedules, as frozen data: episodes of steps, each with its moment.

An *episode* binds roles to nodes when it starts (``leader`` is then the leader of that instant, for
the whole episode) and runs its steps in order. A *step* has a moment (`At`, `Wait` or `After` an awaited
event), something to do, and perhaps an end. Reactive steps are what makes a danger happen on a busy
machine: "once the new leader has acknowledged a write", not "after 1.2 seconds".

Lengths of time are seconds or election timeouts (``0.05E``), rates are fractions or multiples of the
declared drift bound (``-1rho``): one schedule serves every configuration.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from .faults import (
    BendClock,
    Campaign,
    ChangeMembers,
    FillDisk,
    Flight,
    Kill,
    NodesFault,
    Pause,
    SlowApply,
    SlowSync,
    StopTime,
    Suspend,
    Transfer,
)
from .grudges import Shape, Side

SCHEDULE_SCHEMA: Final = 1


class TimeUnit(StrEnum):
    """What a span is counted in."""

    SECONDS = ""
    ELECTIONS = "E"


class Span(msgspec.Struct, frozen=True):
    """A length of time; negative only where a clock is set back."""

    amount: float
    unit: TimeUnit = TimeUnit.SECONDS

    def ns(self, election_ns: int) -> int:
        """Return this span in nanoseconds, given the election timeout."""
        return round(self.amount * (election_ns if self.unit is TimeUnit.ELECTIONS else 1e9))


RATE_PPM_MIN: Final = -999_999.5
"""A clock that is slower stands still, or runs backwards."""
RATE_PPM_MAX: Final = 9_000_000
RATES: Final = "a rate lies over -1, up to 9"
"""The two bounds, for a person."""


class RateUnit(StrEnum):
    """What a clock's rate error is counted in."""

    FRACTION = ""
    BOUNDS = "rho"


class Rate(msgspec.Struct, frozen=True):
    """How much faster than true time a clock runs; negative is slower."""

    amount: float
    unit: RateUnit = RateUnit.FRACTION

    def ppm(self, drift_ppm: int) -> int:
        """Return this rate in parts per million, given the declared bound."""
        return round(self._ppm(drift_ppm))

    def possible(self, drift_ppm: int) -> bool:
        """Tell whether a clock can run like that: forward, at most ten times as fast as it should."""
        return RATE_PPM_MIN < self._ppm(drift_ppm) <= RATE_PPM_MAX

    def _ppm(self, drift_ppm: int) -> float:
        return self.amount * (drift_ppm if self.unit is RateUnit.BOUNDS else 1e6)


NOTHING: Final = Span(0.0)
PATIENCE: Final = Span(4.0, TimeUnit.ELECTIONS)
"""How long a step waits for its event unless it says so itself."""


class EventName(StrEnum):
    """What a step can wait for."""

    STABLE = "stable"
    """One leader, with a lease where leases are shown; every other node follows it and is caught up."""
    NEW_LEADER = "new-leader"
    """A leader of a higher term than the episode's."""
    NEW_LEADER_ACKED = "new-leader-acked"
    """Such a leader acknowledged a write (of the episode's key, once a probe gave it one)."""
    ACKED = "acked"
    """The latest probe write of the episode was acknowledged."""
    INSTALLED = "installed"
    """What came of every injection of the episode so far is known."""
    LEASE_GRANTED = "lease-granted"
    """The episode's leader (or a later one) renewed its lease just now."""
    LEASE_EXPIRES_IN = "lease-expires-in"
    """At most that much is left of the lease of the episode's leader."""


class Awaited(msgspec.Struct, frozen=True):
    """An event to wait for; ``left`` belongs to lease-expires-in only."""

    event: EventName
    left: Span | None = None


class At(msgspec.Struct, frozen=True):
    """This long after the episode began (an episode: after the schedule began)."""

    span: Span


class Wait(msgspec.Struct, frozen=True):
    """This long after the step before (an episode: after the episode before ended)."""

    span: Span = NOTHING


class After(msgspec.Struct, frozen=True):
    """Once something happened, and ``wait`` after that; *missed* if it has not happened by ``by``.

    The deadline counts from the moment the step before was done.
    """

    awaited: Awaited
    by: Span = PATIENCE
    wait: Span = NOTHING


When = At | Wait | After


class ShapedLinks(msgspec.Struct, frozen=True):
    """Links of a named shape around a role or node; None is the role the shape is named after."""

    shape: Shape
    centre: str | None = None
    side: Side = Side.PEERS


class NamedLinks(msgspec.Struct, frozen=True):
    """Every link from one of ``sources`` to one of ``sinks`` (roles, nodes or clients)."""

    sources: tuple[str, ...]
    sinks: tuple[str, ...]


Links = ShapedLinks | NamedLinks


class NodesAt(msgspec.Struct, frozen=True):
    """Do to these roles or nodes what ``makes`` is; see `nemesis.kinds` for the table of them."""

    target: tuple[str, ...]

    makes: ClassVar[type[NodesFault]]


class LateAt(NodesAt, frozen=True):
    """Make something of these nodes late by ``delay``."""

    delay: Span


class PauseAt(NodesAt, frozen=True):
    """Freeze these roles or nodes."""

    makes: ClassVar = Pause


class KillAt(NodesAt, frozen=True):
    """Kill these nodes; they come back with the heal."""

    makes: ClassVar = Kill


class BendAt(NodesAt, frozen=True):
    """Bend these nodes' clocks: a rate, or a step of the wall clock."""

    rate: Rate | None = None
    wall: Span | None = None

    makes: ClassVar = BendClock


class CampaignAt(NodesAt, frozen=True):
    """Ask these nodes to campaign now."""

    makes: ClassVar = Campaign


class SlowApplyAt(LateAt, frozen=True):
    """Make these nodes apply late."""

    makes: ClassVar = SlowApply


class SlowSyncAt(LateAt, frozen=True):
    """Make these nodes' disks late."""

    makes: ClassVar = SlowSync


class FillAt(NodesAt, frozen=True):
    """Leave these nodes' disks no room; the heal starts what has ended of it."""

    makes: ClassVar = FillDisk


class TransferAt(NodesAt, frozen=True):
    """Ask these nodes to hand leadership over to a role or node."""

    to: str

    makes: ClassVar = Transfer


class MembersAt(NodesAt, frozen=True):
    """Ask these nodes to go over to these voters and learners, roles or nodes; undone by the heal."""

    voters: tuple[str, ...]
    learners: tuple[str, ...] = ()

    makes: ClassVar = ChangeMembers


class StopTimeAt(NodesAt, frozen=True):
    """Keep these nodes from hearing their time service."""

    makes: ClassVar = StopTime


class SuspendAt(NodesAt, frozen=True):
    """Suspend these nodes' hosts."""

    makes: ClassVar = Suspend


class CutAt(msgspec.Struct, frozen=True):
    """Cut these links."""

    links: Links
    flight: Flight = Flight.HOLD


class SlowAt(msgspec.Struct, frozen=True):
    """Delay these links."""

    links: Links
    delay: Span


class HealOf(msgspec.Struct, frozen=True):
    """Undo an earlier step of this episode, by its name.

    With ``stagger`` a cut heals link by link in random order, the gaps drawn up to that long.
    """

    of: str
    stagger: Span | None = None


class ProbeKind(StrEnum):
    """What a probe invokes."""

    READ = "read"
    WRITE = "write"


class ProbeAt(msgspec.Struct, frozen=True):
    """Fresh operations at each of these nodes, ``times`` times, ``every`` so often.

    They use the key of the episode's last acknowledged probe write. Repeated writes stop at the first
    that is acknowledged; repetitions go on beside the following steps.
    """

    f: ProbeKind
    target: tuple[str, ...]
    times: int = 1
    every: Span = NOTHING


FaultAction = CutAt | SlowAt | NodesAt
Action = FaultAction | HealOf | ProbeAt


class For(msgspec.Struct, frozen=True):
    """Heal this long after the step began."""

    span: Span


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step. ``until`` says when to heal what it did; without, that is at the episode's end.

    ``unless`` passes a step over, as no miss, if that has happened already when its moment comes.
    """

    do: Action
    when: When = Wait()
    name: str | None = None
    until: For | At | After | None = None
    unless: Awaited | None = None


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """Steps under one binding of roles, run ``times`` times.

    A ``required`` episode must run through without a missed or skipped step at least once, else the
    run was *not exercised*.
    """

    name: str
    steps: tuple[Step, ...]
    start: When = After(Awaited(EventName.STABLE), Span(8.0, TimeUnit.ELECTIONS))
    times: int = 1
    required: bool = True


class Schedule(msgspec.Struct, frozen=True):
    """Episodes, one after the other."""

    episodes: tuple[Episode, ...] = ()


class ScheduleError(Exception):
    """A schedule that cannot be run; ``path`` names the place, such as ``schedule[2].until``."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem
