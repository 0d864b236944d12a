"""What a sentence says the state could have been: at any instant of the interval, and never too few."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checker import Model, Operation, Report, check, formats
from checker.values import show


class Reg(Model):
    """A register that no zone knows, so that a search has to explain it."""

    name = "reg"

    def initial(self, value: Any) -> Any:
        return value or 0

    def step(self, state: Any, op: Operation) -> Any:
        if op.f == "w":
            return (op.value,)
        if op.f == "cas":
            return (op.value[1],) if op.value[0] == state else ()
        return (state,) if state == op.value else ()

    def readonly(self, op: Operation) -> bool:
        return op.f == "r"


def judged(*events: tuple[Any, str, str, Any]) -> Report:
    names = ("process", "type", "f", "value")
    text = "\n".join(json.dumps(dict(zip(names, event, strict=True))) for event in events)
    return check(formats.read(text.encode() + b"\n", name="h.jsonl"), model=Reg())


def test_the_states_are_those_of_the_whole_interval_not_only_of_its_end() -> None:
    report = judged(
        (0, "invoke", "w", 1),
        (0, "ok", "w", 1),
        (1, "invoke", "r", None),
        (0, "invoke", "w", 2),
        (0, "ok", "w", 2),
        (2, "invoke", "r", None),
        (2, "ok", "r", 2),
        (1, "ok", "r", 9),
    )
    assert report.sentence.endswith("the state could only have been 1 or 2")


def test_a_state_of_the_call_is_named_beside_one_of_the_return() -> None:
    report = judged(
        (0, "invoke", "w", 1),
        (0, "ok", "w", 1),
        (1, "invoke", "r", None),
        (0, "invoke", "w", 2),
        (0, "ok", "w", 2),
        (1, "ok", "r", 0),
    )
    assert report.sentence.endswith("the state could only have been 1 or 2")


@pytest.mark.parametrize("many", [3, 9, 10, 14])
def test_more_states_than_are_named_are_never_called_all(many: int) -> None:
    writes = [(n, "invoke", "w", n + 1) for n in range(many)]
    returns = [(n, "ok", "w", n + 1) for n in range(many)]
    first = [(50, "invoke", "w", 99), (50, "ok", "w", 99)]
    read = [(51, "invoke", "r", None), (51, "ok", "r", 0)]
    report = judged(*first, *writes, *read, *returns)
    assert report.violation is not None
    named = " or ".join(map(str, [99, *range(1, many + 1)][:10]))
    if many < 10:
        assert report.sentence.endswith(f"the state could only have been {named}")
    else:
        assert report.sentence.endswith(f"the state could have been {named}, among others")


@pytest.mark.parametrize(("one", "other"), [(1, 2), (1, True), (None, 2), (0, False), ([1], [2])])
def test_values_that_cross_are_named_whatever_they_are(one: Any, other: Any) -> None:
    events = [
        (0, "invoke", "write", one),
        (1, "invoke", "write", other),
        (0, "ok", "write", one),
        (1, "ok", "write", other),
    ]
    for seen in (one, other, one, other):
        events += [(2, "invoke", "read", None), (2, "ok", "read", seen)]
    lines = (
        json.dumps(dict(zip(("process", "type", "f", "value"), each, strict=True))) for each in events
    )
    report = check(formats.read("\n".join(lines).encode(), name="h"), initial=7)
    assert report.outcome.value == "violation"
    assert "process 0, line 1" in report.sentence or "process 2, line" in report.sentence
    first = {"write": f"write {show(one)} (process 0", "read": f"read -> {show(one)} (process 2"}
    assert any(each in report.sentence for each in first.values())
