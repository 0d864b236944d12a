"""What a run's own verdict says against relying on its files as they lie there now.

The verdict is somebody's word and acquits nobody: whatever is proved again is proved. But it is the only
witness of what no file shows: that the harness lagged or failed, that a node was silent, that a step was
missed or no fault took hold, that the run was cut short. And files that are not those it was written of
are no grounds for a pass: what is missing in them nobody knows. Nor does anybody without a verdict.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.outcome import Outcome
from harness.report import injected
from harness.store.errors import NotARun
from harness.store.sums import Sum, differing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker import History
    from harness.store.rundir import RunDir

TOLD_MAX: Final = 20
CARRIED: Final = frozenset({Outcome.HARNESS_FAILURE, Outcome.NOT_EXERCISED})
"""What a later judgement calls as the run did; whatever else was seen leaves it unknown."""
_AS_FAR: Final = "it was cut short, and is judged as far as it went"


class _Word(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a verdict."""

    outcome: Outcome
    reason: str | None = None
    witnessed: dict[Outcome, tuple[str, ...]]
    files: dict[str, Sum]


class Vouched(msgspec.Struct, frozen=True, kw_only=True):
    """``ended``: the run's own outcome, None where nobody wrote it down, and ``reason`` of it.

    ``notes`` is what a reader has to know of that; ``causes`` why it cannot pass, by outcome.
    """

    ended: Outcome | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    causes: Mapping[Outcome, tuple[str, ...]] = {}

    def less_than(self, *, proved: bool) -> tuple[str, ...]:
        """Return a cause where the run ended as a violation, of which nothing is ``proved`` again."""
        if proved or self.ended is not Outcome.VIOLATION:
            return ()
        return (f"the run itself ended as violation, which was not found again: {self.reason}",)


def vouched(run: RunDir, history: History) -> Vouched:
    """Hold what lies in a run directory against what its verdict says of it."""
    others = tuple(_other_run(run, history))
    if not os.path.lexists(run.verdict):
        return Vouched(causes={Outcome.UNKNOWN: (f"this run has no verdict.json: {_AS_FAR}", *others)})
    try:
        word = _word(run.read_verdict(), name=str(run.verdict))
    except NotARun as error:
        lost = f"what the run itself ended with is not known: {error}"
        return Vouched(causes={Outcome.UNKNOWN: (lost, *others)})
    causes: dict[Outcome, tuple[str, ...]] = {}
    for outcome, why in (
        *((outcome, tuple(_told(outcome, why))) for outcome, why in word.witnessed.items()),
        (Outcome.UNKNOWN, (*islice(differing(run, word.files), TOLD_MAX), *others)),
    ):
        counted = outcome if outcome in CARRIED else Outcome.UNKNOWN
        if why:
            causes[counted] = (*causes.get(counted, ()), *why)
    return Vouched(ended=word.outcome, reason=word.reason, notes=tuple(_ended(word)), causes=causes)


def _word(verdict: dict[str, Any], *, name: str) -> _Word:
    try:
        return msgspec.convert(verdict, _Word)
    except (msgspec.ValidationError, RecursionError, OverflowError, ValueError) as error:
        raise NotARun(f"{name}: {error}") from error


def _ended(word: _Word) -> Iterator[str]:
    if word.outcome not in {Outcome.PASS, Outcome.VIOLATION}:
        yield f"the run itself ended as {word.outcome.value}: {word.reason}"


def _told(outcome: Outcome, why: tuple[str, ...]) -> Iterator[str]:
    """Yield what only the run could see; who looks at a run that was cut short later is told so."""
    after = f": {_AS_FAR}" if outcome is Outcome.INTERRUPTED else ""
    return (f"seen by the run itself, {outcome.value}: {cause}{after}" for cause in why)


def _other_run(run: RunDir, history: History) -> Iterator[str]:
    """Yield if history and schedule say that they are of different runs; either may say nothing."""
    name = None if history.header is None else history.header.run
    try:
        of_schedule = injected.load(run).run
    except NotARun:
        return
    if name and of_schedule and name != of_schedule:
        yield f"{run.history} is of run {name}, and {run.schedule} of run {of_schedule}"
