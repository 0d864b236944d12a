"""Random episodes, shaped: each draws its lengths, its shapes and its victims, not its sense.

White noise finds little. What finds stale reads is known: cuts that keep what is in flight, heals link
by link in random order, a follower's pause that overlaps the leader's isolation, and one fresh read at
the deposed leader after the new leader's first acknowledged write and before the heal. So every episode
here that deposes a leader has that read, and every cut heals with a stagger.

Lengths are drawn as whole hundredths of an election timeout, from one generator.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import ClockMode

from .faults import Flight
from .grudges import Shape
from .schedule import (
    NOTHING,
    Action,
    After,
    Awaited,
    BendAt,
    CampaignAt,
    CutAt,
    Episode,
    EventName,
    FillAt,
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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEPOSING: Final = (
    Shape.ISOLATE_ONE,
    Shape.LEADER_MUTE,
    Shape.LEADER_DEAF,
    Shape.HALVES,
    Shape.MINORITY_THIRD,
)
"""Shapes after which the leader of before leads no more (a deaf one steps down after a while)."""

BYSTANDING: Final = (Shape.FOLLOWER_MUTE, Shape.FOLLOWER_DEAF, Shape.MAJORITIES_RING, Shape.BRIDGE)


def elections(hundredths: int) -> Span:
    """Return a span of whole hundredths of an election timeout."""
    return Span(hundredths / 100, TimeUnit.ELECTIONS)


class Draw(msgspec.Struct, frozen=True):
    """What an episode draws from. ``families`` say which faults may be mixed in."""

    rng: random.Random
    nodes: int
    families: frozenset[str]
    clock: ClockMode

    def span(self, least: int, most: int) -> Span:
        """Draw a length, in hundredths of an election timeout."""
        return elections(self.rng.randint(least, most))

    def one_in(self, many: int) -> bool:
        """Draw one chance in so many."""
        return self.rng.randrange(many) == 0

    def follower(self) -> str:
        """Draw a follower."""
        return f"follower-{self.rng.randint(1, self.nodes - 1)}"

    def victim(self) -> str:
        """Draw the leader, or half as often a follower."""
        return self.follower() if self.one_in(3) else "leader"


def write_first() -> Step:
    """Return the step that gets an old value known."""
    return _step(ProbeAt(ProbeKind.WRITE, ("leader",), 10, elections(10)))


def after(event: EventName, *, by: int = 400, wait: Span = NOTHING) -> After:
    """Return a moment after an event, ``by`` in hundredths of an election timeout."""
    return After(Awaited(event), elections(by), wait)


def deposed(draw: Draw, *, by: int = 400) -> tuple[Step, ...]:
    """Return the heart of it: a write at the new leader, then fresh reads at the old one."""
    rewrite = ProbeAt(ProbeKind.WRITE, ("new-leader",), 20, elections(4))
    reread = ProbeAt(ProbeKind.READ, ("leader",), draw.rng.randint(1, 4), draw.span(3, 20))
    return (
        _step(rewrite, after(EventName.NEW_LEADER, by=by)),
        _step(reread, after(EventName.NEW_LEADER_ACKED, by=300)),
        _step(ProbeAt(ProbeKind.READ, (draw.follower(),)), Wait(draw.span(1, 20))),
    )


def healed(draw: Draw, of: str) -> Step:
    """Return the heal of a cut after a while, link by link."""
    return _step(HealOf(of, draw.span(5, 80)), Wait(draw.span(5, 60)))


def read_back() -> Step:
    """Return the read that looks at everybody after the heal."""
    return _step(ProbeAt(ProbeKind.READ, ("all",)), Wait(elections(20)))


def isolation(draw: Draw) -> Episode:
    """Cut the leader off, often with a follower frozen for a while during the cut."""
    shape = draw.rng.choice(DEPOSING)
    steps = [write_first(), _cut(ShapedLinks(shape, "leader"), after(EventName.ACKED))]
    if "pause" in draw.families and draw.one_in(2):
        frozen = PauseAt((draw.follower(),))
        steps.append(Step(do=frozen, when=Wait(draw.span(0, 60)), until=For(draw.span(10, 70))))
    steps += [*deposed(draw, by=600), healed(draw, "cut"), read_back()]
    return _episode(f"isolation-{shape.value}", steps)


def held_answers(draw: Draw) -> Episode:
    """Hold what the followers answer, cut the leader off, let the old answers through once."""
    answers = NamedLinks(("followers",), ("leader",))
    steps = [
        write_first(),
        _cut(answers, after(EventName.ACKED), name="answers"),
        _cut(NamedLinks(("leader",), ("followers",)), Wait(draw.span(11, 25))),
        _step(HealOf("answers"), Wait(draw.span(30, 75))),
        _cut(answers, Wait(draw.span(5, 10)), name="silence"),
        *deposed(draw),
        healed(draw, "silence"),
        healed(draw, "cut"),
        read_back(),
    ]
    return _episode("held-answers", steps)


def late_quorum(draw: Draw) -> Episode:
    """Let old answers of a follower arrive late, at a leader that was cut off and deposed meanwhile.

    The follower reads while it hears nothing, and what it says is held from some instant on; then the
    leader is cut off and frozen. One fresh read follows its thaw, and the links open one by one in any
    order: whatever counts an answer for a question that was asked later is found when the follower's
    opens first, and when no other read waited at the leader since before. So that is what mostly
    happens: the follower's opens first every other time, and clients are mostly sent away meanwhile.
    """
    number = draw.rng.randint(1, draw.nodes - 1)
    mute = f"follower-{number}"
    others = tuple(f"follower-{each}" for each in range(1, draw.nodes) if each != number)
    opened = ["late", "news", "rounds"] if others else ["late", "rounds"]
    if draw.one_in(2):
        draw.rng.shuffle(opened)
    quiet = not draw.one_in(4)
    strangers = _step(CutAt(NamedLinks(("clients",), ("leader",)), Flight.DROP), name="strangers")
    news = [_cut(NamedLinks(others, ("leader",)), Wait(), name="news")] if others else []
    steps = [
        write_first(),
        _cut(NamedLinks(("leader",), (mute,)), after(EventName.ACKED), name="answers"),
        _step(ProbeAt(ProbeKind.READ, (mute,)), Wait(draw.span(1, 5))),
        _cut(NamedLinks((mute,), ("leader",)), Wait(draw.span(10, 45)), name="late"),
        _step(HealOf("answers"), Wait(draw.span(10, 45))),
        _cut(NamedLinks(("leader",), ("followers",)), Wait(draw.span(1, 10)), name="rounds"),
        *news,
        _step(PauseAt(("leader",)), name="freeze"),
        *([strangers] if quiet else []),
        _step(ProbeAt(ProbeKind.WRITE, ("new-leader",), 20, elections(4)), after(EventName.NEW_LEADER)),
        _step(HealOf("freeze"), after(EventName.NEW_LEADER_ACKED, by=300)),
        *([_step(HealOf("strangers"))] if quiet else []),
        _step(ProbeAt(ProbeKind.READ, ("leader",)), Wait(draw.span(1, 4))),
        *(_step(HealOf(name, draw.span(5, 60)), Wait(draw.span(2, 20))) for name in opened),
        read_back(),
    ]
    return _episode("late-quorum", steps)


def bystanders(draw: Draw) -> Episode:
    """Break the network around the followers, or in a ring, without a plan for the leader."""
    shape = draw.rng.choice(BYSTANDING)
    if shape is Shape.BRIDGE:
        centre = draw.victim()
    else:
        centre = "leader" if shape is Shape.MAJORITIES_RING else draw.follower()
    flight = Flight.DROP if draw.one_in(4) else Flight.HOLD
    steps = [
        write_first(),
        _step(CutAt(ShapedLinks(shape, centre), flight), after(EventName.ACKED), name="cut"),
        _step(ProbeAt(ProbeKind.READ, ("all",), 2, draw.span(10, 50)), Wait(draw.span(50, 200))),
        healed(draw, "cut"),
        read_back(),
    ]
    return _episode(f"network-{shape.value}", steps)


def frozen_leader(draw: Draw) -> Episode:
    """Freeze the leader past its lease with its peers' words held from the stop on, and read at it.

    Reads before the freeze open the connections that the reads during it use: a node coming out of a
    freeze takes what waits on a connection before it takes a new one.
    """
    steps = [
        write_first(),
        _step(ProbeAt(ProbeKind.READ, ("leader",), draw.rng.randint(1, 4)), after(EventName.ACKED)),
        _cut(ShapedLinks(Shape.LEADER_DEAF, "leader"), Wait(draw.span(2, 30))),
        _step(PauseAt(("leader",)), name="freeze"),
        *deposed(draw),
        _step(HealOf("freeze"), Wait(draw.span(2, 40))),
        _step(ProbeAt(ProbeKind.READ, ("leader",), draw.rng.randint(1, 4), draw.span(1, 10))),
        healed(draw, "cut"),
        read_back(),
    ]
    return _episode("frozen-leader", steps)


def short_pauses(draw: Draw) -> Episode:
    """Freeze the leader for moments that begin with a renewal of its lease."""
    steps = [write_first()]
    for _ in range(draw.rng.randint(2, 4)):
        moment = after(EventName.LEASE_GRANTED, by=100, wait=draw.span(0, 12))
        steps.append(Step(do=PauseAt(("leader",)), when=moment, until=For(draw.span(2, 30))))
        steps.append(_step(ProbeAt(ProbeKind.READ, ("leader",)), Wait(draw.span(31, 50))))
    return _episode("short-pauses", steps)


def frozen(draw: Draw) -> Episode:
    """Freeze a follower, most of the cluster or all of it for a while."""
    target = draw.rng.choice((draw.follower(), "followers", "all", "leader"))
    steps = [
        write_first(),
        Step(do=PauseAt((target,)), when=after(EventName.ACKED), until=For(draw.span(20, 160))),
        _step(ProbeAt(ProbeKind.READ, ("all",), 3, draw.span(5, 30)), Wait(draw.span(20, 160))),
        read_back(),
    ]
    return _episode(f"frozen-{target}", steps)


def bent_clocks(draw: Draw) -> Episode:
    """Bend clocks within the declared bound: the leader slow, the followers fast, or any of them."""
    slowed, hastened = draw.rng.randint(50, 100) / 100, draw.rng.randint(50, 100) / 100
    steps = [
        _step(BendAt(("leader",), rate=Rate(-slowed, RateUnit.BOUNDS)), name="slow"),
        _step(BendAt(("followers",), rate=Rate(hastened, RateUnit.BOUNDS)), name="fast"),
        msgspec.structs.replace(write_first(), when=after(EventName.INSTALLED, wait=draw.span(10, 50))),
        _cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), after(EventName.ACKED)),
        *deposed(draw),
        healed(draw, "cut"),
        _step(HealOf("fast"), Wait(draw.span(10, 60))),
        _step(HealOf("slow"), Wait(draw.span(0, 60))),
        read_back(),
    ]
    return _episode("bent-clocks", steps)


def wall_jump(draw: Draw) -> Episode:
    """Set wall clocks, mostly back, while the leader is cut off."""
    far = draw.span(50, 500)
    jump = Span(far.amount if draw.one_in(3) else -far.amount, far.unit)
    target = "followers" if jump.amount > 0 and draw.one_in(2) else "leader"
    steps = [
        write_first(),
        _cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), after(EventName.ACKED)),
        _step(BendAt((target,), wall=jump), Wait(draw.span(5, 60)), name="jump"),
        *deposed(draw),
        healed(draw, "cut"),
        _step(HealOf("jump"), Wait(draw.span(5, 60))),
        read_back(),
    ]
    return _episode("wall-jump", steps)


def clocks(draw: Draw) -> Episode:
    """Bend what the run's clock mode lets one bend."""
    return bent_clocks(draw) if draw.clock is ClockMode.RATE else wall_jump(draw)


def crash(draw: Draw) -> Episode:
    """Kill the leader, a follower, or everybody at once; start them again with their data."""
    target = draw.rng.choice(("leader", "leader", draw.follower(), "all"))
    steps = [
        write_first(),
        Step(do=KillAt((target,)), when=after(EventName.ACKED, wait=draw.span(0, 20)), name="kill"),
        _step(ProbeAt(ProbeKind.READ, ("all",)), Wait(draw.span(20, 150))),
        _step(HealOf("kill"), Wait(draw.span(0, 50))),
        _step(ProbeAt(ProbeKind.READ, ("all",), 4, draw.span(20, 50)), Wait(draw.span(10, 50))),
    ]
    return _episode(f"crash-{target}", steps)


def slow_links(draw: Draw) -> Episode:
    """Delay one direction between the leader and the others for a while."""
    ends = [("leader",), ("followers",)]
    draw.rng.shuffle(ends)
    slow = SlowAt(NamedLinks(ends[0], ends[1]), draw.span(2, 40))
    steps = [
        write_first(),
        _step(slow, after(EventName.ACKED), name="slow"),
        _step(ProbeAt(ProbeKind.READ, ("all",), 3, draw.span(10, 40)), Wait(draw.span(20, 150))),
        _step(HealOf("slow", draw.span(5, 40)), Wait(draw.span(20, 100))),
        read_back(),
    ]
    return _episode("slow-links", steps)


def campaign(draw: Draw) -> Episode:
    """Ask a follower to campaign while the leader is cut off and its lease still lives."""
    steps = [
        write_first(),
        _cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), after(EventName.ACKED)),
        _step(CampaignAt((draw.follower(),)), Wait(draw.span(1, 60))),
        _step(CampaignAt((draw.follower(),)), Wait(draw.span(5, 30))),
        *deposed(draw),
        healed(draw, "cut"),
        read_back(),
    ]
    return _episode("campaign", steps)


def late_apply(draw: Draw) -> Episode:
    """Let some nodes apply late while they are read at."""
    return _late(
        draw, SlowApplyAt((draw.rng.choice(("followers", "all")),), draw.span(5, 40)), "late-apply"
    )


def late_sync(draw: Draw) -> Episode:
    """Let some nodes' disks be late."""
    return _late(
        draw, SlowSyncAt((draw.rng.choice(("followers", "leader")),), draw.span(2, 30)), "late-sync"
    )


def full_disk(draw: Draw) -> Episode:
    """Leave a node's disk no room while it is written to; free it and start the node again."""
    target = draw.rng.choice(("leader", draw.follower()))
    steps = [
        write_first(),
        _step(FillAt((target,)), after(EventName.ACKED, wait=draw.span(0, 20)), name="full"),
        _step(ProbeAt(ProbeKind.WRITE, ("all",), 2, draw.span(3, 20))),
        _step(ProbeAt(ProbeKind.READ, ("all",)), Wait(draw.span(20, 150))),
        _step(HealOf("full"), Wait(draw.span(10, 100))),
        _step(ProbeAt(ProbeKind.READ, ("all",), 4, draw.span(20, 50)), Wait(draw.span(10, 50))),
    ]
    return _episode(f"full-disk-{target}", steps)


def _late(draw: Draw, late: Action, name: str) -> Episode:
    steps = [
        _step(late, name="late"),
        msgspec.structs.replace(write_first(), when=after(EventName.INSTALLED, wait=draw.span(5, 30))),
        _step(ProbeAt(ProbeKind.READ, ("all",), 3, draw.span(3, 20)), after(EventName.ACKED, by=300)),
        _step(HealOf("late"), Wait(draw.span(60, 150))),
        read_back(),
    ]
    return _episode(name, steps)


KINDS: Final[Mapping[str, tuple[Callable[[Draw], Episode], ...]]] = {
    "clock": (clocks,),
    "pause": (frozen_leader, short_pauses, frozen),
    "partition": (isolation, held_answers, isolation, bystanders),
    "crash": (crash,),
    "delay": (slow_links,),
    "leader": (campaign,),
    "apply": (late_apply,),
    "disk": (late_sync,),
    "late": (late_quorum,),
    "full": (full_disk,),
}
"""What each family of faults draws from; what is named twice comes twice as often."""


def _step(do: Action, when: When | None = None, *, name: str | None = None) -> Step:
    return Step(do=do, when=Wait() if when is None else when, name=name)


def _cut(links: NamedLinks | ShapedLinks, when: When, *, name: str = "cut") -> Step:
    return _step(CutAt(links), when, name=name)


def _episode(name: str, steps: list[Step]) -> Episode:
    return Episode(name=name, steps=tuple(steps), required=False)
