"""The check itself: a history, a model and a budget in, a report out.

Keys are independent objects, so each is judged on its own, though many may be at once. Registers whose
values are unique are decided by zones, in n log n, all keys before any search begins. What is left is
searched, keys taking turns (`pool` runs them in processes), so that an easy violation is not hidden
behind a hard key. The first violation ends the check, unless every key's verdict is wanted. What ran out
of budget is *unknown*, by name.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import msgspec

from checker.budget import Budget, Meter
from checker.conventions import Conventions, FailedCas, NilRead, Ties, word
from checker.errors import MalformedHistory
from checker.events import EventType
from checker.foreign import blamed
from checker.judging import Judging
from checker.models import MODELS, Model, detect
from checker.search.run import REGISTERS
from checker.shares import Shares
from checker.uncollected import uncollected
from checker.values import show
from checker.verdict import Outcome, Report, worst

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.operations import History

_PAIRS = frozenset({list, tuple})
_CHANGES_NOTHING = "were left out: they certainly did not happen"


def check(  # noqa: PLR0913 - each is an option of the command line
    history: History,
    *,
    model: str | Model = "auto",
    initial: Any = None,
    budget: Budget | None = None,
    ties: Ties = Ties.CONCURRENT,
    nil_read: NilRead | None = None,
    failed_cas: FailedCas | None = None,
    all_keys: bool = False,
    paranoid: bool = False,
    explain: bool = True,
) -> Report:
    """Return whether ``history`` is linearizable, and why.

    ``model`` is a name, "auto", or a `Model` of the caller's. ``initial`` is the object's state at the
    start, per key; None is the model's default (nil, 0, empty). ``nil_read`` and ``failed_cas`` override
    what the history's format means; these and ``ties`` may be given as their plain words. ``all_keys``
    goes on after the first violation. ``paranoid`` replays every linearization and judges every proof
    again by brute force. ``explain`` off leaves violations without their proof: the verdict alone is
    cheaper.
    Raises `MalformedHistory`, `ModelError`, and ValueError for an unknown model or word.
    """
    meter = Meter(budget or Budget())
    with uncollected():
        judge = chosen(history, model, nil_read=nil_read, failed_cas=failed_cas)
        spans = history.spans(ties)
        with blamed(judge):
            shares = Shares(history, judge, judge.initial(initial), spans)
            judging = Judging(shares, meter, all_keys=all_keys, paranoid=paranoid, explain=explain)
            judging.run()
    verdicts = judging.verdicts()
    outcome = worst({verdict.outcome for verdict in verdicts})
    return Report(
        outcome=outcome if len(history) else Outcome.NOT_EXERCISED,
        format=history.format,
        model=judge.name,
        operations=len(history),
        keys=verdicts,
        violations=tuple(judging.violations),
        notes=(*history.notes, *notes_of(history)),
        seconds=meter.elapsed_s(),
    )


def _conventions(
    told: Conventions, nil_read: NilRead | None, failed_cas: FailedCas | None
) -> Conventions:
    if nil_read is not None:
        told = msgspec.structs.replace(told, nil_read=word(NilRead, nil_read, name="nil_read"))
    if failed_cas is not None:
        means = word(FailedCas, failed_cas, name="failed_cas")
        told = msgspec.structs.replace(told, bare_failed_cas=means, mismatched_cas=means)
    return told


def chosen(
    history: History, model: str | Model, *, nil_read: NilRead | None, failed_cas: FailedCas | None
) -> Model:
    """Return the model that judges a history; raise as `check` does if it cannot."""
    judge = _model(history, model, _conventions(history.conventions, nil_read, failed_cas))
    _all_known(history, judge)
    return judge


def _model(history: History, model: str | Model, conventions: Conventions) -> Model:
    if isinstance(model, Model):
        if not getattr(model, "name", None):
            raise ValueError(f"a model has a name: set {type(model).__name__}.name")
        return model
    name = detect(history) if model == "auto" else model
    if name not in MODELS:
        raise ValueError(
            f"model {model!r} is none of auto, {', '.join(MODELS)}, and no Model that was made"
        )
    return MODELS[name](conventions)


def _all_known(history: History, model: Model) -> None:
    """Refuse what a register was never asked for; other models are asked operation by operation."""
    if type(model) not in REGISTERS:
        return
    for code, kind in enumerate(history.kinds):
        if kind.f not in model.functions and (at := history.what.find(code)) >= 0:
            known = ", ".join(sorted(model.functions))
            raise _malformed(history, at, f"'{kind.f}' is no function of {model.name} ({known})")
    is_cas = bytes(kind.f == "cas" for kind in history.kinds).ljust(256, b"\0")
    if 1 not in is_cas:
        return
    places = history.what.translate(is_cas)
    pairs = list(compress(history.value, places))
    if not (_PAIRS.issuperset(map(type, pairs)) and {2}.issuperset(map(len, pairs))):
        for at in compress(range(len(history)), places):
            pair = history.value[at]
            if type(pair) not in _PAIRS or len(pair) != 2:
                raise _malformed(history, at, f"the value of a cas is [old, new], not {show(pair)}")


def _malformed(history: History, at: int, sentence: str) -> MalformedHistory:
    return MalformedHistory(sentence, name=history.name, line=history.lines[history.call_at[at]])


def notes_of(history: History) -> Iterable[str]:
    """Yield what a reader of the verdict must know of the operations as a whole."""
    counts = {kind: history.what.count(code) for code, kind in enumerate(history.kinds)}
    failed = sum(
        many for kind, many in counts.items() if kind.outcome is EventType.FAIL and kind.f != "cas"
    )
    if failed:
        yield f"{failed} failed operations {_CHANGES_NOTHING}"
    if len(history) and not any(many for kind, many in counts.items() if kind.outcome is EventType.OK):
        yield "no operation was acknowledged: nothing here could be wrong"
    elif any(kind.f == "read" for kind in counts) and not any(
        many for kind, many in counts.items() if kind.f == "read" and kind.outcome is EventType.OK
    ):
        yield "no read was acknowledged"
