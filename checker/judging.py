"""Keys to verdicts: zones for all that they can decide, then searches that take turns.

One `Judging` lives for one check. Whatever decides a key, its verdict is recorded once, with what it
cost; a violation is explained at once, out of the same budget.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker import paranoid as second_look
from checker.explain.violation import from_conflict, from_search
from checker.search import generic, register
from checker.search.run import REGISTERS
from checker.verdict import KeyVerdict, Method, Outcome, Violation
from checker.zones.clusters import gather
from checker.zones.decide import Blocks, Conflict, Fits, Unsure, decide
from checker.zones.witness import linearization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from checker.budget import Meter
    from checker.part import Part, Share
    from checker.search.result import Found, Searching
    from checker.zones.lower import Lowered

_NOT_LOOKED_AT = "not looked at further: another key is a violation"


@dataclass(kw_only=True, eq=False, slots=True)
class Search:
    """One key under search. ``indices`` maps the search's positions to the history's."""

    place: int
    method: Method
    running: Searching
    indices: Sequence[int]
    part: Callable[[], Part]
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
        for place, share in enumerate(self.shares):
            reason = self._stop()
            if reason is not None:
                self._conclude(place, Method.ZONES, Outcome.UNKNOWN, reason=reason)
            elif type(share.model) in REGISTERS:
                left.extend(self._by_zones(place, share))
            else:
                left.append(self._generic(place, share))
        self._by_turns(left)

    def _stop(self) -> str | None:
        if self.violations and not self.all_keys:
            return _NOT_LOOKED_AT
        return self.meter.spent()

    def _by_zones(self, place: int, share: Share) -> list[Search]:
        """Decide a register, or return the search that has to."""
        began_s = self.meter.elapsed_s()
        lowered, positions = share.lowered()
        decision = decide(lowered)
        seconds = self.meter.elapsed_s() - began_s
        size = len(positions)
        match decision:
            case Fits(blocks):
                if self.paranoid:
                    second_look.replay(share, [positions[i] for i in linearization(lowered, blocks)])
                self._conclude(
                    place,
                    Method.ZONES,
                    Outcome.PASS,
                    operations=size,
                    seconds=seconds,
                    witness=_by_zones_again(share),
                )
            case Conflict():
                violation = Violation(key=share.key, operations=(), sentence=decision.wrong.value)
                if self.explain:
                    names = _names(lowered)
                    violation = from_conflict(
                        share, lowered, positions, decision, names=names, meter=self.meter
                    )
                self._violated(share, violation)
                self._conclude(place, Method.ZONES, Outcome.VIOLATION, operations=size, seconds=seconds)
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

    def _generic(self, place: int, share: Share) -> Search:
        part = share.part()
        return Search(
            place=place,
            method=Method.SEARCH,
            running=generic.search(part.model, part.operations, part.start, part.calls, part.returns),
            indices=[op.index for op in part.operations],
            part=lambda: part,
        )

    def _by_turns(self, left: list[Search]) -> None:
        """Let the searches take turns, the small ones first."""
        turns = deque(sorted(left, key=lambda each: len(each.indices)))
        while turns:
            each = turns.popleft()
            reason = self._stop()
            if reason is not None:
                self._finish(each, Outcome.UNKNOWN, reason=reason)
                continue
            began_s = self.meter.elapsed_s()
            try:
                spent = next(each.running)
                self.meter.configurations += spent
                each.spent += spent
                turns.append(each)
                each.seconds += self.meter.elapsed_s() - began_s
            except StopIteration as done:
                each.seconds += self.meter.elapsed_s() - began_s
                self._found(each, done.value)

    def _found(self, each: Search, found: Found) -> None:
        share = self.shares[each.place]
        if found.order is not None:
            order, indices = found.order, each.indices
            if self.paranoid:
                second_look.replay(share, [indices[i] for i in order])
            self._finish(each, Outcome.PASS, witness=lambda: tuple(indices[i] for i in order))
            return
        assert found.stuck is not None
        violation = Violation(key=share.key, operations=(), sentence="no order fits")
        if self.explain:
            stamp = share.returns[each.indices[found.stuck.blocked]]
            violation = from_search(share, each.part(), stamp, self.meter)
        self._violated(share, violation)
        self._finish(each, Outcome.VIOLATION)

    def _violated(self, share: Share, violation: Violation) -> None:
        if self.paranoid and self.explain:
            second_look.confirm(share, violation)
        self.violations.append(violation)

    def _finish(
        self,
        each: Search,
        outcome: Outcome,
        *,
        reason: str | None = None,
        witness: Callable[[], tuple[int, ...]] | None = None,
    ) -> None:
        each.running.close()
        self._conclude(
            each.place,
            each.method,
            outcome,
            operations=len(each.indices),
            seconds=each.seconds,
            configurations=each.spent,
            reason=reason,
            witness=witness,
        )

    def _conclude(
        self,
        place: int,
        method: Method,
        outcome: Outcome,
        *,
        operations: int = 0,
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
            operations=operations,
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


def _names(lowered: Lowered) -> list[object]:
    """Return the values by cluster."""
    clusters = gather(lowered)
    assert clusters is not None
    return list(dict(sorted((cluster, value) for value, cluster in clusters.where.items())).values())


def _rank(lowered: Lowered, blocks: Blocks) -> list[int]:
    rank = [0] * len(lowered.codes)
    for at, i in enumerate(linearization(lowered, blocks)):
        rank[i] = at
    return rank
