"""Keys to verdicts: zones for all that they can decide, then searches that take turns.

One `Judging` lives for one check. Whatever decides a key, its verdict is recorded once, with what it
cost; a violation is explained at once, out of the same budget.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from checker import direct, pool
from checker import paranoid as second_look
from checker.explain.violation import from_conflict, from_direct, from_search
from checker.part import together
from checker.search import generic, register
from checker.search.run import REGISTERS
from checker.values import tag
from checker.verdict import KeyVerdict, Method, Outcome, Violation
from checker.zones.decide import Blocks, Conflict, Fits, Unsure, decide
from checker.zones.witness import linearization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from checker.budget import Meter
    from checker.part import Part, Share
    from checker.search.result import Found, Searching
    from checker.zones.lower import Lowered

_BATCH_KEYS_MIN = 4
_BATCH_OPERATIONS_MAX = 40
NOT_LOOKED_AT = "not looked at further: another key is a violation"


@dataclass(kw_only=True, eq=False, slots=True)
class Search:
    """One key under search. ``indices`` maps the search's positions to the history's.

    ``reached``: the furthest position that some configuration was waiting for.
    """

    place: int
    method: Method
    running: Searching
    indices: Sequence[int]
    part: Callable[[], Part]
    spent: int = 0
    seconds: float = 0.0
    reached: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a search came to; fit to cross from another process. ``order``: the search's positions."""

    outcome: Outcome
    order: list[int] | None = None
    violation: Violation | None = None
    reason: str | None = None
    spent: int = 0
    seconds: float = 0.0


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
        if self._worth_batching():
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
        left.sort(key=lambda each: len(each.indices))
        if left and self._worth_forking(left):
            self._by_pool(left)
        else:
            self._by_turns(left)

    def _worth_batching(self) -> bool:
        """Return whether there are many registers, and small ones."""
        shares = self.shares
        if len(shares) < _BATCH_KEYS_MIN or type(shares[0].model) not in REGISTERS or self.paranoid:
            return False
        return len(shares[0].history) < _BATCH_OPERATIONS_MAX * len(shares)

    def _together(self) -> None:
        """Pass all keys at once, if they all do; if one is in conflict, judge it before the others."""
        lowered = together(self.shares)
        if lowered is None:
            return
        decision = decide(lowered)
        match decision:
            case Fits(blocks) if blocks.sides is None or not blocks.sides.fillers:
                for place, share in enumerate(self.shares):
                    self._conclude(place, Method.ZONES, Outcome.PASS, witness=_by_zones_again(share))
            case Conflict(values=[(key, _), *_]) if not self.all_keys:
                place = next(place for place, share in enumerate(self.shares) if tag(share.key) == key)
                self._by_zones(place, self.shares[place])
            case _:
                pass

    def _worth_forking(self, left: list[Search]) -> bool:
        """Return whether to search in processes: several keys, or a model that may not return."""
        budget = self.meter.budget
        foreign = not type(self.shares[0].model).__module__.startswith("checker.")
        return (budget.jobs > 1 and len(left) > 1) or (foreign and budget.time_s is not None)

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
                violation = from_direct(share, part, decision)
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

    def _by_turns(self, left: list[Search]) -> None:
        """Let the searches take turns, the small ones first."""
        turns = deque(left)
        while turns:
            each = turns.popleft()
            reason = self._stop()
            if reason is not None:
                self._accept(each, self._undecided(each, reason))
                continue
            found = self._advance(each)
            if found is None:
                turns.append(each)
            else:
                self._accept(each, self._answer(each, found))

    def _by_pool(self, left: list[Search]) -> None:
        """Search in processes; see `pool` for when that is better."""
        running = pool.run(
            left, self._alone, jobs=self.meter.budget.jobs, remaining_s=self.meter.remaining_s
        )
        answered = set()
        for each, answer in running:
            answered.add(each.place)
            if isinstance(answer, pool.Died):
                self._accept(each, Answer(outcome=Outcome.UNKNOWN, reason=answer.how))
            else:
                self._accept(each, answer)
            if self._stop() == NOT_LOOKED_AT:
                break
        running.close()
        for each in left:
            if each.place not in answered:
                self._accept(each, Answer(outcome=Outcome.UNKNOWN, reason=NOT_LOOKED_AT))

    def _alone(self, each: Search) -> Answer:
        """Search one key to its end; this runs in a process of its own."""
        found = None
        while found is None:
            reason = self.meter.spent()
            if reason is not None:
                return self._undecided(each, reason)
            found = self._advance(each)
        return self._answer(each, found)

    def _undecided(self, each: Search, reason: str) -> Answer:
        """Return the answer of a search that was stopped, with how far it had come."""
        if each.spent:
            share = self.shares[each.place]
            at = each.indices[each.reached]
            call = share.calls[at]
            at_once = sum(share.calls[i] <= call <= share.returns[i] for i in each.indices)
            line = share.history.lines[share.history.call_at[at]]
            reason = f"{reason}, at line {line}, where {at_once} operations are open at once"
        return Answer(outcome=Outcome.UNKNOWN, reason=reason, spent=each.spent, seconds=each.seconds)

    def _advance(self, each: Search) -> Found | None:
        """Give a search one slice of time; return what it found, if it has ended."""
        began_s = self.meter.elapsed_s()
        try:
            spent, position = next(each.running)
        except StopIteration as done:
            found: Found = done.value
            return found
        else:
            self.meter.configurations += spent
            each.spent += spent
            each.reached = max(each.reached, position)
            return None
        finally:
            each.seconds += self.meter.elapsed_s() - began_s

    def _answer(self, each: Search, found: Found) -> Answer:
        """Return what a finished search comes to, checked again and explained as asked."""
        share = self.shares[each.place]
        answer = Answer(outcome=Outcome.PASS, order=found.order, spent=each.spent, seconds=each.seconds)
        if found.order is not None:
            if self.paranoid:
                second_look.replay(share, [each.indices[i] for i in found.order])
            return answer
        assert found.stuck is not None
        violation = Violation(key=share.key, operations=(), sentence="no order fits")
        if self.explain:
            stamp = share.returns[each.indices[found.stuck.blocked]]
            violation = from_search(share, each.part(), stamp, self.meter)
            if self.paranoid:
                second_look.confirm(share, violation)
        return replace(answer, outcome=Outcome.VIOLATION, violation=violation)

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
