"""A second look at every verdict, by means that share nothing with those that found it.

A pass is worth its linearization: it is replayed, operation by operation, through the model's own
``step``, and must hold every operation that certainly happened, once, in an order that real time
allows. A proof of a violation is judged again by the brute-force oracle, where it is small enough for
that. Disagreement is a bug of ours, and stops everything: an `AssertionError`, raised and not asserted,
for whoever asked for a second look gets one under ``python -O`` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.operations import NEVER
from checker.search import brute
from checker.search.generic import ask

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.part import Share
    from checker.verdict import Violation

_BRUTE_MAX = 14


def replay(share: Share, order: Sequence[int]) -> None:
    """Assert that ``order``, indices into the history, is a linearization of ``share``."""
    part = share.part()
    place = {op.index: i for i, op in enumerate(part.operations)}
    states: list[Hashable] = [part.start]
    latest = -NEVER
    done = set()
    for index in order:
        i = place[index]
        op = part.operations[i]
        _hold(index not in done, f"{op} is taken twice")
        done.add(index)
        states = [then for state in states for then in ask(part.model, state, op)]
        _hold(states, f"{op} (line {op.call_line}) does not fit where the linearization puts it")
        latest = max(latest, part.calls[i])
        _hold(part.returns[i] >= latest, f"{op} (line {op.call_line}) comes after its own return")
    for i, op in enumerate(part.operations):
        _hold(part.returns[i] == NEVER or op.index in done, f"the linearization leaves out {op}")


def confirm(share: Share, violation: Violation) -> None:
    """Assert that the operations of ``violation`` are impossible by themselves."""
    if len(violation.operations) > _BRUTE_MAX:
        return
    part = share.part([op.index for op in violation.operations])
    possible = brute.linearizable(part.model, part.operations, part.start, part.calls, part.returns)
    _hold(not possible, "the operations that should prove a violation fit an order")


def _hold(truth: object, sentence: str) -> None:
    if not truth:
        raise AssertionError(sentence)
