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

from .draw import elections
from .moments import reads
from .pieces import after, episode, read_back, step, write_first

if TYPE_CHECKING:
    from .draw import Draw

STUCK: Final = (200, 2000)
"""A sync that takes so many hundredths of an election timeout is stuck for as long as it is asked to."""

BIG: Final = 5
"""From so many nodes on three can dispute and leave others to vote."""


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
    """Let two or three nodes lead in turn, each cut off as it wins or while it tells what it has.

    All words between nodes are slow, by some hundredths of an election timeout: an election takes four
    of them, and whoever won it needs two for every message that the others lack. So a leader can be
    cut off before anybody has its first entry, and the next one while it catches up with the others.
    """
    slowness = draw.rng.randint(2, 12)
    nodes = ("leader", *_followers(draw))
    rivals = draw.rng.sample(nodes[1:], 1 if draw.one_in(2) or draw.nodes < BIG else 2)
    rivals.append("leader")
    steps = [
        write_first(),
        step(SlowAt(NamedLinks(("all",), ("all",)), elections(slowness))),
        _cut_off(draw, "leader", nodes, Wait(draw.span(0, 3 * slowness)), name="turn-0"),
        _writes(draw, "leader", Wait(draw.span(0, 5))),
    ]
    rival, lonely = "leader", False
    turns = draw.rng.randint(2, 4)
    for turn in range(1, turns + 1):
        rival = draw.rng.choice([each for each in rivals if each != rival])
        lonely = not lonely
        told = (4 * slowness, 5 * slowness) if lonely else (6 * slowness, 11 * slowness)
        steps += [
            step(CampaignAt((rival,)), Wait(draw.span(97, 105))),
            _cut_off(draw, rival, nodes, Wait(draw.span(*told)), name=f"turn-{turn}"),
            _writes(draw, rival, Wait(draw.span(0, 3))),
            step(HealOf(f"turn-{turn - 1}"), Wait(draw.span(0, 3))),
        ]
        if "crash" in draw.families and draw.one_in(4):
            killed = KillAt((rival,))
            steps.append(Step(do=killed, when=Wait(draw.span(0, 5)), until=For(draw.span(5, 60))))
    rival = draw.rng.choice([each for each in rivals if each != rival])
    steps += [
        step(CampaignAt((rival,)), Wait(draw.span(97, 105))),
        step(HealOf(f"turn-{turns}"), Wait(draw.span(4 * slowness, 100))),
        reads(draw, ("all",), Wait(draw.span(50, 200))),
        read_back(),
    ]
    return episode("disputed", steps)


def _cut_off(draw: Draw, node: str, nodes: tuple[str, ...], when: When, *, name: str) -> Step:
    """Return the step that cuts a node's words to all others, or to all but too few for a majority."""
    others = [each for each in nodes if each != node]
    draw.rng.shuffle(others)
    few = draw.rng.randint(0, len(nodes) // 2 - 1)
    return step(CutAt(NamedLinks((node,), tuple(others[few:])), _flight(draw)), when, name=name)


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
