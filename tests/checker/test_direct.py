"""Direct decisions for queues and lists against brute force, on thrown histories."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from checker import NEVER, History, Outcome, check, direct
from checker.conventions import Ties
from checker.models import MODELS
from checker.models.queues import PUTS
from checker.pairing import Line, pair
from checker.part import Part, Share
from checker.search import brute, generic
from checker.testing import PUT_AND_TAKE, drawn, put_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.search.result import Found, Searching


def part_of(history: History, model: str) -> Part:
    chosen = MODELS[model]()
    calls, returns = history.spans(Ties.CONCURRENT)
    share = Share(
        history=history,
        positions=range(len(history)),
        key=None,
        model=chosen,
        start=chosen.initial(None),
        calls=calls,
        returns=returns,
    )
    return share.part()


def fits(part: Part, order: list[int]) -> bool:
    state: Any = part.start
    latest = -NEVER
    for i in order:
        after = part.model.step(state, part.operations[i])
        if not after:
            return False
        (state,) = after
        latest = max(latest, part.calls[i])
        if part.returns[i] < latest:
            return False
    return {i for i, back in enumerate(part.returns) if back != NEVER} <= set(order)


STAIRS = """
0 |-push 1-|                              |-pop 1-|
1      |-push 2-----------------|                           |-pop 2-|
2                     |-push 3----------------------|                        |-pop 3-|
"""
"""Of any two of these values one can lie beneath the other; of all three none beneath the rest."""


def compare(model: str, seed: str, count: int) -> Counter[str]:
    dice = random.Random(seed)
    seen: Counter[str] = Counter()
    for number in range(count):
        part = part_of(put_once(dice, model), model)
        truth = brute.linearizable(part.model, part.operations, part.start, part.calls, part.returns)
        decision = direct.decide(part)
        match decision:
            case direct.Ordered(order):
                assert truth, f"fits: {model} {seed} {number}"
                assert fits(part, order), f"bad order: {model} {seed} {number}"
            case direct.Impossible(positions):
                assert not truth, f"impossible: {model} {seed} {number}"
                proof_stands(part, positions)
            case None:
                pass
        seen[f"{type(decision).__name__} {truth}"] += 1
    return seen


def proof_stands(part: Part, positions: list[int]) -> None:
    """A proof is impossible by itself, and none of what was left out of it could have helped."""
    put = {str(op.value): i for i, op in enumerate(part.operations) if op.f in PUTS | {"append"}}
    for op in [part.operations[i] for i in positions if part.operations[i].f == "read"]:
        assert {put[str(value)] for value in op.value if str(value) in put} <= set(positions)
    others = set(range(len(part.operations))) - set(positions)
    for added in (set(), *({other} for other in others)):
        piece = part.subset(sorted({*positions, *added}))
        args = (piece.operations, piece.start, piece.calls, piece.returns)
        assert not brute.linearizable(piece.model, *args), [str(op) for op in piece.operations]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("model", PUT_AND_TAKE)
def test_a_direct_decision_is_that_of_brute_force(model: str) -> None:
    count = 10_000
    seen = compare(model, model, count)
    assert seen["Ordered True"] > count / 4
    assert seen["Impossible False"] > count / 10
    assert seen["NoneType True"] + seen["NoneType False"] < count / 10


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("model", PUT_AND_TAKE)
def test_a_direct_decision_is_that_of_brute_force_many_times(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = compare(model, f"soak {model}", 30_000)
    with capsys.disabled():
        print(  # noqa: T201 - the count is the result
            f"\n{seen.total()} histories of {model} agree with brute force: {dict(sorted(seen.items()))}"
        )


@pytest.mark.timeout(120)
@pytest.mark.parametrize("model", PUT_AND_TAKE)
def test_a_direct_decision_on_longer_histories_is_that_of_the_search(model: str) -> None:
    dice = random.Random(f"longer {model}")
    seen: Counter[str] = Counter()
    for number in range(400):
        part = part_of(put_once(dice, model, operations_max=60), model)
        searching = generic.search(part.model, part.operations, part.start, part.calls, part.returns)
        found = next((done for done in drive(searching, configurations_max=20_000)), None)
        decision = direct.decide(part)
        if isinstance(decision, direct.Ordered):
            assert fits(part, decision.order), number
        if isinstance(decision, direct.Impossible) and len(decision.positions) <= 12:
            proof_stands(part.subset(decision.positions), [*range(len(decision.positions))])
        if found is not None and decision is not None:
            assert (found.order is not None) is isinstance(decision, direct.Ordered), number
            seen[type(decision).__name__] += 1
    assert min(seen.values()) > 20


def drive(searching: Searching, *, configurations_max: int) -> Iterator[Found]:
    """Yield what is found, if it is found soon enough."""
    spent = 0
    try:
        while spent < configurations_max:
            spent += next(searching)[0]
    except StopIteration as done:
        yield done.value


@pytest.mark.timeout(120)
def test_a_set_divided_by_elements_gets_the_verdict_of_the_undivided_one() -> None:
    dice = random.Random("elements")
    seen: Counter[str] = Counter()
    for number in range(3_000):
        ops: list[list[Any]] = []
        for _ in range(dice.randint(1, 7)):
            call = dice.randint(0, 9)
            f = dice.choice(("add", "remove", "contains", "contains", *["read"] * (number % 4 == 0)))
            ops.append([call, call + dice.randint(0, 6), f, dice.choice("ab"), dice.random() < 0.15])
        history = asked(dice, ops)
        part = part_of(history, "set")
        truth = brute.linearizable(part.model, part.operations, part.start, part.calls, part.returns)
        report = check(history, model="set", paranoid=True)
        assert (report.outcome is Outcome.PASS) is truth, number
        seen[f"{truth} {len(report.keys) > 1}"] += 1
    assert min(seen[f"{truth} {divided}"] for truth in (True, False) for divided in (True, False)) > 50


def asked(dice: random.Random, ops: list[list[Any]]) -> History:
    """Return a history of a set whose answers fit one order of instants, but for one in some."""
    held: set[str] = set()
    for op in sorted(ops, key=lambda op: dice.uniform(op[0], op[1])):
        _, _, f, element, unknown = op
        if f == "add" and not (unknown and dice.random() < 0.5):
            held.add(element)
        elif f == "remove" and not (unknown and dice.random() < 0.5):
            held.discard(element)
        elif f == "contains":
            op[3] = [element, (element in held) ^ (dice.random() < 0.15)]
        elif f == "read":
            op[3] = sorted(held)
    events: list[tuple[int, int, Line]] = []
    for process, (call, back, f, value, unknown) in enumerate(ops):
        line = {"process": process, "f": f, "value": value}
        events.append((call, 0, Line(type="invoke", time_ns=call, **line)))
        if not unknown:
            events.append((back, 1, Line(type="ok", time_ns=back, **line)))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="asked")


@pytest.mark.parametrize(
    ("value", "outcome"), [(1, Outcome.PASS), (2, Outcome.VIOLATION), (None, Outcome.VIOLATION)]
)
def test_a_transaction_and_a_plain_read_are_of_one_object(value: Any, outcome: Outcome) -> None:
    rows = [
        Line(process=0, type="invoke", f="txn", value=[["w", "x", 1], ["w", "y", 1]]),
        Line(process=0, type="ok", f="txn", value=[["w", "x", 1], ["w", "y", 1]]),
        Line(process=0, type="invoke", f="read", key="x"),
        Line(process=0, type="ok", f="read", key="x", value=value),
    ]
    history = pair(list(enumerate(rows, 1)), name="mixed")
    assert check(history, model="multi-register", paranoid=True).outcome is outcome


@pytest.mark.parametrize(
    ("drawing", "model", "sentence"),
    [
        ("0 |-enq 1-| |-enq 2-| |-deq 2-|", "fifo-queue", "overtook 1, which had been put in before"),
        (
            "0 |-enq 1-| |-deq nil-| |-deq 1-|",
            "fifo-queue",
            "found it empty, though something was inside",
        ),
        ("0 |-deq 4-|", "fifo-queue", "took a value that nobody put in"),
        ("0 |-enq 4-| |-deq 4-| |-deq 4-|", "fifo-queue", "took a value that had been taken"),
        ("0 |-x:append 1-| |-x:r []-|", "list-append", "comes after it by what was read"),
        (
            "0 |-x:append 1-| |-x:append 2-| |-x:r [1,2]-| |-x:r [2]-|",
            "list-append",
            "append 1 (process 0, line 1) ended before read -> [2] began, and comes after it",
        ),
        (
            "0 |-x:append 1-|\n1 |-x:append 2-|\n2 |-x:r [1,2]-|\n3 |-x:r [2,1]-|",
            "list-append",
            "saw what is no beginning",
        ),
        ("0 |-x:r [4]-|", "list-append", "saw a value that nobody appended"),
        ("0 |-push 1-| |-push 2-| |-pop 1-| |-pop 2-|", "stack", "came out from under 2, which was"),
        (
            STAIRS,
            "stack",
            "none of 1, 2, 3 can have lain beneath",
        ),
        ("0 |-push 1-| |-pop nil-|", "stack", "found it empty"),
        ("0 |-enq 1-| |-deq nil-|", "unordered-queue", "found it empty"),
        (
            "0 |-insert 2-| |-insert 1-| |-extract 2-|",
            "priority-queue",
            "came out, though smaller ones were inside all the while: 1",
        ),
        ("0 |-x:add 1-| |-x:read []-|", "set", "ended before"),
        ("0 |-x:read [7]-|", "set", "holds an element that nobody added"),
    ],
)
def test_a_direct_proof_says_what_went_wrong(drawing: str, model: str, sentence: str) -> None:
    report = check(drawn(drawing), model=model, paranoid=True)
    assert report.outcome is Outcome.VIOLATION
    assert sentence in report.sentence
    assert report.keys[0].method.value == "direct"
