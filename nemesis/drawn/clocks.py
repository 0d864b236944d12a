"""Episodes that bend clocks: rates within the declared bound, or wall clocks by any amount."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from nemesis.grudges import Shape
from nemesis.schedule import (
    BendAt,
    Episode,
    EventName,
    For,
    HealOf,
    Rate,
    RateUnit,
    ShapedLinks,
    Span,
    Step,
    Wait,
)
from targets.cluster import ClockMode

from .pieces import after, cut, deposed, episode, healed, read_back, step, write_first

if TYPE_CHECKING:
    from .draw import Draw


def bent_clocks(draw: Draw) -> Episode:
    """Bend clocks within the declared bound: the leader slow, the followers fast, or any of them."""
    slowed, hastened = draw.rng.randint(50, 100) / 100, draw.rng.randint(50, 100) / 100
    steps = [
        step(BendAt(("leader",), rate=Rate(-slowed, RateUnit.BOUNDS)), name="slow"),
        step(BendAt(("followers",), rate=Rate(hastened, RateUnit.BOUNDS)), name="fast"),
        msgspec.structs.replace(write_first(), when=after(EventName.INSTALLED, wait=draw.span(10, 50))),
        cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), after(EventName.ACKED)),
        *deposed(draw),
        healed(draw, "cut"),
        step(HealOf("fast"), Wait(draw.span(10, 60))),
        step(HealOf("slow"), Wait(draw.span(0, 60))),
        read_back(),
    ]
    return episode("bent-clocks", steps)


def wall_jump(draw: Draw) -> Episode:
    """Set wall clocks, mostly back, while the leader is cut off."""
    far = draw.span(50, 500)
    jump = Span(far.amount if draw.one_in(3) else -far.amount, far.unit)
    target = "followers" if jump.amount > 0 and draw.one_in(2) else "leader"
    steps = [
        write_first(),
        cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), after(EventName.ACKED)),
        step(BendAt((target,), wall=jump), Wait(draw.span(5, 60)), name="jump"),
        *deposed(draw),
        healed(draw, "cut"),
        step(HealOf("jump"), Wait(draw.span(5, 60))),
        read_back(),
    ]
    return episode("wall-jump", steps)


def clocks(draw: Draw) -> Episode:
    """Bend what the run's clock mode lets one bend."""
    return bent_clocks(draw) if draw.clock is ClockMode.RATE else wall_jump(draw)


def strobe(draw: Draw) -> Episode:
    """Bend clocks to and fro in quick succession, before and while the leader is cut off."""
    target = draw.rng.choice(("leader", "followers", "all"))
    before = [_flash(draw, target, sign=1 - 2 * (turn % 2)) for turn in range(draw.rng.randint(4, 7))]
    during = [_flash(draw, target, sign=1 - 2 * (turn % 2)) for turn in range(2)]
    steps = [
        write_first(),
        *before,
        cut(ShapedLinks(Shape.ISOLATE_ONE, "leader"), Wait(draw.span(1, 30))),
        *during,
        *deposed(draw),
        healed(draw, "cut"),
        read_back(),
    ]
    return episode(f"strobe-{target}", steps)


def _flash(draw: Draw, target: str, *, sign: int) -> Step:
    """Return one short bend; measuring a rate takes its time, so rates change less quickly."""
    if draw.clock is ClockMode.RATE:
        bend = BendAt((target,), rate=Rate(sign * draw.rng.randint(50, 100) / 100, RateUnit.BOUNDS))
        return Step(do=bend, when=Wait(draw.span(60, 90)), until=For(draw.span(20, 50)))
    far = draw.span(20, 300)
    bend = BendAt((target,), wall=Span(sign * far.amount, far.unit))
    return Step(do=bend, when=Wait(draw.span(25, 45)), until=For(draw.span(5, 20)))
