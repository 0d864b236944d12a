"""How long drawn episodes last, and how many fill a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.schedule import After, At, Episode, EventName, For, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator


def filled(begun: list[Episode], draws: Iterator[Episode], elections: float) -> list[Episode]:
    """Return the episodes begun with, and drawn ones until so many election timeouts are filled."""
    episodes = list(begun)
    length = sum(shortest(episode) for episode in begun)
    for episode in draws:
        if length >= elections:
            break
        episodes.append(episode)
        length += shortest(episode)
    return episodes


def shortest(episode: Episode) -> float:
    """Return about how long an episode lasts at least, in election timeouts (a second counts as one)."""
    deposing = (EventName.NEW_LEADER, EventName.NEW_LEADER_ACKED)
    length = 0.5
    for step in episode.steps:
        match step.when:
            case At(span):
                length = max(length, span.amount)
            case Wait(span):
                length += span.amount
            case After(awaited, _, wait):
                length += wait.amount + (0.7 if awaited.event in deposing else 0.05)
    ends = (step.until.span.amount for step in episode.steps if isinstance(step.until, For))
    return max(length, *ends, 0.0)
