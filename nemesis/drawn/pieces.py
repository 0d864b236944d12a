"""Steps that many drawn episodes share: an old value made known, a deposed leader read at, a late heal.

Cuts heal link by link, with a stagger; an episode that deposes a leader writes at the new one and then
reads at the old one, before anything is healed.
"""

from __future__ import annotations

from nemesis.schedule import (
    NOTHING,
    Action,
    After,
    Awaited,
    CutAt,
    Episode,
    EventName,
    HealOf,
    NamedLinks,
    ProbeAt,
    ProbeKind,
    ShapedLinks,
    Span,
    Step,
    Wait,
    When,
)

from .draw import Draw, elections


def write_first() -> Step:
    """Return the step that gets an old value known."""
    return step(ProbeAt(ProbeKind.WRITE, ("leader",), 10, elections(10)))


def after(event: EventName, *, by: int = 400, wait: Span = NOTHING) -> After:
    """Return a moment after an event, ``by`` in hundredths of an election timeout."""
    return After(Awaited(event), elections(by), wait)


def deposed(draw: Draw, *, by: int = 400) -> tuple[Step, ...]:
    """Return the heart of it: a write at the new leader, then fresh reads at the old one."""
    rewrite = ProbeAt(ProbeKind.WRITE, ("new-leader",), 20, elections(4))
    reread = ProbeAt(ProbeKind.READ, ("leader",), draw.rng.randint(1, 4), draw.span(3, 20))
    return (
        step(rewrite, after(EventName.NEW_LEADER, by=by)),
        step(reread, after(EventName.NEW_LEADER_ACKED, by=300)),
        step(ProbeAt(ProbeKind.READ, (draw.follower(),)), Wait(draw.span(1, 20))),
    )


def healed(draw: Draw, of: str) -> Step:
    """Return the heal of a cut after a while, link by link."""
    return step(HealOf(of, draw.span(5, 80)), Wait(draw.span(5, 60)))


def read_back() -> Step:
    """Return the read that looks at everybody after the heal."""
    return step(ProbeAt(ProbeKind.READ, ("all",)), Wait(elections(20)))


def step(do: Action, when: When | None = None, *, name: str | None = None) -> Step:
    """Return a step, by default at once after the one before."""
    return Step(do=do, when=Wait() if when is None else when, name=name)


def cut(links: NamedLinks | ShapedLinks, when: When, *, name: str = "cut") -> Step:
    """Return the step that cuts links and keeps what is in flight."""
    return step(CutAt(links), when, name=name)


def episode(name: str, steps: list[Step]) -> Episode:
    """Return a drawn episode: it is never required."""
    return Episode(name=name, steps=tuple(steps), required=False)
