"""A check in parts: the keys of one history handed out, and what was found of them put together.

Keys are judged each on its own, so whole shares can be judged elsewhere: a *portion* is a history of
some of them, with its operations in their order and on their lines, small enough to travel. What comes
back is told in the words of the whole history, as if one check had judged it; a portion that nothing
came back of leaves its keys unknown, with the reason.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from checker.check import chosen, notes_of
from checker.conventions import FailedCas, NilRead, Ties
from checker.operations import NEVER, History
from checker.shares import Shares
from checker.verdict import KeyVerdict, Method, Outcome, Report, Violation, worst

if TYPE_CHECKING:
    from collections.abc import Mapping

_FEW = 5_000
"""Fewer operations than this are not worth a journey of their own."""


class Portion(msgspec.Struct, frozen=True, kw_only=True):
    """Some keys of a history: their places among all keys, and the history of them alone."""

    places: tuple[int, ...]
    history: History
    positions: Sequence[int]


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """A history that was handed out."""

    history: History
    model: str
    shares: Shares
    portions: tuple[Portion, ...]

    def together(self, reports: Mapping[int, Report | str], *, seconds: float) -> Report:
        """Return one report of all; a portion without one, or with a reason, is unknown."""
        verdicts: dict[int, KeyVerdict] = {}
        violations: list[tuple[int, Violation]] = []
        for number, portion in enumerate(self.portions):
            told = reports.get(number, "nobody judged it")
            if isinstance(told, str):
                verdicts |= {place: self._unknown(place, told) for place in portion.places}
                continue
            verdicts |= dict(zip(portion.places, told.keys, strict=True))
            names = [self.shares.keys[place] for place in portion.places]
            for found in told.violations:
                place = portion.places[names.index(found.key)]
                violations.append((place, _of_the_whole(found, portion.positions)))
        violations.sort(key=lambda pair: pair[0])
        keys = tuple(verdicts[place] for place in range(len(self.shares)))
        outcome = worst(verdict.outcome for verdict in keys)
        return Report(
            outcome=outcome if len(self.history) else Outcome.NOT_EXERCISED,
            format=self.history.format,
            model=self.model,
            operations=len(self.history),
            keys=keys,
            violations=tuple(found for _, found in violations),
            notes=(*self.history.notes, *notes_of(self.history)),
            seconds=seconds,
        )

    def _unknown(self, place: int, reason: str) -> KeyVerdict:
        share = self.shares[place]
        return KeyVerdict(
            key=share.key,
            outcome=Outcome.UNKNOWN,
            method=Method.ZONES,
            operations=len(share.positions),
            reason=reason,
        )


def apart(
    history: History,
    *,
    many: int,
    model: str = "auto",
    initial: Any = None,
    ties: Ties = Ties.CONCURRENT,
    nil_read: NilRead | None = None,
    failed_cas: FailedCas | None = None,
) -> Apart:
    """Hand a history out in at most ``many`` portions of about the same size; raises as `check` does."""
    judge = chosen(history, model, nil_read=nil_read, failed_cas=failed_cas)
    shares = Shares(history, judge, judge.initial(initial), history.spans(ties))
    many = max(1, min(many, len(shares), 1 + len(history) // _FEW))
    heaps: list[tuple[int, int]] = [(0, number) for number in range(many)]
    mine: list[list[int]] = [[] for _ in heaps]
    for place in sorted(range(len(shares)), key=lambda place: -len(shares.positions[place])):
        size, number = heapq.heappop(heaps)
        mine[number].append(place)
        heapq.heappush(heaps, (size + len(shares.positions[place]), number))
    portions = tuple(_portion(history, shares, sorted(places)) for places in mine if places)
    return Apart(history=history, model=judge.name, shares=shares, portions=portions)


def _portion(history: History, shares: Shares, places: Sequence[int]) -> Portion:
    positions = sorted(at for place in places for at in shares.positions[place])
    ended = [at for at in positions if history.return_at[at] != NEVER]
    events = sorted(
        {*(history.call_at[at] for at in positions), *(history.return_at[at] for at in ended)}
    )
    place_of = {event: place for place, event in enumerate(events)} | {NEVER: NEVER}
    of = {at: index for index, at in enumerate(positions)}
    part = replace(
        history,
        events=len(events),
        what=bytearray(history.what[at] for at in positions),
        key=[history.key[at] for at in positions],
        value=[history.value[at] for at in positions],
        process=[history.process[at] for at in positions],
        call_at=array("q", (place_of[history.call_at[at]] for at in positions)),
        return_at=array("q", (place_of[history.return_at[at]] for at in positions)),
        call_ns=array("q", (history.call_ns[at] for at in positions)),
        return_ns=array("q", (history.return_ns[at] for at in positions)),
        lines=array("i", (history.lines[event] for event in events)),
        node=[history.node[at] for at in positions],
        error={of[at]: told for at, told in history.error.items() if at in of},
        evidence={of[at]: told for at, told in history.evidence.items() if at in of},
        given_up={},
        nemesis=(),
        notes=(),
    )
    return Portion(places=tuple(places), history=part, positions=positions)


def fit_to_travel(report: Report) -> Report:
    """Return a report without what only its own process can tell: the linearizations."""
    return replace(
        report, keys=tuple(msgspec.structs.replace(verdict, witness=None) for verdict in report.keys)
    )


def _of_the_whole(found: Violation, positions: Sequence[int]) -> Violation:
    """Return a proof with its operations counted as the whole history counts them."""

    def counted(op: Any) -> Any:
        return msgspec.structs.replace(op, index=positions[op.index])

    stale = found.staleness
    return replace(
        found,
        operations=tuple(map(counted, found.operations)),
        staleness=None if stale is None else replace(stale, read=counted(stale.read)),
        prefix=tuple(positions[at] for at in found.prefix),
    )
