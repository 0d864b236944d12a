"""The search for registers where values repeat, or where zones could not decide.

Wing and Gong's search with Lowe's memory, as in `generic`, on codes and numbered values, with what is
true of registers only:

1. Reads, failed cas and cas from a value to itself are taken as soon as they fit, without a branch.
2. A configuration is (first operation not taken, a bit for each later one taken, value held).
3. A write or cas of unknown end is taken only when somebody who may be next wants its value (or the old
   value of another such cas on the way to it), or when a failed cas needs the value gone: anything else
   can be delayed, or left out. A write that nobody ever wants is junk, and one junk is as good as
   another, or as a write that is wanted later; but not as a cas, which needs the present value.
4. Of two equal configurations the one that used fewer of those can do whatever the other can.
5. A value is never left while an operation not taken still has to see it and none not taken can write it
   again.
6. What is tried first: in the order of zones where there is one; else the operation that must return
   soonest, or what writes the value that it waits for; then the others, earliest return first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.models.model import untag
from checker.operations import NEVER
from checker.search.numbered import CAS, NO_OLD, READ, WRITE, Numbered, numbered
from checker.search.result import Deepest, Found, Searching, Stuck, unwind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.zones.lower import Lowered

_SLICE = 512


def search(  # noqa: C901, PLR0912, PLR0915 - one loop whose parts share two dozen variables
    lowered: Lowered, rank: Sequence[int] | None = None
) -> Searching:
    """Search a linearization; ``rank`` orders the candidates, by position in ``lowered``."""
    problem = numbered(lowered)
    code, sees, then, call, back = problem.code, problem.sees, problem.then, problem.call, problem.back
    position, maybes, junk = problem.position, problem.maybes, problem.junk
    bits_of, maybe_writers = maybes.bits, maybes.writers
    last_writer = [places[-1] if places else -1 for places in problem.writers]
    last_observer = [places[-1] if places else -1 for places in problem.observers]
    size = len(code)
    priority = back if rank is None else [rank[i] for i in position]
    read, write, cas = READ, WRITE, CAS
    seen: dict[tuple[int, int, int], Any] = {}
    deepest = Deepest()
    spent = 0
    stack: list[tuple[int, int, int, int, Any]] = [(0, 0, 0, 0, None)]
    while stack:
        first, taken, used, state, trail = stack.pop()
        while True:
            spent += 1
            if spent >= _SLICE:
                yield spent, position[first]
                spent = 0
            candidates: list[int] = []
            wants: list[int] = []
            differing = False
            soonest, blocked = NEVER, -1
            at, bits = first, taken
            while call[at] <= soonest and at < size:
                if not bits & 1:
                    kind = code[at]
                    if kind == write:
                        candidates.append(at)
                    elif kind == read:
                        if sees[at] == state:
                            taken |= 1 << (at - first)
                            trail = (position[at], trail)
                            at += 1
                            bits >>= 1
                            continue
                        wants.append(sees[at])
                    elif kind == cas:
                        if sees[at] == state:
                            candidates.append(at)
                        else:
                            wants.append(sees[at])
                    elif sees[at] != state:
                        taken |= 1 << (at - first)
                        trail = (position[at], trail)
                        at += 1
                        bits >>= 1
                        continue
                    else:
                        differing = True
                    if back[at] < soonest:
                        soonest, blocked = back[at], at
                at += 1
                bits >>= 1
            if blocked < 0:
                return Found(order=unwind(trail))
            while taken & 1:
                taken >>= 1
                first += 1
            if last_writer[state] < at and last_observer[state] >= first and state not in maybe_writers:
                candidates, leavable = _bound(problem, candidates, first=first, taken=taken, state=state)
            else:
                leavable = True
            helpful: dict[int, int] = {}
            if bits_of and leavable and (wants or differing):
                helpful = _help(
                    problem,
                    wants,
                    differing=differing,
                    soonest=soonest,
                    used=used,
                    state=state,
                    junk=junk,
                )
            if len(candidates) > 1:
                candidates.sort(key=priority.__getitem__, reverse=True)
                if rank is None and code[blocked] != write:
                    wanted = sees[blocked]
                    if any(then[at] == wanted for at in candidates):
                        candidates.sort(key=lambda at: then[at] == wanted)
            if len(candidates) + len(helpful) > 1:
                key = (first, taken, state)
                before = seen.get(key)
                if before is None:
                    seen[key] = [used] if used else True
                elif before is True or any(less & used == less for less in before):
                    deepest.reach(soonest, first + taken.bit_count(), position[blocked], state)
                    break
                else:
                    before.append(used)
                pushed: list[tuple[int, int, int, int, Any]] = [
                    (first, taken | 1 << (at - first), used, then[at], (position[at], trail))
                    for at in candidates
                ]
                if helpful:
                    given = [
                        (first, taken, used | bits_of[i], value, (i, trail))
                        for i, value in helpful.items()
                    ]
                    wanted = sees[blocked]
                    direct = code[blocked] != write and wanted in helpful.values()
                    pushed = (
                        [*pushed, *given]
                        if direct and not _writes(candidates, then, wanted)
                        else [*given, *pushed]
                    )
                first, taken, used, state, trail = pushed.pop()
                stack.extend(pushed)
            elif candidates:
                at = candidates[0]
                taken |= 1 << (at - first)
                state = then[at]
                trail = (position[at], trail)
            elif helpful:
                ((i, state),) = helpful.items()
                used |= bits_of[i]
                trail = (i, trail)
            else:
                deepest.reach(soonest, first + taken.bit_count(), position[blocked], state)
                break
            while taken & 1:
                taken >>= 1
                first += 1
    yield spent, 0
    return Found(
        order=None,
        stuck=Stuck(
            blocked=deepest.blocked,
            states=tuple(untag(problem.names[state]) for state in deepest.states),
        ),
    )


def _writes(candidates: Sequence[int], then: Sequence[int], wanted: int) -> bool:
    """Return whether the candidate tried first leaves ``wanted``."""
    return bool(candidates) and then[candidates[-1]] == wanted


def _bound(
    problem: Numbered, candidates: list[int], *, first: int, taken: int, state: int
) -> tuple[list[int], bool]:
    """Return the candidates that may leave ``state``, which nobody ahead may write again (rule 5)."""
    if _left(problem.writers[state], first, taken, 1):
        return candidates, True
    needed = _left(problem.observers[state], first, taken, 2)
    if not needed:
        return candidates, True
    if needed == 1:
        return [at for at in candidates if problem.code[at] == CAS], False
    return [], False


def _left(places: list[int], first: int, taken: int, most: int) -> int:
    """Return how many of ``places`` are not taken, counting up to ``most``."""
    count = 0
    for at in reversed(places):
        if at < first:
            break
        if not taken >> (at - first) & 1:
            count += 1
            if count == most:
                break
    return count


def _help(  # noqa: C901, PLR0912 - two reasons to help, one loop each
    problem: Numbered,
    wants: list[int],
    *,
    differing: bool,
    soonest: int,
    used: int,
    state: int,
    junk: list[tuple[int, int, int]],
) -> dict[int, int]:
    """Return the operations of unknown end that may help now, and the values they leave (rule 3)."""
    maybes = problem.maybes
    bits_of, writers = maybes.bits, maybes.writers
    helpful: dict[int, int] = {}
    for value in {each for want in wants for each in maybes.wanted(want)}:
        if value == state or value not in writers:
            continue
        for made, i, old in writers[value]:
            if made > soonest:
                break
            if not used & bits_of[i] and old in {NO_OLD, state}:
                helpful[i] = value
                if old == NO_OLD:
                    break
    if differing:
        free = next(
            ((i, value) for made, i, value in junk if made <= soonest and not used & bits_of[i]), None
        )
        if free is not None:
            helpful[free[0]] = free[1]
        for value, several in writers.items():
            if value == state:
                continue
            for made, i, old in several:
                if made > soonest:
                    break
                if not used & bits_of[i] and (old == state or (old == NO_OLD and free is None)):
                    helpful[i] = value
    return helpful
