from __future__ import annotations

from typing import Any

import pytest

from checker import History, MalformedHistory, Outcome, Report, check, formats


def history(*lines: str) -> History:
    return formats.read("\n".join(lines).encode() + b"\n", name="h.jsonl")


def event(process: int | str, kind: str, f: str, value: Any = None, **more: Any) -> str:
    import json

    return json.dumps({"process": process, "type": kind, "f": f, "value": value, **more})


def judged(*lines: str, **options: Any) -> Report:
    return check(history(*lines), **options)


def test_a_stale_read_is_a_violation_and_the_proof_is_three_operations() -> None:
    report = judged(
        event(0, "invoke", "write", 1, key="x"),
        event(0, "ok", "write", 1, key="x"),
        event(0, "invoke", "write", 2, key="x"),
        event(0, "ok", "write", 2, key="x"),
        event(1, "invoke", "read", key="y"),
        event(1, "ok", "read", key="y"),
        event(1, "invoke", "read", key="x"),
        event(1, "ok", "read", 1, key="x"),
    )
    assert report.outcome is Outcome.VIOLATION
    assert report.violation is not None
    assert report.violation.key == "x"
    assert [str(op) for op in report.violation.operations] == ["write 1", "write 2", "read -> 1"]
    assert "not linearizable" in report.sentence


def test_the_nemesis_writes_lines_and_performs_nothing() -> None:
    report = judged(
        event("nemesis", "info", "pause", "n1"),
        event(0, "invoke", "read"),
        event("nemesis", "info", "pause", "n1"),
        event(0, "ok", "read"),
    )
    assert report.outcome is Outcome.PASS
    assert report.operations == 1


@pytest.mark.parametrize(
    ("error", "outcome"),
    [("MISMATCH", Outcome.VIOLATION), ("NOT_LEADER", Outcome.PASS), (None, Outcome.PASS)],
)
def test_only_a_mismatch_says_that_the_value_differed(error: str | None, outcome: Outcome) -> None:
    report = judged(
        event(0, "invoke", "write", 1),
        event(0, "ok", "write", 1),
        event(0, "invoke", "cas", [1, 2]),
        event(0, "fail", "cas", [1, 2], error=error),
    )
    assert report.outcome is outcome


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ([event(0, "ok", "read")], 1, "never invoked"),
        ([event(0, "invoke", "read"), event(0, "invoke", "read")], 2, "still open"),
        (
            [event(0, "invoke", "read"), event(0, "info", "read"), event(0, "invoke", "read")],
            3,
            "retired",
        ),
        (
            [event(0, "invoke", "read"), event(0, "ok", "read"), event(0, "fail", "read")],
            3,
            "never invoked",
        ),
        ([event(0, "invoke", "read", index=3), event(0, "ok", "read", index=3)], 2, "index 3"),
        ([event(0, "invoke", "read", time_ns=3), event(0, "ok", "read", time_ns=2)], 2, "before"),
        ([event(0, "invoke", "read"), event(0, "ok", "write")], 2, "something else"),
        ([event(0, "invoke", "read", key="x"), event(0, "ok", "read", key="y")], 2, "key"),
        ([event(0, "invoke", "read"), event(0, "done", "read")], 2, "none of"),
        ([event("nemesis", "invoke", "read"), event(0, "invoke", "read")], 1, "reserved"),
        ([event(0, "invoke", "frobnicate")], 1, "no function of"),
        ([event(0, "invoke", "cas", 3)], 1, "[old, new]"),
    ],
)
def test_what_cannot_have_been_recorded_is_refused_with_its_line(
    lines: list[str], line: int, words: str
) -> None:
    with pytest.raises(MalformedHistory) as refused:
        judged(*lines, model="cas-register")
    assert refused.value.line == line
    assert refused.value.name == "h.jsonl"
    assert words in refused.value.sentence


def test_an_invocation_without_completion_may_have_happened() -> None:
    report = judged(
        event(0, "invoke", "write", 1), event(1, "invoke", "read"), event(1, "ok", "read", 1)
    )
    assert report.outcome is Outcome.PASS


def test_a_torn_last_line_is_left_out_and_noted() -> None:
    data = f"{event(0, 'invoke', 'write', 1)}\n{event(0, 'ok', 'write', 1)}".encode()[:-5]
    read = formats.read(data, name="h.jsonl")
    assert len(read) == 1
    assert any("torn" in note for note in read.notes)
