"""The session of any target: what a connection's fate means for the operation on it."""

import pytest

from checker.events import EventType
from targets.request import RequestSession
from targets.session import (
    Answered,
    Call,
    Close,
    Closed,
    Completion,
    DeadlinePassed,
    Done,
    Open,
    Opened,
    Refused,
    SessionInput,
    Transmit,
)

READ = Call("read", "k")
WRITE = Call("write", "k", 7)


class Echo:
    """A target that answers with an completion; "nonsense" is what no target says."""

    def ask(self, call: Call, number: int) -> str:
        assert number > 0
        return call.f

    def number(self, answer: str) -> None:
        assert answer

    def heard(self, call: Call, answer: str) -> Completion:
        if answer == "nonsense":
            return Completion(EventType.INFO, call.value, "unexpected-answer", unexpected=answer)
        return Completion(EventType.OK, answer)


def _session() -> RequestSession:
    return RequestSession(Echo(), read_timeout_ns=100, write_timeout_ns=100)


def _waiting(call: Call) -> RequestSession:
    session = _session()
    assert session.invoke(call, "n1", 0) == (Open("n1"),)
    assert session.step(Opened(), 1) == (Transmit(call.f),)
    return session


def test_a_connection_is_kept_for_the_same_node_and_dropped_for_another() -> None:
    session = _waiting(READ)
    assert session.step(Answered("1"), 2) == (Done(Completion(EventType.OK, "1")),)
    assert session.wake_ns is None
    assert session.invoke(READ, "n1", 3) == (Transmit("read"),)
    session.step(Answered("1"), 4)
    assert session.invoke(READ, "n2", 5) == (Close(), Open("n2"))


@pytest.mark.parametrize("call", [READ, WRITE])
def test_a_refused_connection_is_definite(call: Call) -> None:
    session = _session()
    session.invoke(call, "n1", 0)
    (done,) = session.step(Refused("no"), 1)
    assert done == Done(Completion(EventType.FAIL, call.value, "not-connected: no"))


@pytest.mark.parametrize("event", [Closed("reset"), DeadlinePassed()])
@pytest.mark.parametrize(("call", "kind"), [(READ, EventType.FAIL), (WRITE, EventType.INFO)])
def test_after_the_request_was_sent_only_a_read_certainly_had_no_effect(
    event: SessionInput, call: Call, kind: EventType
) -> None:
    done = _waiting(call).step(event, 100)[-1]
    assert isinstance(done, Done)
    assert done.completion.type is kind


def test_a_connection_that_is_overdue_is_dropped_before_anything_was_sent_or_after() -> None:
    session = _session()
    session.invoke(WRITE, "n1", 0)
    assert session.step(DeadlinePassed(), 99) == ()
    closed, done = session.step(DeadlinePassed(), 100)
    assert closed == Close()
    assert done == Done(Completion(EventType.FAIL, 7, "not-connected: timed-out"))
    assert session.invoke(WRITE, "n1", 101) == (Open("n1"),)


def test_an_answer_that_nobody_asked_for_costs_the_connection_and_is_told_with_the_next_operation() -> (
    None
):
    session = _waiting(READ)
    session.step(Answered("1"), 2)
    assert session.step(Answered("2"), 3) == (Close(),)
    assert session.invoke(READ, "n1", 4) == (Open("n1"),)
    session.step(Opened(), 5)
    (done,) = session.step(Answered("3"), 6)
    unasked = "an answer to nothing that was asked"
    assert done == Done(Completion(EventType.OK, "3", unexpected=unasked))


def test_nonsense_before_anything_was_sent_leaves_nothing_open() -> None:
    session = _session()
    session.invoke(WRITE, "n1", 0)
    closed, done = session.step(Answered("1"), 1)
    assert closed == Close()
    assert isinstance(done, Done)
    assert done.completion.type is EventType.FAIL
    assert done.completion.unexpected


@pytest.mark.parametrize("answer", [None, "nonsense"])
def test_nonsense_leaves_a_write_open_flags_it_and_drops_the_connection(answer: str | None) -> None:
    closed, done = _waiting(WRITE).step(Answered(answer), 2)
    assert closed == Close()
    assert isinstance(done, Done)
    assert done.completion.type is EventType.INFO
    assert done.completion.unexpected


def test_a_late_open_is_closed_again() -> None:
    session = _session()
    session.invoke(READ, "n1", 0)
    session.step(DeadlinePassed(), 100)
    assert session.step(Opened(), 101) == (Close(),)
