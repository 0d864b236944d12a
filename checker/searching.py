"""The searches of one check: they take turns, or run in processes, and each comes to an answer.

Taking turns keeps an easy violation from hiding behind a hard key. An answer is checked again and
explained where it was found, out of the same budget; what it means for the check is the caller's to say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from checker import paranoid as second_look
from checker import pool
from checker.explain.violation import from_search
from checker.foreign import blamed, foreign
from checker.verdict import Method, Outcome, Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.budget import Meter
    from checker.part import Part
    from checker.search.result import Found, Searching
    from checker.shares import Shares

NOT_LOOKED_AT = "not looked at further: another key is a violation"
Stop = Callable[[], str | None]
"""Why no search should go on, if so."""


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
    remembered: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a search came to; fit to cross from another process. ``order``: the search's positions."""

    outcome: Outcome
    order: list[int] | None = None
    violation: Violation | None = None
    reason: str | None = None
    spent: int = 0
    seconds: float = 0.0


Answers = Iterator[tuple[Search, Answer]]


@dataclass(frozen=True, eq=False)
class Searches:
    """What the searches of one check have in common."""

    shares: Shares
    meter: Meter
    paranoid: bool = field(kw_only=True)
    explain: bool = field(kw_only=True)

    def run(self, left: list[Search], stop: Stop) -> Answers:
        """Yield every search with its answer, the small ones first; ``stop`` is asked between steps."""
        left.sort(key=lambda each: len(each.indices))
        if left and self._worth_forking(left):
            return self._by_pool(left, stop)
        return self._by_turns(left, stop)

    def _worth_forking(self, left: list[Search]) -> bool:
        """Return whether to search in processes: several keys, or a model that may not return."""
        budget = self.meter.budget
        theirs = foreign(self.shares.model)
        return (budget.jobs > 1 and len(left) > 1) or (theirs and budget.time_s is not None)

    def _by_turns(self, left: list[Search], stop: Stop) -> Answers:
        """Let the searches take turns."""
        turns = deque(left)
        while turns:
            each = turns.popleft()
            reason = stop()
            if reason is not None:
                yield each, self._undecided(each, reason)
                continue
            found = self._advance(each)
            if found is None:
                turns.append(each)
            else:
                yield each, self._answer(each, found)

    def _by_pool(self, left: list[Search], stop: Stop) -> Answers:
        """Search in processes; see `pool` for when that is better."""
        running = pool.run(
            left, self._alone, jobs=self.meter.budget.jobs, remaining_s=self.meter.remaining_s
        )
        answered = set()
        for each, answer in running:
            answered.add(each.place)
            if isinstance(answer, pool.Died):
                yield each, Answer(outcome=Outcome.UNKNOWN, reason=answer.how)
            else:
                self.meter.configurations += answer.spent
                yield each, answer
            if stop() == NOT_LOOKED_AT:
                break
        running.close()
        for each in left:
            if each.place not in answered:
                yield each, Answer(outcome=Outcome.UNKNOWN, reason=NOT_LOOKED_AT)

    def _alone(self, each: Search) -> Answer:
        """Search one key to its end; this runs in a process of its own."""
        self.meter.share(self.meter.budget.jobs)
        found = None
        with blamed(self.shares.model):
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
            spent = next(each.running)
        except StopIteration as done:
            self.meter.remembered -= each.remembered
            found: Found = done.value
            return found
        else:
            self.meter.configurations += spent.configurations
            self.meter.remembered += spent.remembered - each.remembered
            each.remembered = spent.remembered
            each.spent += spent.configurations
            each.reached = max(each.reached, spent.position)
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
            stamp = share.returns[each.indices[found.stuck]]
            violation = from_search(share, each.part(), stamp, self.meter)
            if self.paranoid:
                second_look.confirm(share, violation)
        return replace(answer, outcome=Outcome.VIOLATION, violation=violation)
