"""What a proof shows of many operations, and what it says of values written more than once."""

from __future__ import annotations

import json

import pytest

from checker import History, check, formats

OPEN = 60


def history(rows: list[tuple[int, str, str, object]]) -> History:
    lines = (
        json.dumps({"process": process, "type": kind, "f": f, "value": value})
        for process, kind, f, value in rows
    )
    return formats.read("\n".join(lines).encode(), name="h", format="jsonl")


def written(process: int, value: int) -> list[tuple[int, str, str, object]]:
    return [(process, "invoke", "write", value), (process, "ok", "write", value)]


def seen(process: int, value: int) -> list[tuple[int, str, str, object]]:
    return [(process, "invoke", "read", None), (process, "ok", "read", value)]


@pytest.mark.parametrize("explain", ["search", "counter"])
def test_operations_that_nobody_saw_end_do_not_crowd_out_the_one_that_is_wrong(explain: str) -> None:
    if explain == "search":
        opened: list[tuple[int, str, str, object]] = [
            (100 + i, "invoke", "cas", [7, 8]) for i in range(OPEN)
        ]
        rows = [*written(0, 1), *written(0, 7), *opened, *written(0, 1), *written(0, 2), *seen(1, 7)]
    else:
        opened = [(100 + i, "invoke", "add", 5) for i in range(OPEN)]
        rows = [*opened, (0, "invoke", "read", None), (0, "ok", "read", 9)]
    violation = check(history(rows)).violation
    assert violation is not None
    wrong = {"search": "read -> 7", "counter": "read -> 9"}[explain]
    assert violation.sentence.startswith(wrong)
    assert wrong in violation.drawing
    assert len(violation.operations) > 60
    assert len(violation.drawing.splitlines()) == 41


def test_writes_of_a_value_that_were_used_up_are_named() -> None:
    first, second = written(0, 1), written(2, 1)
    rows = [first[0], second[0], first[1], second[1], (3, "invoke", "write", 2)]
    found = check(history([*rows, *seen(1, 1), *seen(1, 2), *seen(1, 1)])).violation
    assert found is not None
    assert found.sentence.startswith("read -> 1 (process 1, line 10) fits nowhere")
    assert "; 2 writes of 1 were used up" in found.sentence


def test_a_stale_read_of_a_value_written_twice_is_proved_by_what_came_right_before() -> None:
    rows = [*written(0, 1), *seen(1, 1), *written(0, 2), *written(2, 1), *seen(1, 1)]
    found = check(history([*rows, *written(0, 3), *written(0, 2), *seen(1, 1)])).violation
    assert found is not None
    assert [str(op) for op in found.operations] == ["write 2", "read -> 1"]
    assert found.operations[1].call_line == 15


def test_a_value_that_a_cas_could_still_bring_is_not_called_used_up() -> None:
    rows = [*written(0, 1), *written(0, 2), *written(0, 1), *written(0, 2)]
    rows += [(3, "invoke", "cas", [9, 1]), *seen(1, 1)]
    found = check(history(rows)).violation
    assert found is not None
    assert "used up" not in found.sentence
