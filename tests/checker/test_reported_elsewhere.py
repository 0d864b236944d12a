"""Bugs that users reported to tools of this kind, each as a test of ours (BRnnn: ``reports.jsonl``)."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from checker import Budget, History, MalformedHistory, Model, Operation, Outcome, Report, check, formats
from checker.testing import drawn, thrown


def lines(*events: dict[str, Any]) -> History:
    return formats.read("\n".join(map(json.dumps, events)).encode() + b"\n", name="h.jsonl")


def judged(drawing: str, **options: Any) -> Report:
    return check(drawn(drawing), paranoid=True, **options)


@pytest.mark.parametrize(("reads", "outcome"), [([0, 0, 1, 1], "pass"), ([0, 1, 0], "violation")])
def test_br001_an_unknown_write_takes_effect_once_at_any_later_time_or_never(
    reads: list[int], outcome: str
) -> None:
    later = " ".join(f"|-r {value}-|" for value in reads)
    assert judged(f"0 |-w 1->\n1           {later}", initial=0).outcome.value == outcome


def test_br003_reads_may_flip_between_values_of_unknown_writes_and_the_linearization_says_which() -> (
    None
):
    drawing = "0 |-w 4->\n1 |-w 0->\n2 |-w 4->\n3           |-r 0-| |-r 4-| |-r 0-| |-r 4-|"
    report = judged(drawing, initial=0)
    assert report.outcome is Outcome.PASS
    order = report.keys[0].linearization()
    assert order is not None
    history = drawn(drawing)
    assert [str(history[i]) for i in order] == [
        "read -> 0",
        "write 4",
        "read -> 4",
        "write 0",
        "read -> 0",
        "write 4",
        "read -> 4",
    ]


def test_br004_the_blocking_operation_and_the_possible_states_are_named() -> None:
    report = judged("0 |-w 1-|  |-cas 2 3-|\n1            |-w 1-|", initial=0)
    assert report.violation is not None
    assert "cas 2 -> 3" in report.sentence


def test_br011_a_reentrant_mutex_knows_its_owner_by_the_process() -> None:
    drawing = "0 |-acquire-| |-acquire-| |-release-| |-release-|"
    assert judged(drawing, model="reentrant-mutex").outcome is Outcome.PASS
    assert (
        judged("0 |-acquire-|\n1                |-release-|", model="reentrant-mutex").violation
        is not None
    )


def test_br014_br022_every_bad_history_can_be_drawn() -> None:
    dice = random.Random("draw")
    for _ in range(400):
        report = check(thrown(dice, operations_max=8), model="cas-register")
        if report.violation is not None:
            assert len(report.violation.drawing.splitlines()) == len(report.violation.operations)


def test_br022_odd_numbers_of_events_and_sparse_indices_are_fine() -> None:
    history = lines(
        {"process": 0, "type": "invoke", "f": "write", "value": 1, "index": 10},
        {"process": 1, "type": "invoke", "f": "read", "index": 20},
        {"process": 1, "type": "ok", "f": "read", "value": 2, "index": 30},
    )
    report = check(history)
    assert report.violation is not None
    assert report.violation.drawing


def test_br019_a_violation_comes_with_the_few_operations_and_where_it_breaks() -> None:
    report = judged("0 |-w 1-| |-w 2-| |-w 1-| |-w 3-|\n1                                   |-r 1-|")
    assert report.violation is not None
    assert report.violation.states == ("3: cannot read 1 from 3",)


def test_br021_the_wording_says_what_was_tried_and_what_was_there() -> None:
    report = judged('0 |-x:put "a"-| |-x:put "b"-| |-x:get "a"-|', model="kv")
    assert report.violation is not None
    assert report.violation.states == ("b: get cannot return a, the value is b",)


def many_unknown(count: int, size: int) -> History:
    events: list[dict[str, Any]] = [
        {"process": 1_000_000 + number, "type": "invoke", "f": "write", "value": number + 1}
        for number in range(count)
    ]
    for number in range(size):
        f, value = ("write", -1 - number) if number % 2 == 0 else ("read", -number)
        events.append({"process": 0, "type": "invoke", "f": f, "value": value if f == "write" else None})
        events.append({"process": 0, "type": "ok", "f": f, "value": value})
    return lines(*events)


def test_br023_half_of_the_operations_unknown_is_no_trouble_and_the_drawing_stays_small() -> None:
    began = time.monotonic()
    history = many_unknown(1_500, 1_500)
    assert check(history, paranoid=True).outcome is Outcome.PASS
    events = [
        *({"process": op.process, "type": "invoke", "f": op.f, "value": op.value} for op in history)
    ]
    stale = lines(
        *events[:1500], *({**e, "process": 7, "type": t} for e in events[-3:] for t in ("invoke", "ok"))
    )
    report = check(stale)
    assert report.violation is not None
    assert len(report.violation.drawing) < 4_000
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("model", ["register", "cas-register"])
def test_br034_unknown_writes_that_nobody_read_cost_nothing(model: str) -> None:
    began = time.monotonic()
    assert check(many_unknown(40, 1_000), model=model).outcome is Outcome.PASS
    assert time.monotonic() - began < 2


def test_br027_thirty_unknown_writes_and_reads_stay_within_memory() -> None:
    report = check(many_unknown(30, 200), budget=Budget(memory_bytes=200 << 20))
    assert report.outcome is Outcome.PASS


class Revisions(Model):
    """A hint from the server narrows the choice of a model, it never replaces real time."""

    name = "revisions"

    def initial(self, value: Any) -> int:
        del value
        return 1

    def step(self, state: Any, op: Operation) -> Any:
        revision = op.value
        if op.f == "put":
            return (state + 1,) if revision in {None, state + 1} else ()
        return (state,) if revision == state else ()


@pytest.mark.parametrize(
    ("drawing", "outcome"),
    [
        ("0 |-put 3-|\n1 |-put 2-|\n2 |-put 4-|\n3 |-put 5-|\n4            |-get 5-|", "pass"),
        ("0 |-put 3-| |-put 2-|", "violation"),
    ],
)
def test_br024_a_revision_may_order_what_real_time_leaves_open_and_no_more(
    drawing: str, outcome: str
) -> None:
    assert judged(drawing, model=Revisions()).outcome.value == outcome


def test_br029_one_bad_key_of_ten_makes_the_whole_bad() -> None:
    keys = " ".join(f"|-k{n}:w 1-| |-k{n}:r {1 if n < 9 else 2}-|" for n in range(10))
    assert judged(f"0 {keys}", all_keys=True).outcome is Outcome.VIOLATION


def test_br030_nothing_is_patched_so_the_raw_history_decides() -> None:
    drawing = "0 |-w 1-| |-w! 2-|  |-r 1-|"
    assert judged(drawing).outcome is Outcome.PASS
    assert judged("0 |-w 1-| |-w! 2-|  |-r 2-|").outcome is Outcome.VIOLATION


def test_br031_a_return_before_its_call_is_refused() -> None:
    with pytest.raises(MalformedHistory, match="before the line above"):
        lines(
            {"process": 0, "type": "invoke", "f": "write", "value": 1, "time_ns": 9},
            {"process": 0, "type": "ok", "f": "write", "value": 1, "time_ns": 4},
        )


def test_br032_an_unknown_delete_stays_open() -> None:
    drawing = "0 |-w 1-| |-delete->\n1                      |-r 1-| |-r nil-|"
    assert judged(drawing).outcome is Outcome.PASS
    assert judged(drawing + " |-r 1-|").outcome is Outcome.VIOLATION


def test_br036_failed_operations_are_counted_in_a_note() -> None:
    report = judged("0 |-w! 1-| |-w! 2-| |-w! 3-| |-w! 4-| |-w! 5-|\n1 |-r nil-|")
    assert report.notes == ("5 failed operations were left out: they certainly did not happen",)


def test_br037_the_completion_s_value_wins_over_a_guess_and_an_index_comes_once() -> None:
    guessed = lines(
        {"process": 0, "type": "invoke", "f": "read", "value": 9},
        {"process": 0, "type": "ok", "f": "read", "value": None},
    )
    assert check(guessed).outcome is Outcome.PASS
    with pytest.raises(MalformedHistory, match="index 0 after index 0"):
        lines(
            {"process": 0, "type": "invoke", "f": "read", "index": 0},
            {"process": 1, "type": "invoke", "f": "read", "index": 0},
        )


def test_br038_a_read_from_nowhere_is_its_own_finding() -> None:
    report = judged("0 |-r 2-|\n1            |-w 2-| |-w 3-|")
    assert "before" in report.sentence or "nothing wrote" in report.sentence
    assert "saw a value that nothing wrote" in judged("0 |-r 9-|\n1            |-w 2-| |-w 3-|").sentence


def test_br040_a_nil_read_of_a_list_is_the_empty_list() -> None:
    drawing = "0 |-x:r nil-| |-x:append 3-| |-x:append 4-| |-x:r [3,4]-|"
    assert judged(drawing, model="list-append").outcome is Outcome.PASS


def test_br044_any_value_can_be_told_of() -> None:
    odd: Any = {1: None, (1, 2): float("nan"), "ключ": b"\x00"}
    history = drawn("0 |-w 1-| |-r 2-|")
    history.value[1] = odd
    report = check(history)
    assert report.violation is not None
    assert "\x00" not in report.violation.drawing
    assert "\x1b" not in str(drawn("0 |-w a-|")[0])


def test_control_characters_in_values_do_not_reach_the_terminal() -> None:
    value = "\x1b[2J\n<script>"
    history = lines(
        {"process": "\x1b[0m", "type": "invoke", "f": "read", "key": value},
        {"process": "\x1b[0m", "type": "ok", "f": "read", "key": value, "value": value},
    )
    report = check(history)
    assert report.violation is not None
    told = report.sentence + report.violation.drawing
    assert "\x1b" not in told
    assert len(report.violation.drawing.splitlines()) == 1


def test_no_operation_at_all_is_not_exercised_and_nothing_acknowledged_is_judged_with_a_note() -> None:
    assert check(lines()).outcome is Outcome.NOT_EXERCISED
    report = check(lines({"process": 0, "type": "invoke", "f": "write", "value": 1}))
    assert report.outcome is Outcome.PASS
    assert any("acknowledged" in note for note in report.notes)
    unread = check(drawn("0 |-w 1-| |-r->"))
    assert any("no read was acknowledged" in note for note in unread.notes)
