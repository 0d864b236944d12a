from __future__ import annotations

import json
import time
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
        ("fifo-queue", "0 |-enq 1-| |-len 1-|", "pass"),
        ("fifo-queue", "0 |-enq 1-| |-len true-|", "violation"),
        ("stack", "0 |-push 1-| |-size 1.0-|", "violation"),
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


class Largest(Model):
    """What was put last only counts if it is larger."""

    name = "largest"
    functions = frozenset({"put", "get"})

    def initial(self, value: Any) -> Any:
        return value or 0

    def step(self, state: Any, op: Operation) -> Any:
        if op.f == "put":
            return (max(state, op.value),)
        return (state,) if op.value == state else ()

    def readonly(self, op: Operation) -> bool:
        return op.f == "get"


class _Odd:
    """A state that cannot be compared."""

    def __init__(self, method: str) -> None:
        self._method = method

    def __hash__(self) -> int:
        return 1 // (self._method != "hash")

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


def _broken(*_: Any) -> Any:
    return 1 // 0


def _exits(*_: Any) -> Any:
    raise SystemExit(0)


@pytest.mark.parametrize("budget", [None, Budget(time_s=20, clock=time.monotonic)])
@pytest.mark.parametrize(
    ("method", "answer"),
    [
        *((name, _broken) for name in ("initial", "step", "readonly", "partition", "path", "keep")),
        *((name, _broken) for name in ("malformed", "prepare", "describe_state", "refusal")),
        ("initial", lambda *_: []),
        ("initial", lambda *_: {}),
        ("partition", lambda *_: []),
        ("describe_state", lambda *_: 5),
        ("step", lambda *_: (_Odd("hash"),)),
        ("step", lambda *_: (_Odd("eq"), _Odd("eq"))),
        ("initial", _exits),
    ],
)
def test_whatever_a_model_of_the_callers_does_wrong_is_its_error(
    method: str, answer: Any, budget: Budget | None
) -> None:
    stale = done((0, "put", 5), (1, "put", 3), (0, "get", 3))
    model = type("Broken", (Largest,), {method: answer})()
    with pytest.raises(ModelError, match="model largest failed on"):
        check(stale, model=model, budget=budget)


def test_the_method_that_raised_is_named() -> None:
    model = type("Broken", (Largest,), {"initial": lambda _, value: 1 // (value is not None)})()
    with pytest.raises(ModelError, match=r"model largest failed on <lambda>: ZeroDivisionError"):
        check(done((0, "put", 5)), model=model)


@pytest.mark.parametrize("budget", [None, Budget(time_s=20, clock=time.monotonic)])
def test_a_model_that_answers_otherwise_when_asked_again_is_a_model_error(budget: Budget | None) -> None:
    class Fickle(Largest):
        """It has forgotten what it said of a put."""

        asked = 0

        def step(self, state: Any, op: Operation) -> Any:
            self.asked += 1
            return super().step(state, op) if self.asked <= 2 else ()

    with pytest.raises(ModelError, match="failed on a second look: asked again it answers otherwise"):
        check(done((0, "put", 5), (0, "get", 5)), model=Fickle(), paranoid=True, budget=budget)


@pytest.mark.parametrize("seen", [3, 5])
def test_an_operation_that_is_readonly_and_changes_the_state_is_a_model_error(seen: int) -> None:
    model = type("Liar", (Largest,), {"readonly": lambda *_: True})()
    with pytest.raises(ModelError, match="failed on put 5: it is readonly, and changes the state"):
        check(done((0, "put", 5), (1, "put", 3), (0, "get", seen)), model=model)


def test_a_model_is_one_that_was_made_and_has_a_name() -> None:
    with pytest.raises(ValueError, match="and no Model that was made"):
        check(done((0, "put", 5)), model=Largest)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"a model has a name: set Nameless\.name"):
        check(done((0, "put", 5)), model=type("Nameless", (Model,), {"step": Largest.step})())


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


@pytest.mark.parametrize("told", [None, 1, 3])
def test_a_delete_leaves_nil_whatever_its_line_says_was_deleted(told: Any) -> None:
    for read, outcome in ((None, Outcome.PASS), (told or 1, Outcome.VIOLATION)):
        history = done((0, "write", 1), (1, "delete", told), (2, "read", read))
        for model in ("register", "cas-register"):
            report = check(history, model=model, paranoid=True)
            assert report.outcome is outcome, f"{model}: {report.sentence}"
    alone = done((0, "delete", 5), (1, "read", 5))
    assert check(alone, initial=5, paranoid=True).outcome is Outcome.VIOLATION
    several = done((0, "write", 1), (1, "delete", told), (2, "write", 2), (3, "read", None))
    report = check(several, initial=7, paranoid=True)
    assert "initial value" not in report.sentence
    assert "delete" in report.sentence


@pytest.mark.parametrize(
    ("model", "operations", "initial"),
    [
        ("kv", [("append", "a"), ("get", "a")], 5),
        ("kv", [("append", "a"), ("get", "a")], ["a"]),
        ("counter", [("add", 1), ("read", 1)], "1"),
        ("counter", [("add", 1), ("read", 1)], True),
        ("set", [("add", 1), ("read", [1])], 5),
        ("set", [("add", 1), ("read", [1])], "abc"),
        ("fifo-queue", [("enq", 1), ("deq", 1)], 5),
        ("unordered-queue", [("enq", 1), ("deq", 1)], "abc"),
        ("stack", [("push", 1), ("pop", 1)], 1.5),
        ("priority-queue", [("insert", 1), ("extract", 1)], {"a": 1}),
        ("fenced-lock", [("acquire", 1), ("release", None)], "a"),
        ("list-append", [("append", 1), ("read", [1])], 5),
        ("list-append", [("append", 1), ("read", [1])], {"x": 5}),
    ],
)
def test_an_object_begins_with_a_state_of_its_own_kind(
    model: str, operations: list[tuple[str, Any]], initial: Any
) -> None:
    history = done(*((0, f, value) for f, value in operations))
    assert check(history, model=model, paranoid=True).outcome is Outcome.PASS
    with pytest.raises(ValueError, match="start"):
        check(history, model=model, initial=initial)


@pytest.mark.parametrize("f", [["w"], {"w": 1}, None, 1, "append"])
def test_what_is_no_micro_operation_is_malformed(f: Any) -> None:
    with pytest.raises(MalformedHistory, match=r"is no \[f, key, value\]"):
        check(done((0, "txn", [[f, "x", 1]])), model="multi-register")
