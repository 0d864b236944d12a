from __future__ import annotations

import json
from typing import Any

import pytest

from checker import (
    Budget,
    History,
    MalformedHistory,
    Model,
    ModelError,
    Operation,
    Outcome,
    check,
    formats,
)
from checker.models import detect
from checker.testing import drawn


def lines(*events: dict[str, Any]) -> History:
    return formats.read("\n".join(map(json.dumps, events)).encode() + b"\n", name="h.jsonl")


def done(*operations: tuple[Any, str, Any]) -> History:
    """Return operations of (process, f, value), one after the other."""
    events: list[dict[str, Any]] = []
    for process, f, value in operations:
        events.append({"process": process, "type": "invoke", "f": f, "value": value})
        events.append({"process": process, "type": "ok", "f": f, "value": value})
    return lines(*events)


@pytest.mark.parametrize(
    ("model", "drawing", "outcome"),
    [
        ("register", "0 |-w 1-| |-r 1-|", "pass"),
        ("register", "0 |-w 1-| |-r true-|", "violation"),
        ("register", "0 |-w 1-| |-r 1.0-|", "violation"),
        ("register", '0 |-w 1-| |-r "1"-|', "violation"),
        ("counter", "0 |-add 2-| |-add 3-| |-r 5-|", "pass"),
        ("counter", "0 |-add 2-| |-dec 3-| |-r 5-|", "violation"),
        ("counter", "0 |-add 2->\n1           |-r 0-| |-r 2-|", "pass"),
        ("counter", "0 |-add 2->\n1           |-r 2-| |-r 0-|", "violation"),
        ("counter", "0 |-add! 2-|   |-r 0-|", "pass"),
        ("set", "0 |-add 1-| |-add 2-| |-r [1,2]-|", "pass"),
        ("set", "0 |-add 1-| |-add 2-| |-r [2]-|", "violation"),
        ("set", "0 |-add 1-| |-remove 1-| |-r []-|", "pass"),
        ("set", "0 |-add 1-| |-contains 1 true-|", "pass"),
        ("set", "0 |-add 1-| |-contains 1 false-|", "violation"),
        ("fifo-queue", "0 |-enq 1-| |-enq 2-| |-deq 1-| |-deq 2-| |-deq nil-|", "pass"),
        ("fifo-queue", "0 |-enq 1-| |-enq 2-| |-deq 2-|", "violation"),
        ("fifo-queue", "0 |-enq 1-|     |-deq 2-|\n1   |-enq 2-|", "pass"),
        ("fifo-queue", "0 |-enq 1-| |-deq->\n1                    |-deq nil-|", "pass"),
        ("unordered-queue", "0 |-enq 1-| |-enq 2-| |-deq 2-|", "pass"),
        ("unordered-queue", "0 |-enq 1-| |-deq 2-|", "violation"),
        ("priority-queue", "0 |-insert 5-| |-insert 2-| |-extract 2-|", "pass"),
        ("priority-queue", "0 |-insert 5-| |-insert 2-| |-extract 5-|", "violation"),
        ("stack", "0 |-push 1-| |-push 2-| |-len 2-| |-pop 2-| |-pop 1-| |-pop nil-|", "pass"),
        ("stack", "0 |-push 1-| |-push 2-| |-pop 1-|", "violation"),
        ("mutex", "0 |-acquire-| |-release-|\n1              |---acquire---|", "pass"),
        ("mutex", "0 |-acquire-|\n1                |-acquire-|", "violation"),
        ("mutex", "0 |-release-|", "violation"),
        (
            "reentrant-mutex",
            (
                "0 |-acquire-| |-acquire-| |-release-| |-release-|\n"
                "1  |---acquire---------------------------------------|"
            ),
            "pass",
        ),
        (
            "reentrant-mutex",
            "0 |-acquire-| |-acquire-| |-release-|\n1                                       |-acquire-|",
            "violation",
        ),
        ("reentrant-mutex", "0 |-acquire-|\n1               |-release-|", "violation"),
        ("fenced-lock", "0 |-acquire 1-| |-release-| |-acquire 3-|", "pass"),
        ("fenced-lock", "0 |-acquire 3-| |-release-| |-acquire 3-|", "violation"),
        (
            "fenced-lock",
            (
                "0 |-acquire 3-| |-release-| |-acquire->\n"
                "1                           |-release-| |-acquire 4-|"
            ),
            "violation",
        ),
        (
            "fenced-lock",
            (
                "0 |-acquire 3-| |-release-| |-acquire->\n"
                "1                           |-release-| |-acquire 5-|"
            ),
            "pass",
        ),
        ("fenced-register", "0 |-acquire 3-| |-w 1-| |-release-| |-r 1-|", "pass"),
        ("fenced-register", "0 |-acquire 3-| |-w 1-| |-release-| |-r nil-|", "violation"),
        ("list-append", "0 |-x:append 3-| |-x:append 4-| |-x:r [3,4]-|", "pass"),
        ("list-append", "0 |-x:append 3-| |-x:append 4-| |-x:r [4,3]-|", "violation"),
        ("kv", '0 |-x:put "a"-| |-x:append "b"-| |-x:get "ab"-|', "pass"),
        ("kv", '0 |-x:put "a"-| |-x:append "b"-| |-x:get "b"-|', "violation"),
        ("kv", '0 |-x:get ""-| |-x:put "a"-| |-y:get ""-|', "pass"),
    ],
)
def test_a_model_accepts_what_its_object_does_and_nothing_else(
    model: str, drawing: str, outcome: str
) -> None:
    report = check(drawn(drawing), model=model, paranoid=True)
    assert report.outcome.value == outcome, report.sentence
    if outcome == "violation":
        assert report.violation is not None
        assert report.violation.operations


@pytest.mark.parametrize(
    ("operations", "outcome"),
    [
        (
            [(0, "txn", [["w", "x", 1], ["w", "y", 1]]), (1, "txn", [["r", "x", 1], ["r", "y", 1]])],
            "pass",
        ),
        (
            [(0, "txn", [["w", "x", 1], ["w", "y", 1]]), (1, "txn", [["r", "x", 1], ["r", "y", 0]])],
            "violation",
        ),
        ([(0, "txn", [["r", "x", 0], ["w", "x", 2], ["r", "x", 2]])], "pass"),
    ],
)
def test_a_transaction_happens_at_once(operations: list[Any], outcome: str) -> None:
    report = check(done(*operations), model="multi-register", initial={"x": 0, "y": 0})
    assert report.outcome.value == outcome


def test_transactions_of_appends_see_each_list_whole() -> None:
    history = done(
        (0, "txn", [["append", 1, 5], ["append", 2, 6]]),
        (1, "txn", [["r", 1, [5]], ["append", 1, 7], ["r", 1, [5, 7]], ["r", 2, [6]]]),
    )
    assert detect(history) == "list-append"
    assert check(history).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("functions", "model"),
    [
        (["read", "write"], "register"),
        (["read", "cas"], "cas-register"),
        (["get", "append"], "kv"),
        (["enq", "deq"], "fifo-queue"),
        (["push", "pop"], "stack"),
        (["acquire", "release"], "mutex"),
        (["add", "read"], "counter"),
    ],
)
def test_functions_tell_the_model(functions: list[str], model: str) -> None:
    history = lines(*({"process": i, "type": "invoke", "f": f} for i, f in enumerate(functions)))
    assert detect(history) == model


class Turnstile(Model):
    """A model that asserts: it is asked about states that no history reaches."""

    name = "turnstile"

    def initial(self, value: Any) -> str:
        del value
        return "locked"

    def step(self, state: Any, op: Operation) -> Any:
        if op.f == "push" and state == "locked":
            raise RuntimeError("pushed while locked")
        return ("unlocked",) if op.f == "coin" else ("locked",)


def test_a_model_that_raises_is_a_model_error_with_its_name_and_the_operation() -> None:
    history = done((0, "push", None))
    with pytest.raises(ModelError, match=r"turnstile failed on push: RuntimeError: pushed while locked"):
        check(history, model=Turnstile())


def test_a_model_that_raises_in_a_process_is_a_model_error_too() -> None:
    import time

    with pytest.raises(ModelError, match="turnstile"):
        check(done((0, "push", None)), model=Turnstile(), budget=Budget(time_s=5, clock=time.monotonic))


class Rubbish(Model):
    name = "rubbish"

    def step(self, state: Any, op: Operation) -> Any:
        del state, op


class Unhashable(Model):
    name = "unhashable"

    def step(self, state: Any, op: Operation) -> Any:
        del state, op
        return ([1],)


@pytest.mark.parametrize("model", [Rubbish(), Unhashable()])
def test_a_model_that_answers_rubbish_is_a_model_error(model: Model) -> None:
    with pytest.raises(ModelError, match="TypeError"):
        check(done((0, "go", 1)), model=model)


class Either(Model):
    """Any tuple of what was offered may be kept."""

    name = "either"

    def initial(self, value: Any) -> frozenset[Any]:
        del value
        return frozenset()

    def step(self, state: Any, op: Operation) -> Any:
        if op.f == "offer":
            return tuple(frozenset(op.value[:n]) for n in range(len(op.value) + 1))
        return (state,) if state == frozenset(op.value) else ()


@pytest.mark.parametrize(("seen", "outcome"), [([1], "pass"), ([1, 2], "pass"), ([2], "violation")])
def test_a_model_may_choose(seen: list[int], outcome: str) -> None:
    report = check(done((0, "offer", [1, 2]), (0, "see", seen)), model=Either(), paranoid=True)
    assert report.outcome.value == outcome


def test_an_unknown_function_is_refused_with_its_line_and_the_known_ones() -> None:
    with pytest.raises(
        MalformedHistory, match=r"h.jsonl:3: 'deq' is no function of stack \(len, pop, push, size\)"
    ):
        check(done((0, "push", 1), (0, "deq", 1)), model="stack")


def test_an_unknown_model_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="model 'tree' is none of auto, register"):
        check(done((0, "read", None)), model="tree")
