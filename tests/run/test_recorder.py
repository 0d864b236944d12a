"""What no recording of ours may contain, whoever drives it."""

from __future__ import annotations

import pytest

from checker.events import EventType
from harness.run.recorder import Recorder
from targets.session import Call, Completion

READ = Call("read", "x")


def test_stamps_strictly_increase_even_if_the_clock_stands_or_goes_back() -> None:
    recorder = Recorder()
    stamps = [recorder.nemesis("note", None, now_ns=now_ns).time_ns for now_ns in (5, 5, 3, 7, 7)]
    assert stamps == [5, 6, 7, 8, 9]


def test_a_process_opens_one_operation_at_a_time() -> None:
    recorder = Recorder()
    recorder.invoke(0, READ, node="n1", now_ns=0)
    with pytest.raises(AssertionError, match="open"):
        recorder.invoke(0, READ, node="n1", now_ns=1)


def test_a_process_cannot_complete_what_it_did_not_invoke() -> None:
    with pytest.raises(AssertionError, match="no operation open"):
        Recorder().complete(0, Completion(EventType.OK), node="n1", now_ns=0)


def test_a_process_with_an_unknown_end_is_retired() -> None:
    recorder = Recorder()
    recorder.invoke(0, Call("write", "x", 1), node="n1", now_ns=0)
    recorder.complete(0, Completion(EventType.INFO, 1, "timed-out"), node="n1", now_ns=1)
    with pytest.raises(AssertionError, match="retired"):
        recorder.invoke(0, READ, node="n1", now_ns=2)


def test_process_numbers_are_given_out_once() -> None:
    recorder = Recorder()
    assert [recorder.new_process() for _ in range(3)] == [0, 1, 2]
