"""From a `Schedule` to plain objects that YAML and JSON can hold; the inverse of `nemesis.parse`."""

from __future__ import annotations

from typing import Any, Final

from .faults import Flight
from .fields import plain
from .grudges import Side
from .schedule import (
    NOTHING,
    PATIENCE,
    Action,
    After,
    At,
    Awaited,
    BendAt,
    CampaignAt,
    CutAt,
    Episode,
    FillAt,
    For,
    HealOf,
    KillAt,
    Links,
    NamedLinks,
    PauseAt,
    ProbeAt,
    Rate,
    Schedule,
    ShapedLinks,
    SlowApplyAt,
    SlowAt,
    SlowSyncAt,
    Span,
    Step,
    Wait,
    When,
)

PLAIN: Final = {
    PauseAt: "pause",
    KillAt: "kill",
    CampaignAt: "campaign",
    SlowApplyAt: "apply",
    SlowSyncAt: "sync",
    FillAt: "fill",
}
"""What steps that say nothing but whom (and how late) are called."""


def dump(schedule: Schedule) -> list[dict[str, Any]]:
    """Return the list of episodes, as a plan holds it: ``parse(dump(schedule)) == schedule``."""
    return [_episode(episode) for episode in schedule.episodes]


def _episode(episode: Episode) -> dict[str, Any]:
    """Return one episode."""
    return {
        "episode": episode.name,
        **_when(episode.start, bare=True),
        **({"times": episode.times} if episode.times != 1 else {}),
        **({} if episode.required else {"required": False}),
        "steps": [_step(step) for step in episode.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    """Return one step."""
    return {
        **plain({"name": step.name}),
        **_when(step.when),
        **_action(step.do),
        **_until(step.until),
        **plain({"unless": None if step.unless is None else _awaited(step.unless)}),
    }


def _when(when: When, *, bare: bool = False) -> dict[str, Any]:
    """Return a moment; a step that follows at once says nothing, an episode (``bare``) does."""
    match when:
        case At(span):
            return {"at": _amount(span)}
        case Wait(span):
            return {"wait": _amount(span)} if span != NOTHING or bare else {}
        case After(awaited, by, wait):
            return {
                "after": _awaited(awaited),
                **({"by": _amount(by)} if by != PATIENCE else {}),
                **({"wait": _amount(wait)} if wait != NOTHING else {}),
            }


def _until(until: For | At | After | None) -> dict[str, Any]:
    """Return an ending."""
    match until:
        case None:
            return {}
        case For(span):
            return {"for": _amount(span)}
        case At(span):
            return {"until": _amount(span)}
        case After():
            return {"until": _when(until)}


def _action(do: Action) -> dict[str, Any]:  # noqa: PLR0911 - one case a kind
    """Return what is done."""
    match do:
        case PauseAt(target) | KillAt(target) | CampaignAt(target) | FillAt(target):
            return {"do": PLAIN[type(do)], "target": _names(target)}
        case CutAt(links, flight):
            lost = {} if flight is Flight.HOLD else {"flight": flight.value}
            return {"do": "cut", **_links(links), **lost}
        case SlowAt(links, delay):
            return {"do": "slow", **_links(links), "delay": _amount(delay)}
        case BendAt(target, rate, wall):
            bend = {
                "rate": None if rate is None else _amount(rate),
                "wall": None if wall is None else _amount(wall),
            }
            return {"do": "clock", "target": _names(target), **plain(bend)}
        case SlowApplyAt(target, delay) | SlowSyncAt(target, delay):
            return {"do": PLAIN[type(do)], "target": _names(target), "delay": _amount(delay)}
        case HealOf(of, stagger):
            return {"do": "heal", "of": of, **({} if stagger is None else {"stagger": _amount(stagger)})}
        case ProbeAt(f, target, times, every):
            rhythm = {
                "times": None if times == 1 else times,
                "every": None if every == NOTHING else _amount(every),
            }
            return {"do": f.value, "target": _names(target), **plain(rhythm)}


def _links(links: Links) -> dict[str, Any]:
    """Return a choice of links."""
    match links:
        case NamedLinks(sources, sinks):
            return {"from": _names(sources), "to": _names(sinks)}
        case ShapedLinks(shape, centre, side):
            beside = {} if side is Side.PEERS else {"side": side.value}
            return {"shape": shape.value, **plain({"target": centre}), **beside}


def _awaited(awaited: Awaited) -> Any:
    """Return an event."""
    return awaited.event.value if awaited.left is None else {awaited.event.value: _amount(awaited.left)}


def _names(names: tuple[str, ...]) -> Any:
    """Return one name as itself, several as a list."""
    return names[0] if len(names) == 1 else list(names)


def _amount(value: Span | Rate) -> float | str:
    """Return a number, or a number with its unit."""
    return f"{value.amount!r}{value.unit.value}" if value.unit.value else value.amount
