"""The search for registers where values repeat, or where zones could not decide.

Wing and Gong's search with Lowe's memory, as in `generic`, on codes and numbered values, with what is
true of registers only:

1. Reads, failed cas and cas from a value to itself are taken as soon as they fit, without a branch.
2. A configuration is (first operation not taken, a bit for each later one taken, value held).
3. A write or cas of unknown end is taken only when somebody who may be next wants its value (or the old
   value of another such cas on the way to it), or when a failed cas needs the value gone: anything else
   can be delayed, or left out. A write that nobody ever wants, and that no failed cas is about, is junk,
   and one junk is as good as another. It takes the place of no other write, nor of a cas: a write that
   serves a failed cas may serve the next reader too, and leave the junk for yet another failed cas.
4. Of two equal configurations the one that has more of those left, of what a branch from there ever ran
   out of, can do whatever the other can (`branches`). Those alike are used in the order of their calls.
5. A value is never left while an operation not taken still has to see it and none not taken can write it
   again.
6. What is tried first: in the order of zones where there is one; else the operation that must return
   soonest, or what writes the value that it waits for; then the others, earliest return first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checker.operations import NEVER
from checker.search.branches import Branch, covering, fail
from checker.search.gone import gone
from checker.search.numbered import CAS, NO_OLD, READ, WRITE, Alike, Numbered, numbered
from checker.search.result import Deepest, Found, Searching, Spent, unwind
from checker.zones.lower import sided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.zones.lower import Lowered

_SLICE: Final = 128

Given = tuple[int, int, int]
"""An operation of unknown end that may come next: its bit, the value it leaves, its position."""


class Ask:
    """What operations of unknown end are asked for: values wanted, or any other value; by when.

    ``given``: those that were tried already.
    """

    __slots__ = ("differing", "given", "soonest", "wants")

    def __init__(self, wants: list[int], differing: bool, soonest: int) -> None:  # noqa: FBT001
        self.wants = wants
        self.differing = differing
        self.soonest = soonest
        self.given: set[Given] = set()


Option = int | Given | Ask
"""What may come next: an operation that certainly happened, one of unknown end, any that can help."""
Open = tuple[int, int, int, int, Any, Branch | None, list[Option]]
"""A configuration (first, taken, used, state), how it came about, the options left, the best last."""


def search(lowered: Lowered, rank: Sequence[int] | None = None) -> Searching:
    """Search a linearization, unless a look shows that there is none.

    ``rank`` orders the candidates, by position in ``lowered``.
    """
    both = sided(lowered)
    late = gone(both)
    if late is not None:
        return Found(order=None, stuck=late)
    return (yield from branching(numbered(both), rank))


def branching(  # noqa: C901, PLR0912, PLR0915 - one loop whose parts share two dozen variables
    problem: Numbered, rank: Sequence[int] | None = None
) -> Searching:
    """Search a linearization of ``problem``."""
    code, sees, then, call, back = problem.code, problem.sees, problem.then, problem.call, problem.back
    position, maybe_writers = problem.position, problem.maybes.writers
    unknowns = bool(maybe_writers)
    last_writer = [places[-1] if places else -1 for places in problem.writers]
    last_observer = [places[-1] if places else -1 for places in problem.observers]
    size = len(code)
    priority = back if rank is None else [rank[i] for i in position]
    read, write, cas = READ, WRITE, CAS
    seen: dict[tuple[int, int, int], Any] = {}
    deepest = Deepest()
    spent = 0
    stack: list[Open] = []
    first, taken, used, state, branch = 0, 0, 0, 0, None
    trail: Any = None
    while True:
        lacking = 0
        while True:
            spent += 1
            if spent >= _SLICE and first < size:
                yield Spent(spent, position[first], len(seen))
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
            options: list[Option]
            if len(candidates) > 1:
                candidates.sort(key=priority.__getitem__, reverse=True)
                if rank is None and code[blocked] != write:
                    wanted = sees[blocked]
                    if wanted in map(then.__getitem__, candidates):
                        candidates = [
                            *(at for at in candidates if then[at] != wanted),
                            *(at for at in candidates if then[at] == wanted),
                        ]
            options = [*candidates]
            here = 0
            if unknowns and leavable and (wants or differing):
                ask = Ask(wants, differing, soonest)
                if not candidates:
                    options, here = _help(problem, ask, used, state)
                elif code[blocked] == write or then[candidates[-1]] == sees[blocked]:
                    options = [ask, *candidates]
                else:
                    given = _straight(problem, ask, used, state, sees[blocked])
                    ask.given.update(given)
                    options = [ask, *candidates, *given]
            if not options:
                deepest.reach(soonest, first + taken.bit_count(), position[blocked])
                fail(branch, lacking | here)
                break
            option = options.pop()
            if options:
                key = (first, taken, state)
                if not unknowns:
                    if key in seen:
                        deepest.reach(soonest, first + taken.bit_count(), position[blocked])
                        break
                    seen[key] = True
                else:
                    before = seen.setdefault(key, [])
                    same = covering(before, used)
                    if same is not None:
                        deepest.reach(soonest, first + taken.bit_count(), position[blocked])
                        fail(branch, lacking, same)
                        break
                    branch = Branch(branch, used, len(options) + 1, on_the_way=lacking, lacks=here)
                    before.append(branch)
                    lacking = here = 0
                stack.append((first, taken, used, state, trail, branch, options))
            lacking |= here
            if type(option) is int:
                taken |= 1 << (option - first)
                state = then[option]
                trail = (position[option], trail)
            else:
                assert type(option) is tuple, "an ask is never tried first"
                bit, state, i = option
                used |= bit
                trail = (i, trail)
        if not _next_open(problem, stack):
            break
        first, taken, used, state, trail, branch, options = stack[-1]
        option = options.pop()
        if not options:
            stack.pop()
        if type(option) is int:
            taken |= 1 << (option - first)
            state = then[option]
            trail = (position[option], trail)
        else:
            assert type(option) is tuple, "whoever was asked has answered"
            bit, state, i = option
            used |= bit
            trail = (i, trail)
    yield Spent(spent, 0, len(seen))
    return Found(
        order=None,
        stuck=deepest.blocked,
    )


def _next_open(problem: Numbered, stack: list[Open]) -> bool:
    """Leave on top of ``stack`` a configuration with something left to try; return whether there is one.

    Operations of unknown end are asked for help when all else has come to nothing.
    """
    while stack:
        _, _, used, state, _, branch, options = stack[-1]
        ask = options[-1]
        if type(ask) is not Ask:
            return True
        assert branch is not None
        options.pop()
        given, lacking = _help(problem, ask, used, state)
        branch.ways += len(given)
        options.extend(given)
        if not options:
            stack.pop()
        fail(branch, lacking)
    return False


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


def _straight(problem: Numbered, ask: Ask, used: int, state: int, wanted: int) -> list[Given]:
    """Return the operations of unknown end that leave ``wanted``, of those alike one."""
    found: list[Given] = []
    if wanted != state:
        for alike in problem.maybes.writers.get(wanted, ()):
            if alike.old in {NO_OLD, state}:
                many = alike.next_of(used, ask.soonest)
                if many >= 0:
                    found.append((1 << alike.shift + many, wanted, alike.positions[many]))
    return found


def _help(  # noqa: C901 - two reasons to help, one loop each
    problem: Numbered, ask: Ask, used: int, state: int
) -> tuple[list[Option], int]:
    """Return the operations of unknown end that may help now, of those alike one (rule 3).

    And which used ones would have been among them, had they been left.
    """
    maybes = problem.maybes
    helpful: dict[int, Given] = {}
    lacking = 0

    def offer(alike: Alike, value: int) -> bool:
        nonlocal lacking
        many = alike.next_of(used, ask.soonest)
        if many < 0:
            lacking |= (1 << ~many) - 1 << alike.shift
            return False
        position = alike.positions[many]
        helpful[position] = (1 << alike.shift + many, value, position)
        return True

    for value in {each for want in ask.wants for each in maybes.wanted(want)}:
        if value != state:
            for alike in maybes.writers.get(value, ()):
                if alike.old in {NO_OLD, state}:
                    offer(alike, value)
    if ask.differing:
        for value, several in maybes.writers.items():
            if value != state:
                for alike in several:
                    if alike.old in {NO_OLD, state}:
                        offer(alike, value)
        if maybes.junk is not None:
            offer(maybes.junk, problem.nothing)
    return [given for given in helpful.values() if given not in ask.given], lacking
