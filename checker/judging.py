"""Keys to verdicts: what can be decided directly is, and the rest is searched.

One `Judging` lives for one check. Whatever decides a key, its verdict is recorded once, with what it
cost; a violation is explained at once, out of the same budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker import direct
from checker import paranoid as second_look
from checker.explain.violation import from_conflict, from_direct
from checker.part import side_by_side, together, whole
from checker.search import generic, register
from checker.search.run import REGISTERS
from checker.search.walk import Lost, order, walk
from checker.searching import NOT_LOOKED_AT, Answer, Search, Searches
from checker.values import tag
from checker.verdict import KeyVerdict, Method, Outcome, Violation
from checker.zones.batch import batch
from checker.zones.decide import Blocks, Conflict, Fits, Unsure, decide
from checker.zones.lower import IS_PAIR
from checker.zones.many import DoesNotFit, all_fit
from checker.zones.witness import linearization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from checker.budget import Meter
    from checker.part import Share, Together
    from checker.zones.lower import Lowered

_BATCH_KEYS_MIN = 4
_BATCH_OPERATIONS_MAX = 40
_WALK_OPERATIONS_MAX = 4_000
_WALKS_LOST_MAX = 2


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
        if len(self.shares) > 1 and type(self.shares[0].model) in REGISTERS:
            self._together()
        for place, share in enumerate(self.shares):
            if place in self._verdicts:
                continue
            reason = self._stop()
            if reason is not None:
                self._conclude(place, Method.ZONES, Outcome.UNKNOWN, reason=reason)
            elif type(share.model) in REGISTERS:
                left.extend(self._by_zones(place, share))
            else:
                left.extend(self._generic(place, share))
        self._search(left)

    def _search(self, left: list[Search]) -> None:
        searches = Searches(self.shares, self.meter, paranoid=self.paranoid, explain=self.explain)
        for each, answer in searches.run(left, self._stop):
            self._accept(each, answer)

    def _together(self) -> None:
        """Pass what keys can be passed without much ado; judge one that cannot fit before the others."""
        lowered = whole(self.shares)
        has_pairs = 1 in lowered.codes.translate(IS_PAIR)
        columns = None if has_pairs else together(self.shares)
        try:
            if columns is not None and all_fit(*columns):
                if not self.paranoid:
                    self._all_pass()
                return
            self._walk(lowered)
            left = len(self.shares) - len(self._verdicts)
            if self.violations or self.paranoid or left < max(_BATCH_KEYS_MIN, len(self.shares) // 4):
                return
            if len(lowered.codes) < _BATCH_OPERATIONS_MAX * len(self.shares) and _batched(
                columns or together(self.shares)
            ):
                self._all_pass()
        except DoesNotFit as wrong:
            if not self.all_keys:
                place = [tag(share.key) for share in self.shares].index(wrong.key)
                self._search(self._by_zones(place, self.shares[place]))

    def _all_pass(self) -> None:
        for place, share in enumerate(self.shares):
            if place not in self._verdicts:
                self._conclude(place, Method.ZONES, Outcome.PASS, witness=_by_zones_again(share))

    def _walk(self, lowered: Lowered) -> None:
        """Pass the keys on which little happens at once. Raises `DoesNotFit`.

        Where that is true of few keys it is not tried on the others.
        """
        lost_many = 0
        for place, each in enumerate(side_by_side(self.shares, lowered)):
            share = self.shares[place]
            if self._stop() is not None or lost_many > max(_WALKS_LOST_MAX, place // 2):
                return
            if len(each.codes) > _WALK_OPERATIONS_MAX:
                continue
            try:
                trail = walk(each.codes, each.values, each.calls, each.returns, each.start)
            except Lost as lost:
                if lost.certain:
                    raise DoesNotFit(tag(share.key)) from None
                lost_many += 1
                continue
            witness = _along(share.positions, each.codes, trail)
            if self.paranoid:
                second_look.replay(share, witness())
            self._conclude(place, Method.WALK, Outcome.PASS, witness=witness)

    def _stop(self) -> str | None:
        if self.violations and not self.all_keys:
            return NOT_LOOKED_AT
        return self.meter.spent()

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
                    witness=_by_zones_again(share),
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


def _batched(columns: Together) -> bool:
    lowered = batch(*columns)
    decision = None if lowered is None else decide(lowered)
    match decision:
        case Fits(blocks):
            return blocks.sides is None or not blocks.sides.fillers
        case Conflict(values=[(key, _), *_]):
            raise DoesNotFit(key)
        case _:
            return False


def _along(positions: Sequence[int], codes: bytes, trail: Any) -> Callable[[], tuple[int, ...]]:
    """Return what writes out the linearization at whose end ``trail`` stands."""
    return lambda: tuple(positions[at] for at in order(codes, trail))


def _by_zones_again(share: Share) -> Callable[[], tuple[int, ...]]:
    """Return what writes out the linearization, when asked: it is cheaper to find again than to keep."""

    def write() -> tuple[int, ...]:
        lowered, positions = share.lowered()
        decision = decide(lowered)
        assert isinstance(decision, Fits)
        return tuple(positions[i] for i in linearization(lowered, decision.blocks))

    return write


def _rank(lowered: Lowered, blocks: Blocks) -> list[int]:
    rank = [0] * len(lowered.codes)
    for at, i in enumerate(linearization(lowered, blocks)):
        rank[i] = at
    return rank
