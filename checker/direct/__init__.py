"""Objects whose rules decide a history directly, without a search, where values are unique."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.direct import bag, fifo, lists, priority, sets, stack
from checker.direct.verdict import Direct, Impossible, Ordered
from checker.models.queues import FifoQueue, PriorityQueue, Stack, UnorderedQueue
from checker.models.sets import GrowSet
from checker.models.transactions import ListAppend

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.models.model import Model
    from checker.part import Part

_BY_MODEL: Final[dict[type[Model], Callable[[Part], Direct]]] = {
    FifoQueue: fifo.decide,
    UnorderedQueue: bag.decide,
    Stack: stack.decide,
    PriorityQueue: priority.decide,
    GrowSet: sets.decide,
    ListAppend: lists.decide,
}


def decide(part: Part) -> Direct:
    """Return the decision for ``part``; None if no rules of its model decide it."""
    rules = _BY_MODEL.get(type(part.model))
    return None if rules is None else rules(part)


__all__ = ["Direct", "Impossible", "Ordered", "decide"]
