"""Keys to verdicts: what can be decided directly is, and the rest is searched.

One `Judging` lives for one check. Whatever decides a key, its verdict is recorded once, with what it
cost; a violation is explained at once, out of the same budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress
from typing import TYPE_CHECKING

from checker import direct
from checker import paranoid as second_look
from checker.events import EventType
from checker.explain.violation import from_conflict, from_direct
from checker.models.kv import KeyValue
from checker.search import generic, register
from checker.search.run import REGISTERS
from checker.search.walk import Lost, order, walk
from checker.searching import NOT_LOOKED_AT, Answer, Search, Searches
from checker.shares import rows, together, unknowns, whole
from checker.verdict import KeyVerdict, Method, Outcome, Violation
from checker.zones.decide import Blocks, Conflict, Fits, Unsure, decide
from checker.zones.lower import IS_PAIR, IS_ROW, Code
from checker.zones.many import DoesNotFit, doubtful, unique
from checker.zones.witness import linearization

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from checker.budget import Meter
    from checker.part import Share
    from checker.search.walk import Rows, Way
    from checker.shares import Shares, Together
    from checker.zones.lower import Lowered
    from checker.zones.many import Values

_WALKS_LOST_MAX = 2
_OPEN_AT_ONCE_FEW = 6
_SAMPLE = 100
_BETWEEN_LOOKS_AT_THE_CLOCK = 10_000


@dataclass(eq=False)
class Judging:
    """The verdicts of one check, as they come."""

    shares: Shares
    meter: Meter
    all_keys: bool = field(kw_only=True)
    paranoid: bool = field(kw_only=True)
    explain: bool = field(kw_only=True, default=True)
    violations: list[Violation] = field(default_factory=list)
    _verdicts: dict[int, KeyVerdict] = field(default_factory=dict)
    _refuted: set[int] = field(default_factory=set)

    def verdicts(self) -> tuple[KeyVerdict, ...]:
        """Return the verdicts in the order of the shares."""
        return tuple(self._verdicts[place] for place in range(len(self.shares)))

    def run(self) -> None:
        """Give every share its verdict."""
        searches: list[Search] = []
        if self._walks:
            searches.extend(self._at_once())
        seen = {each.place for each in searches}.union(self._verdicts)
        waiting = [place for place in range(len(self.shares)) if place not in seen]
        for at, place in enumerate(waiting):
            reason = self._stop()
            if reason is not None:
                self._leave(waiting[at:], reason)
                break
            searches.extend(self._decide(place, self.shares[place]))
        if searches:
            self._search(searches)

    def _leave(self, places: Sequence[int], reason: str) -> None:
        """Let keys that were not looked at be unknown."""
        keys, sizes = self.shares.keys, self.shares.sizes
        unknown, method = Outcome.UNKNOWN, Method.ZONES
        for place in places:
            self._verdicts[place] = KeyVerdict(
                key=keys[place], outcome=unknown, method=method, operations=sizes[place], reason=reason
            )

    @cached_property
    def _walks(self) -> bool:
        return bool(self.shares) and _can_walk(self.shares)

    def _decide(self, place: int, share: Share) -> list[Search]:
        """Decide a key without a search, or return the search that has to."""
        if type(share.model) in REGISTERS or self._walks:
            return self._by_zones(place, share)
        return self._generic(place, share)

    def _search(self, left: list[Search]) -> None:
        searches = Searches(self.shares, self.meter, paranoid=self.paranoid, explain=self.explain)
        for each, answer in searches.run(left, self._stop):
            self._accept(each, answer)

    def _at_once(self) -> Iterator[Search]:
        """Pass keys on which little happens, many at once; yield what is to be searched of others."""
        lowered = whole(self.shares)
        if _reads_and_writes(lowered):
            columns = together(self.shares, lowered)
            values = unique(*columns)
            if values is not None:
                if not _crowded(lowered, len(self.shares)):
                    self._pass_what_fits(columns, values)
                return
        series = rows(self.shares, lowered)
        through: dict[int, Way] = {}
        yield from self._walk_along(series, lowered, through)
        self._pass(through, Method.WALK, lambda place: order(series, through[place]))

    def _walk_along(self, series: Rows, lowered: Lowered, through: dict[int, Way]) -> Iterator[Search]:
        """Walk, and keep in ``through`` the ways that were found.

        Where a walk comes through few keys it is not tried on the rest.
        """
        lost_many, looked_at = 0, 0
        ways = walk(series, lowered.start, lambda place: unknowns(self.shares, place, lowered))
        for place, way in enumerate(ways):
            if isinstance(way, Lost):
                lost_many += 1
                yield from self._lost(place, way)
                if lost_many > max(_WALKS_LOST_MAX, place // 2) or self._proved():
                    return
                continue
            through[place] = way
            looked_at += 1 + way[1] - way[0]
            if looked_at > _BETWEEN_LOOKS_AT_THE_CLOCK:
                looked_at = 0
                if self._stop() is not None:
                    return

    def _pass_what_fits(self, columns: Together, values: Values) -> None:
        """Pass the keys that zones, asked of all at once, are sure of."""
        unsure: set[Hashable] = set()
        try:
            for so_far in doubtful(*columns, values):
                unsure = so_far
                if self._stop() is not None:
                    return
        except DoesNotFit as wrong:
            self._refute(self.shares.names.index(wrong.key), Method.ZONES)
            return
        certain: Sequence[int] = range(len(self.shares))
        if unsure:
            certain = [place for place in certain if self.shares.names[place] not in unsure]
        self._pass(certain, Method.ZONES, partial(_by_zones_again, self.shares))

    def _pass(
        self, places: Iterable[int], method: Method, witness: Callable[[int], tuple[int, ...]]
    ) -> None:
        """Pass keys that were looked at together; ``witness`` returns the way through one."""
        keys, sizes, good = self.shares.keys, self.shares.sizes, Outcome.PASS
        for place in places:
            if self.paranoid:
                second_look.replay(self.shares[place], witness(place))
            self._verdicts[place] = KeyVerdict(
                key=keys[place],
                outcome=good,
                method=method,
                operations=sizes[place],
                witness=partial(witness, place),
            )

    def _lost(self, place: int, way: Lost) -> Iterator[Search]:
        """Judge a key that the walk did not come through, at once; yield the search that has to."""
        if way is Lost.PERHAPS:
            yield from self._decide(place, self.shares[place])
        else:
            self._refute(place, Method.WALK)

    def _refute(self, place: int, method: Method) -> None:
        """Judge a key that fits no order, as it was found together with others: say why, if asked.

        Where the budget does not allow a search for the reason, the verdict stands without it.
        """
        if self.explain:
            self._refuted.add(place)
            self._search(self._decide(place, self.shares[place]))
        else:
            self.violations.append(self._no_order_fits(place))
            self._conclude(place, method, Outcome.VIOLATION)

    def _no_order_fits(self, place: int) -> Violation:
        return Violation(key=self.shares.keys[place], operations=(), sentence="no order fits")

    def _proved(self) -> bool:
        return bool(self.violations) and not self.all_keys

    def _stop(self) -> str | None:
        return NOT_LOOKED_AT if self._proved() else self.meter.spent()

    def _by_zones(self, place: int, share: Share) -> list[Search]:
        """Decide a register, or a string that is put and got, or return the search that has to."""
        began_s = self.meter.elapsed_s()
        lowered, positions = share.lowered()
        decision = None if Code.APPEND in lowered.codes else decide(lowered)
        seconds = self.meter.elapsed_s() - began_s
        match decision:
            case Fits(blocks):
                if self.paranoid:
                    second_look.replay(share, [positions[i] for i in linearization(lowered, blocks)])
                self._conclude(
                    place,
                    Method.ZONES,
                    Outcome.PASS,
                    seconds=seconds,
                    witness=partial(_by_zones_again, self.shares, place),
                )
            case Conflict():
                violation = Violation(key=share.key, operations=(), sentence=decision.wrong.value)
                if self.explain:
                    violation = from_conflict(share, lowered, positions, decision, self.meter)
                    if self.paranoid:
                        second_look.confirm(share, violation)
                self.violations.append(violation)
                self._conclude(place, Method.ZONES, Outcome.VIOLATION, seconds=seconds)
            case Unsure() | None:
                if type(share.model) not in REGISTERS:
                    return self._generic(place, share)
                rank = None if decision is None else _rank(lowered, decision.blocks)
                return [
                    Search(
                        place=place,
                        method=Method.SEARCH if rank is None else Method.GUIDED,
                        running=register.search(lowered, rank),
                        indices=positions,
                        part=share.part,
                        seconds=seconds,
                    )
                ]
        return []

    def _generic(self, place: int, share: Share) -> list[Search]:
        """Decide any other object directly, or return the search that has to."""
        began_s = self.meter.elapsed_s()
        part = share.part()
        decision = direct.decide(part)
        indices = [op.index for op in part.operations]
        seconds = self.meter.elapsed_s() - began_s
        match decision:
            case direct.Ordered(order):
                if self.paranoid:
                    second_look.replay(share, [indices[i] for i in order])
                self._conclude(
                    place,
                    Method.DIRECT,
                    Outcome.PASS,
                    seconds=seconds,
                    witness=lambda: tuple(indices[i] for i in order),
                )
            case direct.Impossible():
                violation = from_direct(share, part, decision, self.meter)
                if self.paranoid:
                    second_look.confirm(share, violation)
                self.violations.append(violation)
                self._conclude(place, Method.DIRECT, Outcome.VIOLATION, seconds=seconds)
            case None:
                running = generic.search(
                    part.model, part.operations, part.start, part.calls, part.returns
                )
                return [
                    Search(
                        place=place,
                        method=Method.SEARCH,
                        running=running,
                        indices=indices,
                        part=lambda: part,
                        seconds=seconds,
                    )
                ]
        return []

    def _accept(self, each: Search, answer: Answer) -> None:
        """Record the answer to a search."""
        each.running.close()
        if answer.outcome is Outcome.UNKNOWN and each.place in self._refuted:
            violation = self._no_order_fits(each.place)
            answer = replace(answer, outcome=Outcome.VIOLATION, violation=violation, reason=None)
        if answer.violation is not None:
            self.violations.append(answer.violation)
        order, indices = answer.order, each.indices
        self._conclude(
            each.place,
            each.method,
            answer.outcome,
            seconds=answer.seconds or each.seconds,
            configurations=answer.spent or each.spent,
            reason=answer.reason,
            witness=None if order is None else lambda: tuple(indices[i] for i in order),
        )

    def _conclude(
        self,
        place: int,
        method: Method,
        outcome: Outcome,
        *,
        seconds: float = 0.0,
        configurations: int = 0,
        reason: str | None = None,
        witness: Callable[[], tuple[int, ...]] | None = None,
    ) -> None:
        assert place not in self._verdicts, "a key is decided once"
        self._verdicts[place] = KeyVerdict(
            key=self.shares.keys[place],
            outcome=outcome,
            method=method,
            operations=self.shares.sizes[place],
            seconds=seconds,
            configurations=configurations,
            reason=reason,
            witness=witness,
        )


def _can_walk(shares: Shares) -> bool:
    """Return whether a walk knows the model: a register, or a string of which no end is unknown."""
    if type(shares.model) is not KeyValue:
        return type(shares.model) in REGISTERS
    history = shares.history
    return {str}.issuperset(map(type, history.value)) and all(
        kind.f in {"get", "put", "append"} and kind.outcome is not EventType.INFO
        for code, kind in enumerate(history.kinds)
        if code in history.what
    )


def _reads_and_writes(lowered: Lowered) -> bool:
    return 1 not in lowered.codes.translate(IS_PAIR) and Code.APPEND not in lowered.codes


def _crowded(lowered: Lowered, keys: int) -> bool:
    """Return whether so much is open at once on a key that it is judged quicker by itself.

    A sample tells: each n-th operation stands for n.
    """
    codes, calls = lowered.codes, lowered.calls
    step = 1 + len(codes) // _SAMPLE
    certain = codes[::step].translate(IS_ROW)
    began, ended = compress(calls[::step], certain), compress(lowered.returns[::step], certain)
    span = calls[-1] - calls[0]
    return step * (sum(ended) - sum(began)) > _OPEN_AT_ONCE_FEW * span * keys


def _by_zones_again(shares: Shares, place: int) -> tuple[int, ...]:
    """Return the linearization that zones found: it is cheaper to find again than to keep."""
    lowered, positions = shares[place].lowered()
    decision = decide(lowered)
    assert isinstance(decision, Fits)
    return tuple(positions[i] for i in linearization(lowered, decision.blocks))


def _rank(lowered: Lowered, blocks: Blocks) -> list[int]:
    rank = [0] * len(lowered.codes)
    for at, i in enumerate(linearization(lowered, blocks)):
        rank[i] = at
    return rank
