"""The search that works for any model: Wing and Gong's, with Lowe's memory and five reductions.

A *configuration* says which operations have taken effect and what state that left. An operation may be
next if none that has not taken effect returned before it was called. Depth first, from the empty
configuration; each is visited once.

1. A read-only operation that may be next and fits is taken at once, without a branch: it changes
   nothing, and without it the rest is only freer. (A *write* of the present value is no such thing:
   where values repeat it may be needed later.)
2. A configuration is remembered as (first operation not taken, a bit for each later one taken, state):
   the bits span the operations open at one time, not the history.
3. An operation of unknown end is never forced, only tried; of several alike the earliest call stands for
   all.
4. Of two equal configurations the one that used fewer of those can do whatever the other can.
5. Nothing comes of a configuration in which what looks now, or next, can no longer fit before it
   returns (`Model.leads`), because nothing that could come before it resets the state.

States are numbered, and a model is asked at most once for the same operation in the same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checker.errors import ModelError
from checker.models.model import Model
from checker.search.result import Deepest, Found, Searching, Spent, unwind

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from checker.operations import Operation

_SLICE: Final = 128


class Steps:
    """A model, asked once per operation and state; states by number."""

    def __init__(self, model: Model, operations: Sequence[Operation]) -> None:
        self.model = model
        self.operations = operations
        self.looks = [model.readonly(op) for op in operations]
        self.states: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: list[dict[int, tuple[int, ...]]] = [{} for _ in operations]

    def number(self, state: Hashable) -> int:
        """Return the number of ``state``."""
        found = self._numbers.setdefault(state, len(self.states))
        if found == len(self.states):
            self.states.append(state)
        return found

    def after(self, position: int, state: int) -> tuple[int, ...]:
        """Return the numbers of the states that may follow; raises `ModelError`."""
        known = self._known[position]
        found = known.get(state)
        if found is None:
            states = ask(self.model, self.states[state], self.operations[position])
            found = known[state] = (
                (self.number(states[0]),) if len(states) == 1 else tuple(map(self.number, states))
            )
            if self.looks[position] and any(then != state for then in found):
                what, cause = str(self.operations[position]), "it is readonly, and changes the state"
                raise ModelError(self.model.name, what, cause)
        return found


class Resets:
    """The operations of a search that reset the state, and where they could lead."""

    def __init__(
        self, steps: Steps, certain: Sequence[int], bit_of: Mapping[int, int], calls: Sequence[int]
    ) -> None:
        self._steps = steps
        self._certain = certain
        self._calls = calls
        every = steps.operations
        self._sure = [at for at, i in enumerate(certain) if steps.model.resets(every[i])]
        self._maybe = [(i, bit) for i, bit in bit_of.items() if steps.model.resets(every[i])]

    def lead(self, at: int, back: int, *, first: int, taken: int, used: int, state: int) -> bool:
        """Return whether ``at``, which returns at ``back``, may yet fit after ``state``."""
        return (
            self._leads(at, state)
            or any(
                place >= first
                and not taken >> (place - first) & 1
                and self._resets(at, back, self._certain[place], state)
                for place in self._sure
            )
            or any(not used & bit and self._resets(at, back, i, state) for i, bit in self._maybe)
        )

    def _resets(self, at: int, back: int, i: int, state: int) -> bool:
        return self._calls[i] <= back and any(
            self._leads(at, then) for then in self._steps.after(i, state)
        )

    def _leads(self, at: int, state: int) -> bool:
        model, held = self._steps.model, self._steps.states[state]
        op = self._steps.operations[self._certain[at]]
        try:
            return model.leads(held, op)
        except Exception as error:
            raise ModelError(model.name, str(op), f"{type(error).__name__}: {error}") from error


def ask(model: Model, state: Any, op: Operation) -> Sequence[Hashable]:
    """Return ``model.step``, with whatever goes wrong in it turned into a `ModelError`."""
    try:
        states = tuple(model.step(state, op))
        hash(states)
    except Exception as error:
        raise ModelError(model.name, str(op), f"{type(error).__name__}: {error}") from error
    return states


def search(  # noqa: C901, PLR0912, PLR0915 - one loop whose parts share a dozen variables
    model: Model,
    operations: Sequence[Operation],
    start: Hashable,
    calls: Sequence[int],
    returns: Sequence[int],
) -> Searching:
    """Search a linearization of ``operations``, which are in call order, from state ``start``.

    ``returns`` is `NEVER` for those of unknown end; these may be left out.
    """
    never = 1 << 62
    certain = [i for i in range(len(operations)) if returns[i] < never]
    classes: dict[Hashable, list[int]] = {}
    for i in range(len(operations)):
        if returns[i] >= never:
            classes.setdefault(model.alike(operations[i]), []).append(i)
    maybes = sorted(classes.values(), key=lambda members: calls[members[0]])
    bit_of = {i: 1 << bit for bit, i in enumerate(i for members in maybes for i in members)}
    call = [*(calls[i] for i in certain), never]
    back = [returns[i] for i in certain]
    steps = Steps(model, operations)
    looks = [steps.looks[i] for i in certain]
    after = steps.after
    resets = Resets(steps, certain, bit_of, calls) if type(model).leads is not Model.leads else None
    size = len(certain)
    seen: dict[tuple[int, int, int], list[int]] = {}
    deepest = Deepest()
    spent = 0
    stack: list[tuple[int, int, int, int, Any]] = [(0, 0, 0, steps.number(start), None)]
    while stack:
        first, taken, used, state, trail = stack.pop()
        doomed = -1
        while True:
            spent += 1
            if spent >= _SLICE and first < size:
                yield Spent(spent, certain[first], len(seen))
                spent = 0
            candidates: list[int] = []
            waiting: list[int] = []
            soonest, blocked = never, -1
            at, bits = first, taken
            while call[at] <= soonest and at < size:
                if not bits & 1:
                    if looks[at]:
                        if after(certain[at], state):
                            taken |= 1 << (at - first)
                            trail = (certain[at], trail)
                            at += 1
                            bits >>= 1
                            continue
                        waiting.append(at)
                    else:
                        candidates.append(at)
                    if back[at] < soonest:
                        soonest, blocked = back[at], at
                at += 1
                bits >>= 1
            if blocked < 0:
                return Found(order=unwind(trail))
            if resets is not None:
                waiting += next(([later] for later in range(at, size) if looks[later]), [])
                hopeless = (
                    at
                    for at in waiting
                    if not resets.lead(at, back[at], first=first, taken=taken, used=used, state=state)
                )
                doomed = next(hopeless, -1)
                if doomed >= 0:
                    break
            states = after(certain[candidates[0]], state) if len(candidates) == 1 and not maybes else ()
            if len(states) == 1:
                (state,) = states
                taken |= 1 << (candidates[0] - first)
                trail = (certain[candidates[0]], trail)
            while taken & 1:
                taken >>= 1
                first += 1
            if len(states) != 1:
                break
        if doomed >= 0:
            deepest.reach(back[doomed], first + taken.bit_count(), certain[doomed])
            continue
        before = seen.setdefault((first, taken, state), [])
        if before and any(less & used == less for less in before):
            deepest.reach(soonest, first + taken.bit_count(), certain[blocked])
            continue
        before.append(used)
        height = len(stack)
        for members in maybes:
            if calls[members[0]] > soonest:
                break
            position = next((i for i in members if not used & bit_of[i]), None)
            if position is None or calls[position] > soonest:
                continue
            stack.extend(
                (first, taken, used | bit_of[position], then, (position, trail))
                for then in after(position, state)
                if then != state
            )
        candidates.sort(key=back.__getitem__, reverse=True)
        for at in candidates:
            for then in after(certain[at], state):
                stack.append((first, taken | 1 << (at - first), used, then, (certain[at], trail)))  # noqa: PERF401
        if len(stack) == height:
            deepest.reach(soonest, first + taken.bit_count(), certain[blocked])
    yield Spent(spent, 0, len(seen))
    return Found(
        order=None,
        stuck=deepest.blocked,
    )
