"""Keys to verdicts: what can be decided directly is, and the rest is searched.

One `Judging` lives for one check. Whatever decides a key, its verdict is recorded once, with what it
cost; a violation is explained at once, out of the same budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

from checker import direct
from checker import paranoid as second_look
from checker.events import EventType
from checker.explain.violation import from_conflict, from_direct
from checker.models.kv import KeyValue
from checker.part import rows, together, unknowns, whole
from checker.search import generic, register
from checker.search.run import REGISTERS
from checker.search.walk import Lost, order, walk
from checker.searching import NOT_LOOKED_AT, Answer, Search, Searches
from checker.values import tag
from checker.verdict import KeyVerdict, Method, Outcome, Violation
from checker.zones.decide import Blocks, Conflict, Fits, Unsure, decide
from checker.zones.lower import IS_PAIR, IS_ROW, Code
from checker.zones.many import DoesNotFit, all_fit
from checker.zones.witness import linearization

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from checker.budget import Meter
    from checker.part import Share
    from checker.zones.lower import Lowered

_PASS = Outcome.PASS
"""A member of an enumeration by its own name: to look it up takes as long as a step of a walk."""

_WALKS_LOST_MAX = 2
_OPEN_AT_ONCE_FEW = 0.35
_SAMPLE = 100
_BETWEEN_LOOKS_AT_THE_CLOCK = 10_000


@dataclass(eq=False)
class Judging:
    """The verdicts of one check, as they come."""

    shares: Sequence[Share]
    meter: Meter
    all_keys: bool = field(kw_only=True)
    paranoid: bool = field(kw_only=True)
    explain: bool = field(kw_only=True, default=True)
    violations: list[Violation] = field(default_factory=list)
    _verdicts: dict[int, KeyVerdict] = field(default_factory=dict)

    def verdicts(self) -> tuple[KeyVerdict, ...]:
        """Return the verdicts in the order of the shares."""
        return tuple(self._verdicts[place] for place in range(len(self.shares)))

    def run(self) -> None:
        """Give every share its verdict."""
        left: list[Search] = []
        if self.shares and _can_walk(self.shares[0]):
            left.extend(self._walk())
        seen = {each.place for each in left}
        waiting = [
            place
            for place in range(len(self.shares))
            if place not in self._verdicts and place not in seen
        ]
        for at, place in enumerate(waiting):
            reason = self._stop()
            if reason is not None:
                self._leave(waiting[at:], reason)
                break
            left.extend(self._decide(place, self.shares[place]))
        self._search(left)

    def _leave(self, places: Sequence[int], reason: str) -> None:
        """Let keys that were not looked at be unknown."""
        unknown, method = Outcome.UNKNOWN, Method.ZONES
        for place in places:
            self._conclude(place, method, unknown, reason=reason)

    def _decide(self, place: int, share: Share) -> list[Search]:
        """Decide a key without a search, or return the search that has to."""
        if type(share.model) in REGISTERS:
            return self._by_zones(place, share)
        return self._generic(place, share)

    def _search(self, left: list[Search]) -> None:
        searches = Searches(self.shares, self.meter, paranoid=self.paranoid, explain=self.explain)
        for each, answer in searches.run(left, self._stop):
            self._accept(each, answer)

    def _walk(self) -> Iterator[Search]:
        """Pass the keys on which little happens at once; yield what is to be searched of the others.

        Where a walk comes through few keys it is not tried on the rest.
        """
        lowered = whole(self.shares)
        if _crowded(lowered, len(self.shares)) and self._all_by_zones(lowered):
            return
        columns = rows(self.shares, lowered)
        lost_many, looked_at, method = 0, 0, Method.WALK
        ways = walk(columns, lowered.start, lambda place: unknowns(self.shares[place], lowered))
        for place, way in enumerate(ways):
            share = self.shares[place]
            if isinstance(way, Lost):
                lost_many += 1
                yield from self._lost(place, share, way)
                if lost_many > max(_WALKS_LOST_MAX, place // 2) or self._proved():
                    return
            else:
                self._along(place, share, method, partial(order, columns, way))
            looked_at += len(share.positions)
            if looked_at > _BETWEEN_LOOKS_AT_THE_CLOCK:
                looked_at = 0
                if self._stop() is not None:
                    return

    def _all_by_zones(self, lowered: Lowered) -> bool:
        """Return whether zones, asked of all keys at once, leave nothing to a walk."""
        try:
            fit = all_fit(*together(self.shares, lowered))
        except DoesNotFit as wrong:
            if not self.all_keys:
                place = [tag(share.key) for share in self.shares].index(wrong.key)
                self._refute(place, self.shares[place], Method.ZONES)
            return True
        if fit and not self.paranoid:
            method = Method.ZONES
            for place, share in enumerate(self.shares):
                self._along(place, share, method, partial(_by_zones_again, share))
        return fit

    def _along(
        self, place: int, share: Share, method: Method, witness: Callable[[], tuple[int, ...]]
    ) -> None:
        """Pass a key that was looked at with others: ``witness`` is the way through it."""
        if self.paranoid:
            second_look.replay(share, witness())
        self._verdicts[place] = KeyVerdict(
            key=share.key,
            outcome=_PASS,
            method=method,
            operations=len(share.positions),
            witness=witness,
        )

    def _lost(self, place: int, share: Share, way: Lost) -> Iterator[Search]:
        """Judge a key that the walk did not come through, at once; yield the search that has to."""
        if way is Lost.PERHAPS:
            yield from self._decide(place, share)
        else:
            self._refute(place, share, Method.WALK)

    def _refute(self, place: int, share: Share, method: Method) -> None:
        """Judge a key that fits no order, as it was found together with others: say why, if asked."""
        if self.explain:
            self._search(self._decide(place, share))
        else:
            self.violations.append(Violation(key=share.key, operations=(), sentence="no order fits"))
            self._conclude(place, method, Outcome.VIOLATION)

    def _proved(self) -> bool:
        return bool(self.violations) and not self.all_keys

    def _stop(self) -> str | None:
        return NOT_LOOKED_AT if self._proved() else self.meter.spent()

    def _by_zones(self, place: int, share: Share) -> list[Search]:
        """Decide a register, or return the search that has to."""
        began_s = self.meter.elapsed_s()
        lowered, positions = share.lowered()
        decision = decide(lowered)
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
                    witness=partial(_by_zones_again, share),
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
            key=self.shares[place].key,
            outcome=outcome,
            method=method,
            operations=len(self.shares[place].positions),
            seconds=seconds,
            configurations=configurations,
            reason=reason,
            witness=witness,
        )


def _can_walk(share: Share) -> bool:
    """Return whether a walk knows the model: a register, or a string of which no end is unknown."""
    if type(share.model) is not KeyValue:
        return type(share.model) in REGISTERS
    history = share.history
    return {str}.issuperset(map(type, history.value)) and all(
        kind.f in {"get", "put", "append"} and kind.outcome is not EventType.INFO
        for code, kind in enumerate(history.kinds)
        if code in history.what
    )


def _crowded(lowered: Lowered, keys: int) -> bool:
    """Return whether there is no cas, and so much open at once on a key that zones are quicker.

    A sample tells: each n-th operation stands for n.
    """
    codes, calls = lowered.codes, lowered.calls
    if 1 in codes.translate(IS_PAIR) or Code.APPEND in codes:
        return False
    step = 1 + len(codes) // _SAMPLE
    certain = codes[::step].translate(IS_ROW)
    began, ended = compress(calls[::step], certain), compress(lowered.returns[::step], certain)
    span = calls[-1] - calls[0]
    return step * (sum(ended) - sum(began)) > _OPEN_AT_ONCE_FEW * span * keys


def _by_zones_again(share: Share) -> tuple[int, ...]:
    """Return the linearization that zones found: it is cheaper to find again than to keep."""
    lowered, positions = share.lowered()
    decision = decide(lowered)
    assert isinstance(decision, Fits)
    return tuple(positions[i] for i in linearization(lowered, decision.blocks))


def _rank(lowered: Lowered, blocks: Blocks) -> list[int]:
    rank = [0] * len(lowered.codes)
    for at, i in enumerate(linearization(lowered, blocks)):
        rank[i] = at
    return rank
