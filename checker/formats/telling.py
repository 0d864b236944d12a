"""A history told line by line again, and what a format cannot say of it.

Every line that was read is told: invocations, completions, those that ended in `info`, and the nemesis.
Where only the order of the lines counts, as in EDN, that order has to say what the stamps said: at one
stamp, calls come before returns, so that what was concurrent stays so.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec

from checker.conventions import Conventions, FailedCas, NilRead
from checker.events import MISMATCH, EventType
from checker.operations import NEVER
from checker.pairing import LOOKING, Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from checker.operations import History, Operation

    Mark = tuple[int, int, int, bool]
    """The stamp and the place of a line, the operation it speaks of, and whether it ends it."""

_NEMESIS: Final = -1
_TOLD_WHAT: Final = frozenset({"contains", "get-all", "get-any"})


def lines(history: History, *, by_order: bool = False) -> Iterator[Line]:
    """Yield the lines of a history; ``by_order`` where the reader will go by their order alone."""
    marks = _marks(history)
    if by_order and _by_stamp(history):
        marks = [mark for group in _at_one_stamp(marks) for mark in _calls_first(group, history)[0]]
    nemesis = dict(history.nemesis)
    for index, (stamp, place, i, ended) in enumerate(marks):
        if i == _NEMESIS:
            yield msgspec.structs.replace(
                nemesis[place], index=index, time=None, time_ns=stamp if history.stamped else None
            )
        else:
            yield _line(history, i, ended=ended, index=index, stamp=stamp)


def unsaid_by_order(history: History) -> Iterator[str]:
    """Yield what is lost of a history where only maps, their order and Jepsen's conventions are left."""
    told = history.header
    if told is not None and (told.run is not None or told.model is not None or told.origin_ns):
        yield "the header (run, model and origin of the stamps) has no place in EDN"
    if history.evidence:
        yield f"what the target said of {len(history.evidence)} answers (evidence) has no place in EDN"
    if history.conventions.nil_read is NilRead.VALUE:
        looked = [kind.f in LOOKING and kind.outcome is EventType.OK for kind in history.kinds]
        nils = sum(
            looked[code] and value is None
            for code, value in zip(history.what, history.value, strict=True)
        )
        if nils:
            yield f"{nils} reads saw nil; in EDN that means: nobody recorded what they saw"
    if _by_stamp(history):
        kept = sum(_calls_first(group, history)[1] for group in _at_one_stamp(_marks(history)))
        if kept:
            yield f"{kept} calls have the stamp of their process's last return; EDN puts them after it"


def _by_stamp(history: History) -> bool:
    return history.stamped and history.conventions.order_by_stamp


def _marks(history: History) -> list[Mark]:
    """Return every line of a history, in the order of the lines."""
    marks = [(history.call_ns[i], at, i, False) for i, at in enumerate(history.call_at)]
    marks += [
        (history.return_ns[i], at, i, True) for i, at in enumerate(history.return_at) if at != NEVER
    ]
    marks += [(stamp, at, i, True) for i, (at, stamp) in history.given_up.items()]
    marks += [(line.time_ns or 0, at, _NEMESIS, False) for at, line in history.nemesis]
    return sorted(marks, key=lambda mark: mark[1])


def _at_one_stamp(marks: list[Mark]) -> Iterable[list[Mark]]:
    return (list(group) for _, group in groupby(marks, key=lambda mark: mark[0]))


def _calls_first(group: list[Mark], history: History) -> tuple[list[Mark], int]:
    """Return lines of one stamp, calls first, and the count of calls that had to wait for a return."""
    first: list[Mark] = []
    rest: list[Mark] = []
    returned: set[int | str] = set()
    waited = 0
    for mark in group:
        _, _, i, ended = mark
        if ended:
            returned.add(history.process[i])
            rest.append(mark)
        elif i != _NEMESIS and history.process[i] in returned:
            rest.append(mark)
            waited += 1
        else:
            first.append(mark)
    return first + rest, waited


def _line(history: History, i: int, *, ended: bool, index: int, stamp: int) -> Line:
    operation = history[i]
    return Line(
        process=operation.process,
        type=operation.outcome.value if ended else EventType.INVOKE.value,
        f=operation.f,
        key=operation.key,
        value=operation.value if ended else _asked(operation),
        index=index,
        time_ns=stamp if history.stamped else None,
        node=operation.node,
        error=_error(history.conventions, operation) if ended else None,
        evidence=operation.evidence if ended else None,
    )


def _asked(operation: Operation) -> object:
    """Return what an operation was called with: one that fetches is called with nothing."""
    fetches = operation.f in LOOKING - _TOLD_WHAT and operation.known
    return None if fetches else operation.value


def _error(conventions: Conventions, operation: Operation) -> str | None:
    """Return the code of an end; a bare failed cas that asserts gets the code that says so."""
    asserts = conventions.bare_failed_cas is FailedCas.ASSERT
    bare = operation.f == "cas" and operation.outcome is EventType.FAIL and operation.error is None
    return MISMATCH if bare and asserts else operation.error
