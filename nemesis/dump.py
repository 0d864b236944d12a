"""From a `Schedule` to plain objects that YAML and JSON can hold; the inverse of `nemesis.parse`."""

from __future__ import annotations

from typing import Any

from . import kinds
from .faults import Flight
from .fields import amount, names, plain
from .grudges import Side
from .schedule import (
    NOTHING,
    PATIENCE,
    Action,
    After,
    At,
    Awaited,
    CutAt,
    Episode,
    For,
    HealOf,
    Links,
    NamedLinks,
    NodesAt,
    ProbeAt,
    Schedule,
    ShapedLinks,
    SlowAt,
    Step,
    Wait,
    When,
)


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
            return {"at": amount(span)}
        case Wait(span):
            return {"wait": amount(span)} if span != NOTHING or bare else {}
        case After(awaited, by, wait):
            return {
                "after": _awaited(awaited),
                **({"by": amount(by)} if by != PATIENCE else {}),
                **({"wait": amount(wait)} if wait != NOTHING else {}),
            }


def _until(until: For | At | After | None) -> dict[str, Any]:
    """Return an ending."""
    match until:
        case None:
            return {}
        case For(span):
            return {"for": amount(span)}
        case At(span):
            return {"until": amount(span)}
        case After():
            return {"until": _when(until)}


def _action(do: Action) -> dict[str, Any]:
    """Return what is done."""
    match do:
        case NodesAt():
            return kinds.written(do)
        case CutAt(links, flight):
            lost = {} if flight is Flight.HOLD else {"flight": flight.value}
            return {"do": "cut", **_links(links), **lost}
        case SlowAt(links, delay):
            return {"do": "slow", **_links(links), "delay": amount(delay)}
        case HealOf(of, stagger):
            return {"do": "heal", "of": of, **({} if stagger is None else {"stagger": amount(stagger)})}
        case ProbeAt(f, target, times, every):
            rhythm = {
                "times": None if times == 1 else times,
                "every": None if every == NOTHING else amount(every),
            }
            return {"do": f.value, "target": names(target), **plain(rhythm)}


def _links(links: Links) -> dict[str, Any]:
    """Return a choice of links."""
    match links:
        case NamedLinks(sources, sinks):
            return {"from": names(sources), "to": names(sinks)}
        case ShapedLinks(shape, centre, side):
            beside = {} if side is Side.PEERS else {"side": side.value}
            return {"shape": shape.value, **plain({"target": centre}), **beside}


def _awaited(awaited: Awaited) -> Any:
    """Return an event."""
    return awaited.event.value if awaited.left is None else {awaited.event.value: amount(awaited.left)}
