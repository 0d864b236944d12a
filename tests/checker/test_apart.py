"""A check in parts says what one check says."""

from __future__ import annotations

import pickle
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from checker import apart as handing_out
from checker import check, formats
from checker.apart import apart, fit_to_travel
from checker.events import Event, EventType
from checker.verdict import Outcome, Report

if TYPE_CHECKING:
    from checker.operations import History


def history(rng: Random, operations: int, *, keys: int, wrong_in: int) -> History:
    """Make reads and writes of several keys, one client each at a time; some reads are stale."""
    events: list[Event] = []
    held: dict[int, list[int]] = {key: [0] for key in range(keys)}
    for number in range(operations):
        key, f = rng.randrange(keys), rng.choice(("read", "write"))
        value: int | None = number + 1 if f == "write" else None
        at_ns = 10 * number
        events.append(
            Event(
                index=2 * number,
                time_ns=at_ns,
                process=number,
                type=EventType.INVOKE,
                f=f,
                key=f"k{key}",
                value=value,
            )
        )
        if f == "write":
            held[key].append(number + 1)
        else:
            stale = wrong_in and len(held[key]) > 2 and rng.randrange(wrong_in) == 0
            value = held[key][-2 if stale else -1] or None
        events.append(
            Event(
                index=2 * number + 1,
                time_ns=at_ns + 5,
                process=number,
                type=EventType.OK,
                f=f,
                key=f"k{key}",
                value=value,
            )
        )
    return formats.from_events(events, name="history.jsonl", header=None)


def in_parts(whole: History, many: int, **how: Any) -> Report:
    """Judge portions that have travelled, last first."""
    parts = apart(whole, many=many)
    reports: dict[int, Report | str] = {}
    for number, portion in reversed(list(enumerate(parts.portions))):
        there = pickle.loads(pickle.dumps(portion.history))
        report = fit_to_travel(check(there, model=parts.model, **how))
        reports[number] = pickle.loads(pickle.dumps(report))
    return parts.together(reports, seconds=0.0)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handing_out, "_FEW", 10)


def told(report: Report) -> tuple[object, ...]:
    keys = [(each.key, each.outcome, each.operations) for each in report.keys]
    proofs = [
        (each.key, each.sentence, each.drawing, each.operations, each.staleness, each.prefix)
        for each in sorted(report.violations, key=lambda each: str(each.key))
    ]
    return report.outcome, report.model, report.operations, keys, proofs, report.notes


@pytest.mark.parametrize("seed", range(20))
def test_the_verdicts_and_the_proofs_are_the_same(seed: int) -> None:
    rng = Random(seed)
    whole = history(rng, 150, keys=rng.choice((1, 3, 7)), wrong_in=rng.choice((0, 40, 8)))
    alone = check(whole, all_keys=True)
    shared = in_parts(whole, many=rng.choice((1, 2, 5)), all_keys=True)
    assert told(shared) == told(alone)


def test_keys_that_nobody_judged_are_unknown_by_name() -> None:
    whole = history(Random(1), 100, keys=5, wrong_in=0)
    parts = apart(whole, many=3)
    reports: dict[int, Report | str] = {0: check(parts.portions[0].history), 1: "its worker died"}
    report = parts.together(reports, seconds=1.0)
    assert report.outcome is Outcome.UNKNOWN
    reasons = {each.reason for each in report.keys if each.outcome is Outcome.UNKNOWN}
    assert reasons == {"its worker died", "nobody judged it"}
    assert sum(each.outcome is Outcome.PASS for each in report.keys) == len(parts.portions[0].places)


def test_portions_are_of_about_one_size_and_hold_everything_once() -> None:
    whole = history(Random(2), 400, keys=20, wrong_in=0)
    parts = apart(whole, many=4)
    sizes = [len(portion.history) for portion in parts.portions]
    assert sum(sizes) == len(whole)
    assert max(sizes) - min(sizes) < 60
    assert sorted(at for portion in parts.portions for at in portion.positions) == list(
        range(len(whole))
    )


def test_a_history_without_operations_is_judged_as_such() -> None:
    empty = formats.from_events([], name="history.jsonl", header=None)
    assert in_parts(empty, many=3).outcome is Outcome.NOT_EXERCISED
