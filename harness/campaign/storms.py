"""Episodes around the moments of a lease, and episodes without a plan.

`nemesis.drawn` has the shapes that are known to find stale reads. A swarm must also find what nobody
thought of, so these know less: what happens is drawn, only when it happens is not quite white noise,
because a lease is decided in the moments after it was renewed and before it ends.

Every length is whole hundredths of an election timeout, from one generator. A storm ends by itself;
whatever it left behind is healed at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from nemesis.drawn import Draw, after, deposed, healed, read_back, write_first
from nemesis.faults import Flight
from nemesis.grudges import Shape, Side
from nemesis.schedule import (
    BendAt,
    CampaignAt,
    CutAt,
    Episode,
    EventName,
    For,
    HealOf,
    KillAt,
    NamedLinks,
    PauseAt,
    ProbeAt,
    ProbeKind,
    Rate,
    RateUnit,
    ShapedLinks,
    SlowApplyAt,
    SlowAt,
    SlowSyncAt,
    Span,
    Step,
    TimeUnit,
    Wait,
    When,
)
from targets.cluster import ClockMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from nemesis.schedule import Action

PEER_SHAPES: Final = tuple(Shape)
CLIENT_SHAPES: Final = (Shape.FOLLOWER_MUTE, Shape.FOLLOWER_DEAF, Shape.ISOLATE_ONE)
BOTH_WAYS: Final = (Shape.ISOLATE_ONE, Shape.LEADER_MUTE, Shape.LEADER_DEAF)


def at_the_lease(draw: Draw) -> When:
    """Return a moment around a lease: soon after a renewal, or a while after some probe."""
    if draw.one_in(3):
        return Wait(draw.span(0, 120))
    return after(EventName.LEASE_GRANTED, by=150, wait=draw.span(0, 110))


def cut_at_the_lease(draw: Draw) -> Episode:
    """Cut the leader off at a moment of its lease, perhaps with a campaign, and read at it."""
    shape = draw.rng.choice(BOTH_WAYS)
    flight = Flight.DROP if draw.one_in(3) else Flight.HOLD
    cut = Step(do=CutAt(ShapedLinks(shape, "leader"), flight), when=at_the_lease(draw), name="cut")
    steps = [write_first(), cut]
    if "leader" in draw.families and draw.one_in(2):
        steps.append(Step(do=CampaignAt((draw.follower(),)), when=Wait(draw.span(0, 90))))
    steps += [*deposed(draw), healed(draw, "cut"), read_back()]
    return _episode("cut-at-the-lease", steps)


def pause_at_the_lease(draw: Draw) -> Episode:
    """Freeze the leader at a moment of its lease, often with its peers' words held as well."""
    steps = [
        write_first(),
        _reads(draw, ("leader",), after(EventName.ACKED)),
        Step(do=PauseAt(("leader",)), when=at_the_lease(draw), name="freeze"),
    ]
    if not draw.one_in(3):
        hold = CutAt(ShapedLinks(Shape.LEADER_DEAF, "leader"))
        steps.insert(2, Step(do=hold, when=Wait(draw.span(0, 20)), name="cut"))
    steps += [*deposed(draw), Step(do=HealOf("freeze"), when=Wait(draw.span(0, 60)))]
    steps += [_reads(draw, ("leader",), Wait()), read_back()]
    return _episode("pause-at-the-lease", steps)


def killed_at_the_answer(draw: Draw) -> Episode:
    """Kill nodes the moment a write was answered, with some disks late and perhaps a node behind."""
    victims = draw.rng.choice(
        (("all",), ("leader",), ("leader", draw.follower()), ("followers",), (draw.follower(),))
    )
    steps = []
    if "disk" in draw.families or draw.one_in(2):
        late = draw.rng.choice(("leader", "followers", draw.follower()))
        steps.append(Step(do=SlowSyncAt((late,), draw.span(5, 60))))
    if "partition" in draw.families and draw.one_in(2):
        behind = CutAt(NamedLinks(("leader",), (draw.follower(),)))
        steps.append(Step(do=behind, name="behind"))
    write = msgspec.structs.replace(write_first(), when=Wait(draw.span(5, 30)))
    kill = Step(do=KillAt(victims), when=after(EventName.ACKED, wait=draw.span(0, 4)), name="kill")
    steps += [write, kill]
    if draw.one_in(2):
        steps.append(Step(do=PauseAt((draw.follower(),)), when=Wait(), until=For(draw.span(20, 250))))
    steps.append(Step(do=HealOf("kill"), when=Wait(draw.span(0, 60))))
    steps += [_reads(draw, ("all",), Wait(draw.span(100, 250))), read_back()]
    return _episode("killed-at-the-answer", steps)


def storm(draw: Draw) -> Episode:
    """Do some things at drawn moments for drawn times, one over the other."""
    makers = [maker for family, maker in _MAKERS if family in draw.families]
    steps = [write_first()]
    once: set[str] = set()
    for _ in range(draw.rng.randint(2, 7)):
        maker = draw.rng.choice(makers)
        if maker in _EXCLUSIVE and maker.__name__ in once:
            continue
        once.add(maker.__name__)
        until = For(draw.span(5, 250))
        do = maker(draw)
        ends = None if isinstance(do, CampaignAt) else until
        steps.append(Step(do=do, when=at_the_lease(draw), until=ends))
        if draw.one_in(2):
            steps.append(_reads(draw, ("all",), Wait(draw.span(0, 100))))
        if draw.one_in(3):
            rewrite = ProbeAt(ProbeKind.WRITE, (draw.victim(),), 3, draw.span(2, 30))
            steps.append(Step(do=rewrite, when=Wait(draw.span(0, 60))))
    steps += [_reads(draw, ("all",), Wait(draw.span(10, 150))), read_back()]
    return _episode("storm", steps)


def _shaped(draw: Draw) -> Action:
    flight = Flight.DROP if draw.one_in(3) else Flight.HOLD
    if draw.one_in(8):
        links = ShapedLinks(draw.rng.choice(CLIENT_SHAPES), draw.victim(), Side.CLIENTS)
        return CutAt(links, flight)
    if draw.one_in(2):
        return CutAt(_named(draw), flight)
    return CutAt(ShapedLinks(draw.rng.choice(PEER_SHAPES), draw.victim()), flight)


def _named(draw: Draw) -> NamedLinks:
    ends = [(draw.victim(),), (draw.rng.choice(("followers", "all", draw.follower())),)]
    if ends[0] == ends[1]:
        ends[1] = ("all",)
    draw.rng.shuffle(ends)
    return NamedLinks(ends[0], ends[1])


def _slowed(draw: Draw) -> Action:
    return SlowAt(_named(draw), draw.span(1, 90))


def _frozen(draw: Draw) -> Action:
    return PauseAt((draw.rng.choice((draw.victim(), draw.victim(), "followers", "all")),))


def _killed(draw: Draw) -> Action:
    return KillAt((draw.rng.choice((draw.victim(), draw.victim(), "followers", "all")),))


def _campaign(draw: Draw) -> Action:
    return CampaignAt((draw.follower(),))


def _bent(draw: Draw) -> Action:
    target = (draw.rng.choice(("leader", "followers", draw.follower())),)
    if draw.clock is ClockMode.RATE:
        return BendAt(target, rate=Rate(draw.rng.randint(-100, 100) / 100, RateUnit.BOUNDS))
    far = Span(draw.rng.choice((-1, 1)) * draw.rng.randint(5, 500) / 100, TimeUnit.ELECTIONS)
    return BendAt(target, wall=far)


def _apply(draw: Draw) -> Action:
    return SlowApplyAt((draw.rng.choice(("followers", "all", draw.victim())),), draw.span(2, 50))


def _sync(draw: Draw) -> Action:
    return SlowSyncAt((draw.rng.choice(("followers", draw.victim())),), draw.span(1, 40))


_MAKERS: Final[tuple[tuple[str, Callable[[Draw], Action]], ...]] = (
    ("partition", _shaped),
    ("partition", _shaped),
    ("delay", _slowed),
    ("pause", _frozen),
    ("crash", _killed),
    ("leader", _campaign),
    ("clock", _bent),
    ("apply", _apply),
    ("disk", _sync),
)
_EXCLUSIVE: Final = frozenset({_frozen, _killed, _bent, _apply, _sync})
"""What a node can have done to it once at a time."""


def _reads(draw: Draw, target: tuple[str, ...], when: When) -> Step:
    times = draw.rng.randint(1, 4)
    return Step(do=ProbeAt(ProbeKind.READ, target, times, draw.span(1, 40)), when=when)


def _episode(name: str, steps: list[Step]) -> Episode:
    return Episode(name=name, steps=tuple(steps), required=False)
