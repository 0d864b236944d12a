"""Episodes about who takes part: leadership handed over, voters and learners changed, time unheard.

What an operator asks for is right at any moment, so these ask at bad ones: while the successor is gone,
while answers come late, while those who are to go and those who are to come do not hear each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.grudges import Shape
from nemesis.schedule import (
    CutAt,
    Episode,
    EventName,
    For,
    HealOf,
    KillAt,
    MembersAt,
    NamedLinks,
    PauseAt,
    ProbeAt,
    ProbeKind,
    ShapedLinks,
    SlowAt,
    Step,
    StopTimeAt,
    TransferAt,
    Wait,
)

from .moments import at_the_lease, reads
from .pieces import after, cut, deposed, episode, healed, read_back, step, write_first

if TYPE_CHECKING:
    from .draw import Draw


def handed_over(draw: Draw) -> Episode:
    """Hand leadership over while the leader hears late, and perhaps hears nothing soon after."""
    successor = draw.follower()
    steps = [write_first()]
    lateness = draw.rng.choice((0, 0, draw.rng.randint(1, 20)))
    if lateness:
        late = SlowAt(NamedLinks(("followers",), ("leader",)), draw.span(lateness, lateness))
        steps.append(step(late, after(EventName.ACKED), name="late"))
    steps.append(Step(do=TransferAt(("leader",), successor), when=at_the_lease(draw)))
    deaf = not draw.one_in(3)
    if deaf:
        words = NamedLinks(("followers",), ("leader",))
        steps.append(cut(words, Wait(draw.span(lateness, 2 * lateness + 2))))
    steps += deposed(draw)
    if deaf:
        steps.append(healed(draw, "cut"))
    steps += [reads(draw, ("all",), Wait(draw.span(0, 30))), read_back()]
    return episode("handed-over", steps)


def hung_transfer(draw: Draw) -> Episode:
    """Hand leadership over to a node that cannot take it, now or when it could again."""
    successor = draw.follower()
    match draw.rng.randrange(3):
        case 0:
            gone = step(KillAt((successor,)), after(EventName.ACKED), name="gone")
        case 1:
            gone = step(PauseAt((successor,)), after(EventName.ACKED), name="gone")
        case _:
            words = NamedLinks(*draw.rng.choice(((("leader",), (successor,)), ((successor,), ("all",)))))
            gone = step(CutAt(words), after(EventName.ACKED), name="gone")
    steps = [
        write_first(),
        gone,
        step(TransferAt(("leader",), successor), Wait(draw.span(0, 30))),
        reads(draw, ("leader",), Wait(draw.span(0, 90))),
        step(ProbeAt(ProbeKind.WRITE, ("leader",), 4, draw.span(5, 40)), Wait(draw.span(0, 60))),
        step(HealOf("gone"), Wait(draw.span(0, 150))),
        reads(draw, ("all",), Wait(draw.span(0, 60))),
        read_back(),
    ]
    if draw.one_in(2):
        steps.insert(-3, cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), Wait(draw.span(0, 120))))
    return episode("hung-transfer", steps)


def other_voters(draw: Draw) -> Episode:
    """Go over to drawn voters and learners and back, perhaps with links cut or the leader gone."""
    change = step(
        MembersAt(("leader",), *drawn_members(draw)),
        after(EventName.ACKED, wait=draw.span(0, 20)),
        name="members",
    )
    steps = [write_first(), change]
    match draw.rng.randrange(4):
        case 0:
            isolated = cut(ShapedLinks(Shape.ISOLATE_ONE, draw.victim()), Wait(draw.span(0, 60)))
            steps += [isolated, *deposed(draw), healed(draw, "cut")]
        case 1:
            killed = KillAt((draw.rng.choice((draw.victim(), "all")),))
            steps.append(Step(do=killed, when=Wait(draw.span(0, 40)), until=For(draw.span(10, 90))))
        case 2:
            away = PauseAt((draw.victim(),))
            steps.append(Step(do=away, when=Wait(draw.span(0, 20)), until=For(draw.span(10, 200))))
        case _:
            pass
    steps += [
        step(ProbeAt(ProbeKind.WRITE, ("leader",), 4, draw.span(5, 40)), Wait(draw.span(0, 100))),
        reads(draw, ("all",), Wait(draw.span(0, 60))),
        step(HealOf("members"), Wait(draw.span(0, 200))),
        reads(draw, ("all",), Wait(draw.span(0, 60))),
        read_back(),
    ]
    return episode("other-voters", steps)


def drawn_members(draw: Draw) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Draw voters, the leader mostly among them, and learners of the others."""
    roles = ["leader", *(f"follower-{number}" for number in range(1, draw.nodes))]
    voters = tuple(draw.rng.sample(roles, draw.rng.randint(1, draw.nodes)))
    if "leader" not in voters and not draw.one_in(3):
        voters = ("leader", *voters[1:])
    left = [role for role in roles if role not in voters]
    return voters, tuple(role for role in left if draw.one_in(2))


def parted_change(draw: Draw) -> Episode:
    """Change the voters while those who stay or come hear nothing of those who go, and the reverse."""
    followers = [f"follower-{number}" for number in range(1, draw.nodes)]
    draw.rng.shuffle(followers)
    gone = draw.rng.randint(1, max(1, len(followers) // 2))
    going, staying = tuple(followers[:gone]), ("leader", *followers[gone:])
    steps = [
        write_first(),
        cut(NamedLinks(staying, going), after(EventName.ACKED), name="there"),
        cut(NamedLinks(going, staying), Wait(), name="back"),
        step(MembersAt(("leader",), staying), Wait(draw.span(0, 40)), name="members"),
        *deposed(draw),
        healed(draw, "there"),
        healed(draw, "back"),
        step(HealOf("members"), Wait(draw.span(0, 100))),
        reads(draw, ("all",), Wait(draw.span(0, 60))),
        read_back(),
    ]
    return episode("parted-change", steps)


def unheard_time(draw: Draw) -> Episode:
    """Keep nodes from hearing what time it is for a while, and depose the leader meanwhile."""
    target = draw.rng.choice(("leader", "followers", "all", draw.follower()))
    steps = [
        write_first(),
        step(StopTimeAt((target,)), after(EventName.ACKED), name="silence"),
        cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), Wait(draw.span(0, 200))),
        *deposed(draw, by=600),
        healed(draw, "cut"),
        step(HealOf("silence"), Wait(draw.span(0, 100))),
        reads(draw, ("all",), Wait(draw.span(0, 60))),
        read_back(),
    ]
    return episode(f"unheard-time-{target}", steps)
