"""The check itself: a history, a model and a budget in, a report out.

Keys are independent objects, so each is judged on its own. Searches take turns, a slice each, so that an
easy violation is not hidden behind a hard key; the first violation ends the check unless every key's
verdict is wanted. What ran out of budget is *unknown* by name.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from checker.budget import Budget, Meter
from checker.events import EventType
from checker.explain.drawing import draw
from checker.explain.shrink import prefix, shrink
from checker.models import MODELS, Model, detect
from checker.operations import Conventions, FailedCas, History, NilRead, Ties
from checker.part import Part, part_of
from checker.search.generic import search
from checker.values import show, tag
from checker.verdict import KeyVerdict, Method, Outcome, Report, Violation, worst

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from checker.search.result import Found, Searching


def check(
    history: History,
    *,
    model: str | Model = "auto",
    initial: Any = None,
    budget: Budget | None = None,
    ties: Ties = Ties.CONCURRENT,
    nil_read: NilRead | None = None,
    failed_cas: FailedCas | None = None,
    all_keys: bool = False,
) -> Report:
    """Return whether ``history`` is linearizable, and why.

    ``model`` is a name, "auto", or a `Model` of the caller's. ``initial`` is the object's state at the
    start, per key; None is the model's default (nil, 0, empty). ``nil_read`` and ``failed_cas`` override
    what the history's format means. ``all_keys`` goes on after the first violation.
    Raises `MalformedHistory`, `ModelError`, and ValueError for an unknown model.
    """
    meter = Meter(budget or Budget())
    conventions = _conventions(history.conventions, nil_read, failed_cas)
    chosen = _model(history, model, conventions)
    start = chosen.initial(initial)
    spans = history.spans(ties)
    parts = [
        part_of(history, positions, key=key, model=chosen, start=start, spans=spans)
        for key, positions in _partition(history, chosen)
    ]
    verdicts, violations = _judge(parts, meter, all_keys=all_keys)
    outcome = worst(verdict.outcome for verdict in verdicts)
    if len(history) == 0:
        outcome = Outcome.NOT_EXERCISED
    return Report(
        outcome=outcome,
        format=history.format,
        model=chosen.name,
        operations=len(history),
        keys=tuple(verdicts),
        violations=tuple(violations),
        notes=(*history.notes, *_notes(history)),
        seconds=meter.elapsed_s(),
    )


def _conventions(
    told: Conventions, nil_read: NilRead | None, failed_cas: FailedCas | None
) -> Conventions:
    return Conventions(
        nil_read=nil_read or told.nil_read,
        bare_failed_cas=failed_cas or told.bare_failed_cas,
        mismatched_cas=failed_cas or told.mismatched_cas,
        order_by_stamp=told.order_by_stamp,
    )


def _model(history: History, model: str | Model, conventions: Conventions) -> Model:
    if isinstance(model, Model):
        return model
    name = detect(history) if model == "auto" else model
    if name not in MODELS:
        raise ValueError(f"model {model!r} is none of auto, {', '.join(MODELS)}")
    kind = MODELS[name]
    return kind(conventions)


def _partition(history: History, model: Model) -> Iterable[tuple[Any, list[int]]]:
    groups: dict[Hashable, list[int]] = {}
    names: dict[Hashable, Any] = {}
    for i, op in enumerate(history):
        part = model.partition(op)
        groups.setdefault(part, []).append(i)
        names.setdefault(part, op.key if part == tag(op.key) else part)
    return [(names[part], positions) for part, positions in groups.items()]


def _searching(part: Part) -> Searching:
    return search(part.model, part.operations, part.start, part.calls, part.returns)


def _judge(
    parts: list[Part], meter: Meter, *, all_keys: bool
) -> tuple[list[KeyVerdict], list[Violation]]:
    """Let the searches take turns; smallest first."""
    order = sorted(range(len(parts)), key=lambda i: len(parts[i].operations))
    turns = deque((i, _searching(parts[i])) for i in order)
    spent_s = [0.0] * len(parts)
    configurations = [0] * len(parts)
    verdicts: dict[int, KeyVerdict] = {}
    violations: list[Violation] = []
    ran_out: str | None = None

    def conclude(i: int, outcome: Outcome, **more: Any) -> None:
        verdicts[i] = KeyVerdict(
            key=parts[i].key,
            outcome=outcome,
            method=Method.SEARCH,
            operations=len(parts[i].operations),
            seconds=spent_s[i],
            configurations=configurations[i],
            **more,
        )

    while turns:
        i, searching = turns.popleft()
        ran_out = meter.spent()
        if ran_out is not None or (violations and not all_keys):
            conclude(
                i, Outcome.UNKNOWN, reason=ran_out or "not looked at further: another key is a violation"
            )
            continue
        began_s = meter.elapsed_s()
        try:
            spent = next(searching)
            meter.configurations += spent
            configurations[i] += spent
            turns.append((i, searching))
            spent_s[i] += meter.elapsed_s() - began_s
        except StopIteration as done:
            spent_s[i] += meter.elapsed_s() - began_s
            found: Found = done.value
            if found.order is not None:
                conclude(
                    i,
                    Outcome.PASS,
                    linearization=tuple(parts[i].operations[at].index for at in found.order),
                )
            else:
                conclude(i, Outcome.VIOLATION)
                violations.append(_explain(parts[i], found, meter))
    return [verdicts[i] for i in range(len(parts))], violations


def _explain(part: Part, found: Found, meter: Meter) -> Violation:
    """Return the proof of a search's violation, as small as the budget allows."""
    assert found.stuck is not None
    blocked = part.operations[found.stuck.blocked]

    def illegal(smaller: Part) -> bool | None:
        searching = _searching(smaller)
        while meter.spent() is None:
            try:
                meter.configurations += next(searching)
            except StopIteration as done:
                return done.value.order is None
        return None

    proof = shrink(prefix(part, part.returns[found.stuck.blocked]), illegal)
    states = found.stuck.states
    reasons = tuple(
        f"{part.model.describe_state(state)}: {part.model.refusal(state, blocked)}" for state in states
    )
    could_be = " or ".join(dict.fromkeys(part.model.describe_state(state) for state in states))
    sentence = (
        f"{blocked} (process {show(blocked.process)}, line {blocked.call_line}) "
        f"fits nowhere before it returned: "
        f"the state could only have been {could_be}"
    )
    return Violation(
        key=part.key,
        operations=tuple(proof.operations),
        sentence=sentence,
        drawing=draw(proof),
        states=reasons,
    )


def _notes(history: History) -> Iterable[str]:
    if not len(history):
        return
    seen = [history.kinds[code] for code in set(history.what)]
    if not any(kind.outcome is EventType.OK for kind in seen):
        yield "no operation was acknowledged: nothing here could be wrong"
    elif not any(kind.outcome is EventType.OK and kind.f == "read" for kind in seen) and any(
        kind.f == "read" for kind in seen
    ):
        yield "no read was acknowledged"
