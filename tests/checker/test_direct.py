"""Direct decisions for queues and lists against brute force, on thrown histories."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from checker import NEVER, History, Outcome, check, direct
from checker.conventions import Ties
from checker.models import MODELS
from checker.pairing import Line, pair
from checker.part import Part, divide
from checker.search import brute
from checker.testing import drawn


def thrown(dice: random.Random, *, whole: bool) -> History:
    """Return a small history of a queue; with ``whole``, of a list that is read whole."""
    clients, span, gap = dice.randint(1, 4), dice.choice((3, 6, 12)), dice.randint(0, 1)
    unknown = dice.choice((0.0, 0.0, 0.2))
    free = [0] * clients
    ops: list[list[Any]] = []
    values = 0
    for _ in range(dice.randint(1, 8)):
        client = dice.randrange(clients)
        call = free[client] + dice.randint(0, 3)
        back = call + dice.randint(0, span)
        free[client] = back + gap
        puts = dice.random() < 0.5
        values += puts
        ops.append([call, back, puts, values if puts else None, dice.random() < unknown])
    fill(dice, ops, values, whole=whole)
    put, take = ("append", "read") if whole else ("enq", "deq")
    events: list[tuple[int, int, Line]] = []
    for process, (call, back, puts, value, open_end) in enumerate(ops):
        f = put if puts else take
        asked = value if puts else None
        events.append((call, 0, Line(process=process, type="invoke", f=f, value=asked, time_ns=call)))
        if not open_end:
            events.append((back, 1, Line(process=process, type="ok", f=f, value=value, time_ns=back)))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="thrown")


def fill(dice: random.Random, ops: list[list[Any]], values: int, *, whole: bool) -> None:
    """Decide what was taken or read: simulated, perhaps with one answer spoiled, or blindly."""
    takes = [op for op in ops if not op[2]]
    blind = dice.random() < 0.25
    held: list[int] = []
    for _, i in sorted((dice.uniform(op[0], op[1]), i) for i, op in enumerate(ops)):
        op = ops[i]
        happens = not op[4] or dice.random() < 0.5
        if op[2]:
            held += [op[3]] * happens
        elif whole:
            op[3] = list(held)
        elif happens:
            op[3] = held.pop(0) if held else None
    spoiled = takes if blind else [dice.choice(takes)] if takes and dice.random() < 0.5 else []
    for op in spoiled:
        if whole:
            op[3] = dice.sample(range(1, values + 1), dice.randint(0, values))
        else:
            op[3] = dice.choice((None, *range(1, values + 2)))


def part_of(history: History, model: str) -> Part:
    chosen = MODELS[model]()
    (share,) = divide(history, chosen, chosen.initial(None), history.spans(Ties.CONCURRENT))
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


@pytest.mark.parametrize(("model", "count"), [("fifo-queue", 20_000), ("list-append", 10_000)])
def test_a_direct_decision_is_that_of_brute_force(model: str, count: int) -> None:
    dice = random.Random(model)
    seen: Counter[str] = Counter()
    for number in range(count):
        part = part_of(thrown(dice, whole=model == "list-append"), model)
        truth = brute.linearizable(part.model, part.operations, part.start, part.calls, part.returns)
        decision = direct.decide(part)
        match decision:
            case direct.Ordered(order):
                assert truth, number
                assert fits(part, order), number
            case direct.Impossible(positions):
                proof = part.subset(positions)
                args = (proof.operations, proof.start, proof.calls, proof.returns)
                assert not truth, number
                assert not brute.linearizable(proof.model, *args), number
            case None:
                pass
        seen[f"{type(decision).__name__} {truth}"] += 1
    assert seen["Ordered True"] > count / 4
    assert seen["Impossible False"] > count / 10
    assert seen["NoneType True"] + seen["NoneType False"] < count / 10


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
        ("0 |-x:append 1-| |-x:r []-|", "list-append", "ended too early"),
        (
            "0 |-x:append 1-| |-x:append 2-| |-x:r [1,2]-| |-x:r [2]-|",
            "list-append",
            "saw what is no beginning",
        ),
    ],
)
def test_a_direct_proof_says_what_went_wrong(drawing: str, model: str, sentence: str) -> None:
    report = check(drawn(drawing), model=model, paranoid=True)
    assert report.outcome is Outcome.VIOLATION
    assert sentence in report.sentence
    assert report.keys[0].method.value == "direct"
