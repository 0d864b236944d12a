"""The dumb oracle: try every order. For a dozen operations, and for nothing but checking the others.

It shares no idea with the algorithms it judges: no windows, no reductions, no interning, no zones. A set
of operations has taken effect and left a set of states; every operation outside the set that nobody
outside the set precedes may come next. Done when all that certainly happened have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.events import EventType
from checker.search.generic import ask

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.models.model import Model
    from checker.operations import Operation


def linearizable(
    model: Model,
    operations: Sequence[Operation],
    start: Hashable,
    calls: Sequence[int],
    returns: Sequence[int],
) -> bool:
    """Return whether some order of ``operations`` (of any order) fits; exponential."""
    everyone = range(len(operations))
    must = frozenset(i for i in everyone if operations[i].outcome is not EventType.INFO)
    level: dict[frozenset[int], set[Hashable]] = {frozenset(): {start}}
    while level:
        if any(must <= done for done in level):
            return True
        following: dict[frozenset[int], set[Hashable]] = {}
        for done, states in level.items():
            for i in everyone:
                if i in done or any(
                    returns[j] < calls[i] for j in everyone if j != i and j not in done and j in must
                ):
                    continue
                after = {then for state in states for then in ask(model, state, operations[i])}
                if after:
                    following.setdefault(done | {i}, set()).update(after)
        level = following
    return False
