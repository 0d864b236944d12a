"""The session as leasekv speaks: what is said to it, what it wants, how operations end, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from checker.events import Served
from targets.leasekv.messages import Code, Request, Response
from targets.leasekv.speech import LeaseKvSpeech
from targets.request import RequestSession
from targets.session import (
    Answered,
    Call,
    Close,
    Closed,
    DeadlinePassed,
    Done,
    Open,
    Opened,
    Refused,
    SessionEffect,
    Transmit,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Replay = Callable[[str, Callable[[list[str]], list[str]]], None]

MS = 1_000_000


def value_of(word: str) -> Any:
    return None if word == "nil" else int(word) if word.lstrip("-").isdigit() else word


def shown(effect: SessionEffect) -> str:
    match effect:
        case Open(node):
            return f"open {node}"
        case Transmit(Request(number, op, key, value, path)):
            forced = f" by {path.value}" if path else ""
            return f"send #{number} {op.value} {key} {value}{forced}"
        case Close():
            return "close"
        case Done(completion):
            words = [f"done {completion.type.value} {completion.value}"]
            words += [f"error={completion.error}"] if completion.error else []
            words += [f"term={completion.evidence.term}"] if completion.evidence else []
            words += [f"leader={completion.leader}"] if completion.leader else []
            words += [f"UNEXPECTED {completion.unexpected}"] if completion.unexpected else []
            return " ".join(words)
    raise AssertionError(effect)


def play(commands: list[str]) -> list[str]:  # noqa: C901 - one case a command
    session = RequestSession(LeaseKvSpeech(), read_timeout_ns=100 * MS, write_timeout_ns=300 * MS)
    now_ms, told = 0, []
    for line in commands:
        effects: tuple[SessionEffect, ...]
        match line.split():
            case ["invoke", "cas", key, old, new, "at", node]:
                call = Call("cas", key, [value_of(old), value_of(new)])
                effects = session.invoke(call, node, now_ms * MS)
            case ["invoke", f, key, value, "at", node]:
                effects = session.invoke(Call(f, key, value_of(value)), node, now_ms * MS)
            case ["invoke", f, key, "at", node]:
                effects = session.invoke(Call(f, key), node, now_ms * MS)
            case ["opened"]:
                effects = session.step(Opened(), now_ms * MS)
            case ["refused", reason]:
                effects = session.step(Refused(reason), now_ms * MS)
            case ["closed", reason]:
                effects = session.step(Closed(reason), now_ms * MS)
            case ["answer", number, "value", value, *term]:
                served = Served(term=int(term[1])) if term else None
                response = Response(int(number), value=value_of(value), evidence=served)
                effects = session.step(Answered(response), now_ms * MS)
            case ["answer", number, code, *leader]:
                hint = leader[1] if leader else None
                response = Response(int(number), code=Code(code), leader=hint)
                effects = session.step(Answered(response), now_ms * MS)
            case ["garbage"]:
                effects = session.step(Answered(None), now_ms * MS)
            case ["at", time]:
                now_ms = int(time)
                effects = session.step(DeadlinePassed(), now_ms * MS)
            case _:
                raise AssertionError(line)
        wake = "-" if session.wake_ns is None else str(session.wake_ns // MS)
        told.append(f"{line}: {'; '.join(map(shown, effects)) or 'nothing'}  [wake {wake}]")
    return told


def test_sessions_end_operations_as_drawn(replay: Replay) -> None:
    replay("session.txt", play)


def test_a_second_operation_may_not_begin_before_the_first_has_ended() -> None:
    session = RequestSession(LeaseKvSpeech(), read_timeout_ns=1, write_timeout_ns=1)
    session.invoke(Call("read", "x"), "n1", 0)
    with pytest.raises(ValueError, match="in flight"):
        session.invoke(Call("read", "x"), "n1", 0)
