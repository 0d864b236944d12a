"""Every algorithm against one that tries all orders, on histories thrown with seeded dice."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from checker import NEVER, CasRegister, History, Outcome, check
from checker.conventions import Ties
from checker.pairing import Line, pair
from checker.part import Part, divide
from checker.search import brute, generic
from checker.search import register as register_search
from checker.testing import thrown
from checker.verdict import worst
from checker.zones.decide import Conflict, Fits, Unsure, decide
from checker.zones.lower import lower
from checker.zones.witness import linearization

if TYPE_CHECKING:
    from checker.search.result import Found, Searching

SOAK_HISTORIES = int(os.environ.get("LANTERN_SOAK_HISTORIES", "1000000"))


def part_of(history: History) -> Part:
    model = CasRegister(history.conventions)
    (share,) = divide(history, model, None, history.spans(Ties.CONCURRENT))
    return share.part()


def to_the_end(searching: Searching) -> Found:
    while True:
        try:
            next(searching)
        except StopIteration as done:
            found: Found = done.value
            return found


def fits(part: Part, order: list[int]) -> bool:
    """Replay ``order``: everything certain, once, in real time, as the model has it."""
    state: object = None
    latest = -NEVER
    for i in order:
        after = part.model.step(state, part.operations[i])
        if not after:
            return False
        (state,) = after
        latest = max(latest, part.calls[i])
        if part.returns[i] < latest:
            return False
    certain = {i for i, back in enumerate(part.returns) if back != NEVER}
    return certain <= set(order) and len(set(order)) == len(order)


def compare(seed: str, count: int) -> Counter[str]:
    dice = random.Random(seed)
    seen: Counter[str] = Counter()
    for number in range(count):
        history = thrown(dice)
        part = part_of(history)
        args = (part.operations, part.start, part.calls, part.returns)
        truth = brute.linearizable(part.model, *args)
        (share,) = divide(history, part.model, None, history.spans(Ties.CONCURRENT))
        lowered = lower(part)
        where = f"seed {seed!r}, history {number}"
        for name, searching in (
            ("generic", generic.search(part.model, *args)),
            ("register", register_search.search(lowered)),
        ):
            order = to_the_end(searching).order
            assert (order is not None) is truth, f"{name} is wrong: {where}"
            assert order is None or fits(part, order), f"{name} has a bad witness: {where}"
        decision = decide(lowered)
        match decision:
            case Fits(blocks):
                assert truth, f"zones say it fits: {where}"
                assert fits(part, linearization(lowered, blocks)), f"zones have a bad witness: {where}"
            case Conflict():
                assert not truth, f"zones see a conflict: {where}"
            case Unsure() | None:
                pass
        assert type(decide(share.lowered()[0])) is type(decision), f"columns and objects differ: {where}"
        seen[f"{type(decision).__name__} {truth}"] += 1
    return seen


@pytest.mark.timeout(120)
def test_fifty_thousand_small_histories_get_the_verdict_of_brute_force() -> None:
    seen = compare("small", 50_000)
    assert seen["Fits True"] > 10_000
    assert seen["Conflict False"] > 5_000
    assert seen["NoneType True"] > 1_000
    assert seen["NoneType False"] > 300
    unsure = seen["Unsure True"] + seen["Unsure False"]
    assert 0 < unsure < 1_000, "zones should leave little to the search"


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_million_small_histories_get_the_verdict_of_brute_force() -> None:
    seen = compare("soak", SOAK_HISTORIES)
    assert sum(seen.values()) == SOAK_HISTORIES


def merged(histories: list[History]) -> History:
    """Return one history in which each of ``histories`` is a key of its own."""
    events: list[tuple[int, int, Line]] = []
    for key, history in enumerate(histories):
        for op in history:
            process = f"{key}/{op.process}"
            asked = None if op.f == "read" else op.value
            events.append(
                (
                    op.call_ns,
                    0,
                    Line(
                        process=process, type="invoke", f=op.f, key=key, value=asked, time_ns=op.call_ns
                    ),
                )
            )
            if op.return_ns is not None:
                line = Line(
                    process=process,
                    type=op.outcome.value,
                    f=op.f,
                    key=key,
                    value=op.value,
                    time_ns=op.return_ns,
                    error=op.error,
                )
                events.append((op.return_ns, 1, line))
    events.sort(key=lambda event: event[:2])
    return pair([(n, line) for n, (_, _, line) in enumerate(events, 1)], name="merged")


@pytest.mark.timeout(120)
def test_many_small_keys_at_once_get_the_verdicts_that_each_gets_alone() -> None:
    dice = random.Random("batch")
    seen: Counter[str] = Counter()
    for _ in range(2_000):
        bad = dice.choice((0.0, 0.0, 1.0))
        histories: list[History] = []
        while len(histories) < 6:
            history = thrown(dice, repeats=0.02)
            outcome = check(history, model="cas-register", explain=False).outcome
            if outcome is Outcome.PASS or dice.random() < bad:
                histories.append(history)
        alone = worst(check(each, model="cas-register", explain=False).outcome for each in histories)
        whole = merged(histories)
        report = check(whole, model="cas-register")
        assert report.outcome is alone
        assert check(whole, model="cas-register", all_keys=True, paranoid=True).outcome is alone
        if report.violation is not None:
            key = report.violation.key
            assert check(histories[key], model="cas-register").outcome is Outcome.VIOLATION
        else:
            orders = [key.linearization() or () for key in report.keys]
            assert any(orders)
        seen[f"{alone.value} {report.keys[0].method.value} {report.keys[0].seconds == 0}"] += 1
    assert seen["pass zones True"] > 500
    assert sum(many for name, many in seen.items() if name.startswith("violation")) > 300


def certificates(seed: str, count: int) -> Counter[int]:
    dice = random.Random(seed)
    sizes: Counter[int] = Counter()
    while sum(sizes.values()) < count:
        history = thrown(dice, operations_max=dice.choice((9, 14)))
        report = check(history, model="cas-register", paranoid=True)
        if report.outcome is Outcome.VIOLATION:
            assert report.violation is not None
            assert report.violation.operations
            assert "no order of these" not in report.violation.sentence
            sizes[len(report.violation.operations)] += 1
    return sizes


@pytest.mark.timeout(120)
def test_proofs_are_small_and_stand_up_to_brute_force() -> None:
    sizes = certificates("proofs", 4_000)
    small = sum(many for size, many in sizes.items() if size <= 8)
    assert small >= 0.99 * sizes.total()


@pytest.mark.timeout(120)
def test_no_write_that_a_proof_leaves_out_could_have_rescued_it() -> None:
    dice = random.Random("rescue")
    proofs = 0
    while proofs < 1_500:
        history = thrown(dice)
        report = check(history, model="cas-register")
        if report.violation is None:
            continue
        proofs += 1
        (share,) = divide(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
        proof = {op.index for op in report.violation.operations}
        others = {op.index for op in share.part().operations if op.f != "read"} - proof
        for added in (*({other} for other in others), others):
            part = share.part(sorted(proof | added))
            fits_now = brute.linearizable(part.model, part.operations, None, part.calls, part.returns)
            assert not fits_now, f"{report.sentence}: not with {[str(history[i]) for i in added]}"


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_twenty_thousand_proofs_are_small_and_stand_up_to_brute_force() -> None:
    sizes = certificates("many proofs", 20_000)
    small = sum(many for size, many in sizes.items() if size <= 8)
    assert small >= 0.99 * sizes.total()
