"""Every algorithm against one that tries all orders, on histories thrown with seeded dice."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from checker import MODELS, NEVER, CasRegister, History, Outcome, check, formats
from checker.conventions import Ties
from checker.search import brute, generic
from checker.search import register as register_search
from checker.search.gone import gone
from checker.search.numbered import numbered
from checker.search.walk import Lost, order, walk
from checker.shares import Shares, rows, unknowns, whole
from checker.testing import crowded, denied, drawn, merged, spelled, starved, thrown
from checker.verdict import worst
from checker.zones.decide import Conflict, Fits, Unsure, decide
from checker.zones.lower import lower, sided
from checker.zones.witness import linearization

if TYPE_CHECKING:
    from types import ModuleType

    from checker.part import Part
    from checker.search.result import Found, Searching

SOAK_HISTORIES = int(os.environ.get("LANTERN_SOAK_HISTORIES", "1000000"))
SOAK_PARTS = 10
"""Each prints its count as it ends: what was interrupted has still told something."""


def part_of(history: History) -> Part:
    model = CasRegister(history.conventions)
    (share,) = Shares(history, model, None, history.spans(Ties.CONCURRENT))
    return share.part()


def to_the_end(searching: Searching, *, configurations_max: int | None = None) -> Found | None:
    spent = 0
    while configurations_max is None or spent < configurations_max:
        try:
            spent += next(searching)[0]
        except StopIteration as done:
            found: Found = done.value
            return found
    return None


def fits(part: Part, order: list[int]) -> bool:
    """Replay ``order``: everything certain, once, in real time, as the model has it."""
    state: object = part.start
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
        (share,) = Shares(history, part.model, None, history.spans(Ties.CONCURRENT))
        lowered = lower(part)
        where = f"seed {seed!r}, history {number}"
        for name, searching in (
            ("generic", generic.search(part.model, *args)),
            ("register", register_search.search(lowered)),
            ("branching", register_search.branching(numbered(sided(lowered)))),
        ):
            found = to_the_end(searching)
            assert found is not None
            order = found.order
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
        if gone(sided(lowered)) is not None:
            assert not truth, f"nothing is gone: {where}"
            seen[f"{type(decision).__name__} {truth}, gone"] += 1
        else:
            seen[f"{type(decision).__name__} {truth}"] += 1
    return seen


@pytest.mark.timeout(300)
def test_fifty_thousand_small_histories_get_the_verdict_of_brute_force() -> None:
    seen = compare("small", 50_000)
    assert seen["Fits True"] > 10_000
    assert seen["Conflict False, gone"] > 5_000
    assert seen["Conflict False"] > 300
    assert seen["NoneType True"] > 1_000
    assert seen["NoneType False, gone"] > 300
    assert seen["NoneType False"] > 100
    unsure = seen["Unsure True"] + seen["Unsure False"]
    assert 0 < unsure < 1_000, "zones should leave little to the search"


def compare_searches(seed: str, count: int) -> Counter[str]:
    """Compare on histories that are long enough for what a search remembers to matter."""
    dice = random.Random(seed)
    seen: Counter[str] = Counter()
    for number in range(count):
        history = starved(dice) if number % 2 else crowded(dice)
        part = part_of(history)
        searching = generic.search(part.model, part.operations, part.start, part.calls, part.returns)
        plain = to_the_end(searching, configurations_max=20_000)
        if plain is None:
            seen["too hard"] += 1
            continue
        both = sided(lower(part))
        clever = to_the_end(register_search.branching(numbered(both)))
        assert clever is not None
        assert (clever.order is None) is (plain.order is None), f"seed {seed!r}, history {number}"
        assert clever.order is None or fits(part, clever.order), f"seed {seed!r}, history {number}"
        late = gone(both)
        assert late is None or clever.order is None, f"nothing is gone: seed {seed!r}, history {number}"
        seen["pass" if clever.order else "violation" if late is None else "gone"] += 1
    return seen


@pytest.mark.timeout(300)
def test_what_the_register_search_remembers_changes_no_verdict() -> None:
    seen = compare_searches("crowded", 6_000)
    assert seen["pass"] > 500
    assert seen["gone"] > 500
    assert seen["violation"] > 100


@pytest.mark.parametrize("module", [generic, register_search])
def test_a_search_may_pause_at_any_step_the_last_one_too(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLICE", 1)
    dice = random.Random("pauses")
    for _ in range(300):
        part = part_of(thrown(dice))
        args = (part.operations, part.start, part.calls, part.returns)
        of_all = generic.search(part.model, *args)
        found = to_the_end(of_all if module is generic else register_search.search(lower(part)))
        assert found is not None
        assert (found.order is not None) is brute.linearizable(part.model, *args)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_a_million_small_histories_get_the_verdict_of_brute_force(
    part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = compare(f"soak {part}", SOAK_HISTORIES // SOAK_PARTS)
    assert seen.total() == SOAK_HISTORIES // SOAK_PARTS
    tell(capsys, f"{seen.total()} small histories agree with brute force", seen)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_what_the_register_search_remembers_changes_no_verdict_in_many(
    part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = compare_searches(f"soak {part}", SOAK_HISTORIES // 10 // SOAK_PARTS)
    tell(capsys, f"{seen.total()} crowded histories agree with the generic search", seen)


def tell(capsys: pytest.CaptureFixture[str], what: str, seen: Counter[str]) -> None:
    """Print what was counted, whoever captures the output."""
    with capsys.disabled():
        print(f"\n{what}: {', '.join(f'{name} {many}' for name, many in sorted(seen.items()))}")  # noqa: T201 - the count is the result


def along(shares: Shares) -> tuple[int, ...] | Lost:
    """Return where a walk along a history's only key leads, as indices into the history."""
    lowered = whole(shares)
    columns = rows(shares, lowered)
    (way,) = walk(columns, lowered.start, lambda place: unknowns(shares, place, lowered))
    return way if isinstance(way, Lost) else order(columns, way)


def compare_walks(seed: str, count: int) -> Counter[str]:
    dice = random.Random(seed)
    seen: Counter[str] = Counter()
    for number in range(count):
        history = thrown(dice, repeats=0.6) if number % 8 else starved(dice)
        part = part_of(history)
        where = f"seed {seed!r}, history {number}"
        found = along(Shares(history, part.model, None, history.spans(Ties.CONCURRENT)))
        if found is Lost.PERHAPS:
            seen["lost"] += 1
            continue
        if not isinstance(found, Lost):
            indices = {op.index: i for i, op in enumerate(part.operations)}
            assert fits(part, [indices[at] for at in found]), f"a bad witness: {where}"
        args = (part.operations, part.start, part.calls, part.returns)
        truth = to_the_end(generic.search(part.model, *args))
        assert truth is not None
        fit = not isinstance(found, Lost)
        assert (truth.order is not None) is fit, f"the walk is wrong: {where}"
        if number % 8:
            assert brute.linearizable(part.model, *args) is fit, where
        seen["fits" if fit else "does not"] += 1
    return seen


@pytest.mark.timeout(300)
def test_a_walk_that_comes_to_an_end_agrees_with_brute_force() -> None:
    seen = compare_walks("walks", 6_000)
    assert seen["fits"] > 3_000
    assert seen["does not"] > 1_000
    assert seen["lost"] > 200


def test_a_walk_along_strings_agrees_with_brute_force() -> None:
    dice = random.Random("strings")
    seen: Counter[str] = Counter()
    for number in range(3_000):
        history = spelled(dice)
        model = MODELS["kv"](history.conventions)
        (share,) = Shares(history, model, "", history.spans(Ties.CONCURRENT))
        part = share.part()
        truth = brute.linearizable(model, part.operations, "", part.calls, part.returns)
        report = check(history, model="kv", paranoid=True, explain=bool(number % 2))
        assert report.outcome is (Outcome.PASS if truth else Outcome.VIOLATION), number
        seen[f"{report.outcome.value} {report.keys[0].method.value}"] += 1
    assert seen["pass walk"] > 1_500
    assert seen["violation walk"] > 100


def test_a_search_of_strings_agrees_with_brute_force() -> None:
    dice = random.Random("searched strings")
    model = MODELS["kv"]()
    seen: Counter[bool] = Counter()
    for number in range(3_000):
        history = spelled(dice, unknown=0.3 if number % 2 else 0.0)
        (share,) = Shares(history, model, "", history.spans(Ties.CONCURRENT))
        part = share.part()
        args = (part.operations, "", part.calls, part.returns)
        found = to_the_end(generic.search(model, *args))
        assert found is not None
        assert found.order is None or fits(part, found.order), number
        assert (found.order is not None) is brute.linearizable(model, *args), number
        seen[found.order is not None] += 1
    assert min(seen.values()) > 300


def test_a_walk_gives_up_where_too_much_overlaps() -> None:
    many = 500
    lines = [
        json.dumps({"type": kind, "process": i, "f": "write", "key": 0, "value": i, "time_ns": stamp})
        for stamp, kind in enumerate(("invoke", "ok"))
        for i in range(many)
    ]
    history = formats.read("\n".join(lines).encode(), name="h")
    shares = Shares(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
    assert along(shares) is Lost.PERHAPS


def test_the_write_that_a_proof_begins_with_stays_in_it() -> None:
    events = [
        (0, "cas", [None, 1], 0, 2),
        (1, "write", 1, 2, 5),
        (2, "read", None, 6, 9),
        (3, "read", 4, 11, 13),
        (4, "read", 3, 14, 14),
        (5, "write", 2, 17, 17),
        (6, "write", 3, 20, 23),
        (7, "cas", [2, 4], 25, 28),
        (8, "read", 2, 29, 32),
        (9, "write", None, 33, 36),
        (10, "read", 2, 39, 41),
    ]
    lines = [
        (stamp, {"type": kind, "process": process, "f": f, "key": "x", "value": value, "time_ns": stamp})
        for process, f, value, call, back in events
        for kind, stamp in (("invoke", call), ("ok", back))
    ]
    lines.sort(key=lambda line: (line[0], line[1]["type"] == "ok"))
    told = "\n".join(json.dumps(line) for _, line in lines).encode()
    report = check(formats.read(told, name="h"), model="cas-register", paranoid=True)
    assert report.violation is not None
    assert {op.f for op in report.violation.operations} >= {"write", "read"}


@pytest.mark.timeout(300)
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
    assert seen["pass walk True"] > 500
    assert sum(many for name, many in seen.items() if name.startswith("violation")) > 300


@pytest.mark.timeout(300)
@pytest.mark.parametrize("apart", [True, False])
def test_many_keys_of_reads_and_writes_at_once_get_the_verdict_that_each_gets_alone(
    apart: bool,  # noqa: FBT001 - a parameter
) -> None:
    dice = random.Random(f"many {apart}")
    seen: Counter[str] = Counter()
    for _ in range(2_000):
        whole = merged([thrown(dice, repeats=0.02, cas=(0.0,)) for _ in range(dice.randint(2, 4))])
        if apart:  # no value is written on two keys
            keys, values = whole.key, whole.value
            values[:] = [v and 100 * k + v for k, v in zip(keys, values, strict=True)]
        reads = [i for i, op in enumerate(whole) if op.f == "read"]
        if reads and dice.random() < 0.2:
            whole.value[dice.choice(reads)] = dice.choice([*whole.value, 999])
        alone = check(whole, model="register", all_keys=True, paranoid=True)
        bad = {key.key for key in alone.keys if key.outcome is Outcome.VIOLATION}
        report = check(whole, model="register", all_keys=dice.random() < 0.3)
        assert report.outcome is alone.outcome
        assert report.violation is None or report.violation.key in bad
        seen[report.outcome.value] += 1
    assert min(seen.values()) > 300


def search_fits(history: History) -> bool:
    """Return whether the register search finds an order, as brute force does."""
    part = part_of(history)
    found = to_the_end(register_search.branching(numbered(sided(lower(part)))))
    assert found is not None
    assert found.order is None or fits(part, found.order)
    truth = brute.linearizable(part.model, part.operations, part.start, part.calls, part.returns)
    assert truth is (found.order is not None)
    return truth


def test_junk_is_kept_for_the_failed_cas_that_a_write_of_its_value_would_not_help() -> None:
    drawing = """
    0 |-w 2-|   |---r 2---|        |-w 1-| |-cas! 1 2-|
    1             |-cas! 2 1-|
    2 |-w 3->
    3 |-w 1->
    """
    assert search_fits(drawn(drawing))


def test_a_write_that_serves_a_failed_cas_and_then_a_read_leaves_the_junk_for_the_next_one() -> None:
    drawing = """
    0 |-w 1-|  |-cas! 1 7-| |-r 2-|  |-w 1-|  |-cas! 1 7-|
    1 |-w 2->
    2 |-w 3->
    """
    assert search_fits(drawn(drawing))


@pytest.mark.timeout(120)
def test_to_whom_the_little_help_there_is_goes_changes_no_verdict() -> None:
    dice = random.Random("denied")
    seen = Counter(search_fits(denied(dice)) for _ in range(6_000))
    assert min(seen.values()) > 500


def test_a_key_with_a_value_is_no_initial_value() -> None:
    calls = [("list", "write", 1), ("b", "write", 1), ("list", "read", 5)]
    lines = [
        json.dumps({"type": kind, "process": i, "f": f, "key": key, "value": value})
        for kind in ("invoke", "ok")
        for i, (key, f, value) in enumerate(calls)
    ]
    history = formats.read("\n".join(lines).encode(), name="h")
    report = check(history, model="register", initial=[5])
    assert report.violation is not None
    assert report.violation.key == "list"


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


@pytest.mark.timeout(300)
def test_proofs_are_small_and_stand_up_to_brute_force() -> None:
    sizes = certificates("proofs", 4_000)
    small = sum(many for size, many in sizes.items() if size <= 8)
    assert small >= 0.99 * sizes.total()


@pytest.mark.timeout(300)
def test_no_write_that_a_proof_leaves_out_could_have_rescued_it() -> None:
    dice = random.Random("rescue")
    proofs = 0
    while proofs < 1_500:
        history = thrown(dice)
        report = check(history, model="cas-register")
        if report.violation is None:
            continue
        proofs += 1
        (share,) = Shares(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
        proof = {op.index for op in report.violation.operations}
        others = {op.index for op in share.part().operations if op.f != "read"} - proof
        for added in (*({other} for other in others), others):
            part = share.part(sorted(proof | added))
            fits_now = brute.linearizable(part.model, part.operations, None, part.calls, part.returns)
            assert not fits_now, f"{report.sentence}: not with {[str(history[i]) for i in added]}"


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_twenty_thousand_proofs_are_small_and_stand_up_to_brute_force(
    part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = certificates(f"proofs {part}", SOAK_HISTORIES // 50 // SOAK_PARTS)
    small = sum(many for size, many in sizes.items() if size <= 8)
    assert small >= 0.99 * sizes.total()
    counted = Counter({f"{size:2} operations": many for size, many in sizes.items()})
    tell(capsys, f"{sizes.total()} proofs stand up to brute force", counted)
