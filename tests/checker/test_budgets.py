from __future__ import annotations

import json
import os
import resource
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from checker import Budget, History, Model, Operation, Outcome, check, formats
from checker.testing import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator


def hard(keys: int = 1, readers: int = 14) -> History:
    """Return a history that is hard to judge: all is concurrent, and one value is missing."""
    events: list[dict[str, Any]] = []
    process = 0
    for key in range(keys):
        several: list[tuple[int, str, Any]] = []
        for number in range(readers):
            several.append((process, "enq", number % 3))
            process += 1
        for number in range(readers):
            several.append((process, "deq", number % 2))
            process += 1
        events += [
            {"process": p, "type": "invoke", "f": f, "key": key, "value": v} for p, f, v in several
        ]
        events += [{"process": p, "type": "ok", "f": f, "key": key, "value": v} for p, f, v in several]
    return formats.read("\n".join(map(json.dumps, events)).encode() + b"\n", name="hard.jsonl")


class Clock:
    """A clock that moves by a step whenever somebody looks."""

    def __init__(self, step_s: float) -> None:
        self.now_s = 0.0
        self.step_s = step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def test_the_time_limit_yields_unknown_with_what_ran_out_and_where() -> None:
    report = check(hard(), budget=Budget(time_s=5, clock=Clock(0.1)))
    assert report.outcome is Outcome.UNKNOWN
    assert report.sentence.startswith(
        "unknown: 1 of 1 keys undecided (0): the time limit of 5 s, at line "
    )
    assert report.sentence.endswith("operations are open at once")


def burst(puts: int, *, gets: tuple[int, ...]) -> History:
    """Return a history of a string: quiet, then many puts at once, then what was got, one by one."""
    spans: list[tuple[int, int, str, str]] = []
    for number in range(100):
        spans += [
            (10 * number, 1, "put", f"before {number}"),
            (10 * number + 2, 1, "get", f"before {number}"),
        ]
    spans += [(1_000 + number, 100, "put", f"{number}") for number in range(puts)]
    spans += [(2_000 + 2 * at, 1, "get", f"{number}") for at, number in enumerate(gets)]
    events = sorted(
        (stamp, kind, process, f, value)
        for process, (call, length, f, value) in enumerate(spans)
        for stamp, kind in ((call, "invoke"), (call + length, "ok"))
    )
    lines = [
        {"process": process, "type": kind, "f": f, "key": "x", "value": value, "time_ns": stamp}
        for stamp, kind, process, f, value in events
    ]
    return formats.read("\n".join(map(json.dumps, lines)).encode() + b"\n", name="burst.jsonl")


@pytest.mark.parametrize("all_keys", [False, True])
@pytest.mark.parametrize("explain", [False, True])
def test_a_string_put_once_needs_no_search_whatever_is_asked(*, explain: bool, all_keys: bool) -> None:
    few = Budget(configurations_max=1_000)
    wrong, right = burst(15, gets=(1, 0, 1)), burst(15, gets=(1, 1))
    report = check(wrong, model="kv", budget=few, explain=explain, all_keys=all_keys)
    assert report.outcome is Outcome.VIOLATION
    assert report.violation is not None
    assert len(report.violation.operations) == (4 if explain else 0)
    report = check(right, model="kv", budget=few, explain=explain, all_keys=all_keys)
    assert report.outcome is Outcome.PASS


@pytest.mark.parametrize("all_keys", [False, True])
@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("register", "0 |-w 1-| |-w 2-| |-r 1-|"),
        ("register", "0 |-w 1-| |-w 1-| |-w 2-| |-r 1-|"),
        ("cas-register", "0 |-w 1-| |-cas 1 2-| |-w 1-| |-r 2-|"),
        ("kv", '0 |-put "a"-| |-append "b"-| |-get "a"-|'),
    ],
)
def test_a_violation_stands_though_no_time_is_left_to_say_why(
    model: str, text: str, *, explain: bool, all_keys: bool
) -> None:
    over = Budget(time_s=1, clock=Clock(1))
    report = check(drawn(text), model=model, budget=over, explain=explain, all_keys=all_keys)
    assert report.outcome is Outcome.VIOLATION
    assert report.sentence.startswith("not linearizable: ")


def test_a_check_that_is_called_off_keeps_what_is_decided_and_says_why() -> None:
    asked = 0

    def called_off() -> str | None:
        nonlocal asked
        asked += 1
        return "called off by hand" if asked > 20 else None

    report = check(hard(), budget=Budget(called_off=called_off))
    assert report.outcome is Outcome.UNKNOWN
    assert "called off by hand, at line" in report.sentence


def test_configurations_can_be_limited() -> None:
    report = check(hard(), budget=Budget(configurations_max=2_000))
    assert report.outcome is Outcome.UNKNOWN
    assert "2000 configurations" in report.sentence
    assert 2_000 <= report.keys[0].configurations < 4_000


def test_the_memory_limit_holds_within_a_fifth() -> None:
    def held() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    limit = held() + (64 << 20)
    report = check(
        hard(), budget=Budget(memory_bytes=limit, memory=held, time_s=50, clock=time.monotonic)
    )
    assert report.outcome is Outcome.UNKNOWN
    assert "memory limit" in report.sentence
    assert held() < 1.2 * limit


def test_without_a_meter_memory_is_reckoned_by_configurations() -> None:
    report = check(hard(), budget=Budget(memory_bytes=1 << 20))
    assert report.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_limit_is_kept_on_the_wall_clock_whatever_is_being_done(jobs: int) -> None:
    began = time.monotonic()
    report = check(hard(keys=6), budget=Budget(time_s=1, clock=time.monotonic, jobs=jobs), all_keys=True)
    assert report.outcome is Outcome.UNKNOWN
    assert time.monotonic() - began < 2


class Sleeper(Model):
    name = "sleeper"

    def step(self, state: Any, op: Operation) -> Any:
        del op
        time.sleep(60)
        return (state,)


def test_a_model_that_never_returns_does_not_hold_up_the_limit() -> None:
    began = time.monotonic()
    report = check(hard(), model=Sleeper(), budget=Budget(time_s=0.5, clock=time.monotonic))
    assert report.outcome is Outcome.UNKNOWN
    assert time.monotonic() - began < 3


class Suicide(Model):
    name = "suicide"

    def step(self, state: Any, op: Operation) -> Any:
        import os
        import signal

        del op
        os.kill(os.getpid(), signal.SIGKILL)
        return (state,)


@pytest.fixture(autouse=True)
def _no_child_is_left_dead_and_unreaped() -> Iterator[None]:
    yield
    with suppress(ChildProcessError):  # no child at all
        assert os.waitpid(-1, os.WNOHANG) == (0, 0)


def test_a_search_that_dies_is_unknown_and_says_how() -> None:
    report = check(hard(), model=Suicide(), budget=Budget(time_s=20, clock=time.monotonic))
    assert report.outcome is Outcome.UNKNOWN
    assert "ended with code -9" in report.sentence


def test_an_easy_violation_is_found_behind_hard_keys() -> None:
    easy = {"process": 900, "f": "deq", "key": "easy", "value": 7}
    lines = [json.dumps({**easy, "type": "invoke"}), json.dumps({**easy, "type": "ok"})]
    text = "\n".join(json.dumps(event) for event in hard_events(3)) + "\n" + "\n".join(lines) + "\n"
    report = check(formats.read(text.encode(), name="h"), budget=Budget(time_s=20, clock=time.monotonic))
    assert report.outcome is Outcome.VIOLATION
    assert report.violation is not None
    assert report.violation.key == "easy"
    assert report.seconds < 10
    assert {key.outcome for key in report.keys} == {Outcome.VIOLATION, Outcome.UNKNOWN}
    assert any("not looked at further" in (key.reason or "") for key in report.keys)


def hard_events(keys: int) -> list[dict[str, Any]]:
    history = hard(keys)
    events = [
        {"process": op.process, "type": "invoke", "f": op.f, "key": op.key, "value": op.value}
        for op in history
    ]
    return events + [{**event, "type": "ok"} for event in events]


@pytest.mark.parametrize("jobs", [1, 3])
def test_with_all_keys_every_key_gets_its_verdict(jobs: int) -> None:
    drawing = "0 |-a:enq 1-| |-a:deq 2-| |-b:enq 1-| |-b:deq 1-| |-c:deq 9-|"
    report = check(drawn(drawing), all_keys=True, budget=Budget(jobs=jobs), paranoid=True)
    assert {key.key: key.outcome.value for key in report.keys} == {
        "a": "violation",
        "b": "pass",
        "c": "violation",
    }
    assert sorted(violation.key for violation in report.violations) == ["a", "c"]
    passed = next(key for key in report.keys if key.key == "b")
    assert passed.linearization() == (2, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_s": 1.0},
        {"time_s": 0.0},
        {"time_s": float("nan"), "clock": time.monotonic},
        {"memory_bytes": -1},
        {"configurations_max": 0},
        {"jobs": 0},
        {"jobs": 1.5},
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Budget(**wrong)
