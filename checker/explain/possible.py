"""Which states an object could have been in while one operation was open.

The orders of a few operations are followed, and those count that come to where all fit that returned
earlier: the states are those of every instant of the interval, not only of where a search gave up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from checker.search.generic import ask

if TYPE_CHECKING:
    from collections.abc import Hashable

    from checker.part import Part

    Configuration = tuple[int, Hashable]
    """A bit for each operation that has taken effect, and the state that this left."""

_STATES_MAX: Final = 10
_CONFIGURATIONS_MAX: Final = 4096


class Possible(NamedTuple):
    """States, those that can come first in front; ``all_of_them`` unless there may be others."""

    states: tuple[Hashable, ...]
    all_of_them: bool


def possible(part: Part, position: int) -> Possible:
    """Return the states before the operation at ``position`` takes effect, at any instant it is open.

    There are no more than a reader can take in, and no more orders are followed than take a moment.
    Raises `ModelError`.
    """
    calls, returns = part.calls, part.returns
    everything = range(len(part.operations))
    before = sum(1 << i for i in everything if returns[i] < calls[position])
    must = sum(1 << i for i in everything if returns[i] < returns[position])
    start: Configuration = (0, part.start)
    came_from: dict[Configuration, list[Configuration]] = {start: []}
    waiting = [start]
    while waiting and len(came_from) < _CONFIGURATIONS_MAX:
        here = waiting.pop()
        taken, state = here
        left = [i for i in everything if not taken >> i & 1]
        soonest = min(returns[i] for i in left)
        for i in left:
            if i != position and calls[i] <= soonest:
                for then in ask(part.model, state, part.operations[i]):
                    reached = (taken | 1 << i, then)
                    if reached not in came_from:
                        came_from[reached] = []
                        waiting.append(reached)
                    came_from[reached].append(here)
    backward = [each for each in came_from if each[0] & must == must] or list(came_from)
    leads = set(backward)
    while backward:
        new = set(came_from[backward.pop()]) - leads
        leads |= new
        backward.extend(new)
    while_open = [each for each in came_from if each in leads and each[0] & before == before]
    while_open.sort(key=lambda each: each[0].bit_count())
    states = tuple(dict.fromkeys(state for _, state in while_open))
    return Possible(states[:_STATES_MAX], not waiting and len(states) <= _STATES_MAX)
