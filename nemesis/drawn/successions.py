"""Episodes about who decides next: leaders after one another, each with entries that few have.

What was answered must be known to whoever is elected later, by any majority. So these make a majority
that knows little: of nodes that were behind, that lost what was not synced, or whose leader was cut off
while it still had to tell what it had. They know what a majority is and nothing of how one is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from nemesis.faults import Flight
from nemesis.schedule import (
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
    SlowAt,
    SlowSyncAt,
    Step,
    Wait,
    When,
)

from .moments import reads
from .pieces import after, episode, read_back, write_first

if TYPE_CHECKING:
    from .draw import Draw

STUCK: Final = (200, 2000)
"""A sync that takes so many hundredths of an election timeout is stuck for as long as it is asked to."""


def other_majority(draw: Draw) -> Episode:
    """Have a write answered, then leave the next election to nodes that hardly heard of it.

    Some are behind, some disks are late, the leader is killed at the answer and comes back at once, and
    others go away for as long as an election takes.
    """
    followers = _followers(draw)
    behind, answering = _parted(draw, followers)
    steps = []
    if not draw.one_in(3):
        late = draw.rng.choice((("leader",), ("leader",), behind, answering, ("all",)))
        length = draw.span(*STUCK) if draw.one_in(3) else draw.span(3, 60)
        steps.append(Step(do=SlowSyncAt(late, length), name="late"))
    cut = CutAt(NamedLinks(("leader",), behind), _flight(draw))
    write = msgspec.structs.replace(write_first(), when=Wait(draw.span(2, 20)))
    killed = draw.rng.choice((("leader",), ("leader",), ("leader", behind[0]), ("all",), answering))
    steps += [
        Step(do=cut, name="behind"),
        write,
        Step(do=KillAt(killed), when=after(EventName.ACKED, wait=draw.span(0, 3)), name="kill"),
        Step(do=HealOf("behind"), when=Wait(draw.span(0, 3))),
    ]
    away = tuple(node for node in answering if node not in killed and "all" not in killed)
    if away and not draw.one_in(4):
        steps.append(Step(do=PauseAt(away), when=Wait(), until=For(draw.span(150, 450))))
    steps += [
        Step(do=HealOf("kill"), when=Wait(draw.span(0, 20))),
        _writes(draw, "new-leader", after(EventName.NEW_LEADER, by=500)),
        reads(draw, ("all",), Wait(draw.span(1, 60))),
        read_back(),
    ]
    return episode("other-majority", steps)


def disputed(draw: Draw) -> Episode:
    """Let two or three nodes lead in turn, each slow to tell what it has, then cut off from the rest.

    A candidate's words are slow, so that it is still catching up with the others when it is cut off; the
    next one has to fetch its votes from nodes that have heard some of it.
    """
    nodes = ("leader", *_followers(draw))
    rivals = draw.rng.sample(nodes, 2 if draw.one_in(2) else 3)
    steps = [write_first()]
    for turn in range(draw.rng.randint(3, 5)):
        rival = rivals[turn % len(rivals)] if draw.one_in(2) else draw.rng.choice(rivals)
        steps += _turn(draw, turn, rival, nodes)
    steps += [reads(draw, ("all",), Wait(draw.span(50, 200))), read_back()]
    return episode("disputed", steps)


def _turn(draw: Draw, turn: int, rival: str, nodes: tuple[str, ...]) -> list[Step]:
    """Return one turn of `disputed`: a slow campaign, writes at whoever won it, and its isolation."""
    others = tuple(node for node in nodes if node != rival)
    rest = _parted(draw, others)[1]
    slowness = draw.rng.randint(2, 20)
    slow = SlowAt(NamedLinks((rival,), others), draw.span(slowness, slowness))
    cut = CutAt(NamedLinks((rival,), others if draw.one_in(3) else rest), _flight(draw))
    steps = [
        Step(do=slow, when=Wait(draw.span(0, 10)), until=For(draw.span(60, 160))),
        Step(do=CampaignAt((rival,)), when=Wait(draw.span(0, 40))),
        _writes(draw, rival, Wait(draw.span(0, 6 * slowness))),
        Step(do=cut, when=Wait(draw.span(0, 4 * slowness)), name=f"turn-{turn}"),
    ]
    if "crash" in draw.families and draw.one_in(2):
        steps.append(Step(do=KillAt((rival,)), when=Wait(draw.span(0, 30)), until=For(draw.span(5, 60))))
    if draw.one_in(2):
        steps.append(_writes(draw, rival, Wait(draw.span(0, 20))))
    steps.append(Step(do=HealOf(f"turn-{turn}"), when=Wait(draw.span(80, 140))))
    return steps


def _followers(draw: Draw) -> tuple[str, ...]:
    names = [f"follower-{number}" for number in range(1, draw.nodes)]
    draw.rng.shuffle(names)
    return tuple(names)


def _parted(draw: Draw, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two parts of the names, neither of them empty."""
    size = draw.rng.randint(1, len(names) - 1)
    return names[:size], names[size:]


def _flight(draw: Draw) -> Flight:
    return Flight.DROP if draw.one_in(2) else Flight.HOLD


def _writes(draw: Draw, target: str, when: When) -> Step:
    return Step(
        do=ProbeAt(ProbeKind.WRITE, (target,), draw.rng.randint(1, 8), draw.span(1, 6)), when=when
    )
