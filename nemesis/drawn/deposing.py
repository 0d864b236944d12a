"""Episodes that take the leadership away from a leader which may believe in its lease."""

from __future__ import annotations

from typing import Final

from nemesis.faults import Flight
from nemesis.grudges import Shape
from nemesis.schedule import (
    CampaignAt,
    CutAt,
    Episode,
    EventName,
    For,
    HealOf,
    NamedLinks,
    PauseAt,
    ProbeAt,
    ProbeKind,
    ShapedLinks,
    Step,
    Wait,
)

from .draw import Draw, elections
from .pieces import after, cut, deposed, episode, healed, read_back, step, write_first

DEPOSING: Final = (
    Shape.ISOLATE_ONE,
    Shape.LEADER_MUTE,
    Shape.LEADER_DEAF,
    Shape.HALVES,
    Shape.MINORITY_THIRD,
)
"""Shapes after which the leader of before leads no more (a deaf one steps down after a while)."""


def isolation(draw: Draw) -> Episode:
    """Cut the leader off, often with a follower frozen for a while during the cut."""
    shape = draw.rng.choice(DEPOSING)
    steps = [write_first(), cut(ShapedLinks(shape, "leader"), after(EventName.ACKED))]
    if "pause" in draw.families and draw.one_in(2):
        frozen = PauseAt((draw.follower(),))
        steps.append(Step(do=frozen, when=Wait(draw.span(0, 60)), until=For(draw.span(10, 70))))
    steps += [*deposed(draw, by=600), healed(draw, "cut"), read_back()]
    return episode(f"isolation-{shape.value}", steps)


def held_answers(draw: Draw) -> Episode:
    """Hold what the followers answer, cut the leader off, let the old answers through once."""
    answers = NamedLinks(("followers",), ("leader",))
    steps = [
        write_first(),
        cut(answers, after(EventName.ACKED), name="answers"),
        cut(NamedLinks(("leader",), ("followers",)), Wait(draw.span(11, 25))),
        step(HealOf("answers"), Wait(draw.span(30, 75))),
        cut(answers, Wait(draw.span(5, 10)), name="silence"),
        *deposed(draw),
        healed(draw, "silence"),
        healed(draw, "cut"),
        read_back(),
    ]
    return episode("held-answers", steps)


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
    strangers = step(CutAt(NamedLinks(("clients",), ("leader",)), Flight.DROP), name="strangers")
    news = [cut(NamedLinks(others, ("leader",)), Wait(), name="news")] if others else []
    steps = [
        write_first(),
        cut(NamedLinks(("leader",), (mute,)), after(EventName.ACKED), name="answers"),
        step(ProbeAt(ProbeKind.READ, (mute,)), Wait(draw.span(1, 5))),
        cut(NamedLinks((mute,), ("leader",)), Wait(draw.span(10, 45)), name="late"),
        step(HealOf("answers"), Wait(draw.span(10, 45))),
        cut(NamedLinks(("leader",), ("followers",)), Wait(draw.span(1, 10)), name="rounds"),
        *news,
        step(PauseAt(("leader",)), name="freeze"),
        *([strangers] if quiet else []),
        step(ProbeAt(ProbeKind.WRITE, ("new-leader",), 20, elections(4)), after(EventName.NEW_LEADER)),
        step(HealOf("freeze"), after(EventName.NEW_LEADER_ACKED, by=300)),
        *([step(HealOf("strangers"))] if quiet else []),
        step(ProbeAt(ProbeKind.READ, ("leader",)), Wait(draw.span(1, 4))),
        *(step(HealOf(name, draw.span(5, 60)), Wait(draw.span(2, 20))) for name in opened),
        read_back(),
    ]
    return episode("late-quorum", steps)


def frozen_leader(draw: Draw) -> Episode:
    """Freeze the leader past its lease with its peers' words held from the stop on, and read at it.

    Reads before the freeze open the connections that the reads during it use: a node coming out of a
    freeze takes what waits on a connection before it takes a new one.
    """
    steps = [
        write_first(),
        step(ProbeAt(ProbeKind.READ, ("leader",), draw.rng.randint(1, 4)), after(EventName.ACKED)),
        cut(ShapedLinks(Shape.LEADER_DEAF, "leader"), Wait(draw.span(2, 30))),
        step(PauseAt(("leader",)), name="freeze"),
        *deposed(draw),
        step(HealOf("freeze"), Wait(draw.span(2, 40))),
        step(ProbeAt(ProbeKind.READ, ("leader",), draw.rng.randint(1, 4), draw.span(1, 10))),
        healed(draw, "cut"),
        read_back(),
    ]
    return episode("frozen-leader", steps)


def campaign(draw: Draw) -> Episode:
    """Ask a follower to campaign while the leader is cut off and its lease still lives."""
    steps = [
        write_first(),
        cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), after(EventName.ACKED)),
        step(CampaignAt((draw.follower(),)), Wait(draw.span(1, 60))),
        step(CampaignAt((draw.follower(),)), Wait(draw.span(5, 30))),
        *deposed(draw),
        healed(draw, "cut"),
        read_back(),
    ]
    return episode("campaign", steps)
