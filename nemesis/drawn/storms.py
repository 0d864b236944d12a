"""Episodes without a plan, and the schedules of a swarm, which mix them with all the others.

The other modules here have the shapes that are known to find stale reads. A swarm must also find what
nobody thought of, so a storm knows less: what happens is drawn, only when it happens is not quite white
noise. A storm ends by itself; whatever it left behind is healed at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nemesis.faults import Flight
from nemesis.grudges import Shape, Side
from nemesis.schedule import (
    BendAt,
    CampaignAt,
    CutAt,
    Episode,
    For,
    KillAt,
    MembersAt,
    NamedLinks,
    PauseAt,
    ProbeAt,
    ProbeKind,
    Rate,
    RateUnit,
    Schedule,
    ShapedLinks,
    SlowApplyAt,
    SlowAt,
    SlowSyncAt,
    Span,
    Step,
    StopTimeAt,
    TimeUnit,
    TransferAt,
    Wait,
)
from targets.cluster import ClockMode

from .families import DRAWN
from .length import filled
from .members import drawn_members
from .moments import at_the_lease, cut_at_the_lease, killed_at_the_answer, pause_at_the_lease, reads
from .pieces import episode, read_back, write_first
from .successions import STUCK, disputed, other_majority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nemesis.schedule import Action

    from .draw import Draw

PEER_SHAPES: Final = tuple(Shape)
CLIENT_SHAPES: Final = (Shape.FOLLOWER_MUTE, Shape.FOLLOWER_DEAF, Shape.ISOLATE_ONE)


def stormy(draw: Draw, elections: float) -> Schedule:
    """Draw episodes for so many election timeouts, of the known shapes and of the planless."""
    return Schedule(tuple(filled([], _draws(draw), elections)))


def _draws(draw: Draw) -> Iterator[Episode]:
    rng = draw.rng
    makers = [
        maker for family, known in DRAWN.items() if family in draw.families for maker in known.episodes
    ]
    if "partition" in draw.families:
        makers += [cut_at_the_lease, *[disputed] * 4]
    if "pause" in draw.families:
        makers.append(pause_at_the_lease)
    if "crash" in draw.families:
        makers += [killed_at_the_answer] * 2
        makers += [other_majority] * 2
    makers += [storm] * rng.choice((0, 1, len(makers)))
    if draw.one_in(2):  # what takes several of a kind in a row is not left to a mix of all kinds
        makers = rng.sample(makers, min(len(makers), rng.randint(1, 3)))
    while True:
        yield rng.choice(makers)(draw)


def storm(draw: Draw) -> Episode:
    """Do some things at drawn moments for drawn times, one over the other."""
    makers = [maker for family, maker in _MAKERS if family in draw.families] or [_shaped]
    steps = [write_first()]
    once: set[str] = set()
    for _ in range(draw.rng.randint(2, 7)):
        maker = draw.rng.choice(makers)
        if maker in _EXCLUSIVE and maker.__name__ in once:
            continue
        once.add(maker.__name__)
        until = For(draw.span(5, 250))
        do = maker(draw)
        ends = None if isinstance(do, CampaignAt | TransferAt) else until
        steps.append(Step(do=do, when=at_the_lease(draw), until=ends))
        if draw.one_in(2):
            steps.append(reads(draw, ("all",), Wait(draw.span(0, 100))))
        if draw.one_in(3):
            rewrite = ProbeAt(ProbeKind.WRITE, (draw.victim(),), 3, draw.span(2, 30))
            steps.append(Step(do=rewrite, when=Wait(draw.span(0, 60))))
    steps += [reads(draw, ("all",), Wait(draw.span(10, 150))), read_back()]
    return episode("storm", steps)


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
    length = draw.span(*STUCK) if draw.one_in(4) else draw.span(1, 40)
    return SlowSyncAt((draw.rng.choice(("followers", draw.victim())),), length)


def _handed(draw: Draw) -> Action:
    return TransferAt(("leader",), draw.follower())


def _members(draw: Draw) -> Action:
    return MembersAt(("leader",), *drawn_members(draw))


def _unheard(draw: Draw) -> Action:
    return StopTimeAt((draw.rng.choice(("followers", "all", draw.victim())),))


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
    ("transfer", _handed),
    ("membership", _members),
    ("time-service", _unheard),
)
_EXCLUSIVE: Final = frozenset({_frozen, _killed, _bent, _apply, _sync, _members, _unheard})
"""What a node can have done to it once at a time."""
