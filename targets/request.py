"""A client of any target that answers requests, one at a time on a connection, as a state machine.

What lives here: what an answer, a refusal, a lost connection or a passed deadline *means* for the
operation in flight. What a target adds is its `Speech`: how an operation is put into a request, and what
an answer says. What never lives here: retries, redirects, clock readings. A hidden retry would let one
operation happen twice; a leader hint is handed on to whoever chooses the next node.

Three things make a wrong pairing impossible. Every request has a number that is never used again, so
where a protocol repeats it a late answer is known by it. A connection on which an answer is overdue is
dropped, so nothing waits behind it. And an answer that the target cannot have meant (to a request never
sent, to nothing at all, bytes that do not decode) is never read for what it might say: the operation is
left open, flagged `unexpected`, and the connection is dropped too.

::

    idle --invoke--> opening --Opened--> waiting --Answered--> idle
                        |                   |
                        Refused, deadline:  Closed, deadline: info (a read: fail)
                        fail, nothing sent
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec

from checker.events import EventType

from .session import (
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
    SessionEffect,
    SessionInput,
    Transmit,
)

TIMED_OUT: Final = "timed-out"
NOT_CONNECTED: Final = "not-connected"
CONNECTION_LOST: Final = "connection-lost"
UNEXPECTED: Final = "unexpected-answer"

READS: Final = frozenset({"read"})


class Speech(Protocol):
    """How to speak with one target. No state, no I/O."""

    def ask(self, call: Call, number: int) -> Any:
        """Return the request for an operation; ``number`` is this process's own, from 1."""

    def number(self, answer: Any) -> int | None:
        """Return which request is answered; None if the protocol answers in order and does not say."""

    def heard(self, call: Call, answer: Any) -> Completion:
        """Return what the answer to ``call`` means; in doubt info, flagged if it is nonsense."""


def unknown(call: Call, error: str, *, unexpected: str | None = None) -> Completion:
    """Return how an operation ends whose request was sent and of which nothing more is known."""
    kind = EventType.FAIL if call.f in READS else EventType.INFO
    return Completion(kind, call.value, error, unexpected=unexpected)


class RequestSession:
    """See `targets.session.Session`.

    A read has ``read_timeout_ns`` from its invocation, connecting included, anything else
    ``write_timeout_ns``: a failed read costs nothing, so it may be given up early and asked afresh.
    """

    def __init__(self, speech: Speech, *, read_timeout_ns: int, write_timeout_ns: int) -> None:
        self._speech = speech
        self._read_timeout_ns = read_timeout_ns
        self._write_timeout_ns = write_timeout_ns
        self._number = 0  # of the last request
        self._node: str | None = None  # at the other end of the open connection
        self._opening: str | None = None
        self._call: Call | None = None  # in flight, sent or about to be
        self._wake_ns: int | None = None
        self._stray: str | None = None  # what was unexpected while nothing was in flight

    @property
    def wake_ns(self) -> int | None:
        """When the operation in flight has run out of time; None when there is none."""
        return self._wake_ns

    def invoke(self, call: Call, node: str, now_ns: int) -> tuple[SessionEffect, ...]:
        """Start an operation at ``node``, on the open connection if it leads there."""
        if self._call is not None:
            raise ValueError(f"invoked {call.f} while {self._call.f} is in flight")
        self._number += 1
        self._call = call
        self._wake_ns = now_ns + (self._read_timeout_ns if call.f in READS else self._write_timeout_ns)
        if self._node == node:
            return (Transmit(self._speech.ask(call, self._number)),)
        closing = () if self._node is None else (Close(),)
        self._node, self._opening = None, node
        return (*closing, Open(node))

    def step(self, event: SessionInput, now_ns: int) -> tuple[SessionEffect, ...]:
        """Take what happened to the connection or the clock."""
        match event:
            case Answered():
                if event.message is None:
                    return self._confused("bytes that are no answer")
                return self._answered(event.message)
            case DeadlinePassed():
                due = self._wake_ns is not None and now_ns >= self._wake_ns
                return (Close(), *self._lost(TIMED_OUT)) if due else ()
            case Opened():
                return self._opened()
            case Refused(reason):
                return self._lost(reason)
            case Closed(reason):
                return self._lost(f"{CONNECTION_LOST}: {reason}")

    def _opened(self) -> tuple[SessionEffect, ...]:
        if self._opening is None or self._call is None:
            return (Close(),)
        self._node, self._opening = self._opening, None
        return (Transmit(self._speech.ask(self._call, self._number)),)

    def _answered(self, answer: Any) -> tuple[SessionEffect, ...]:
        call, number = self._call, self._speech.number(answer)
        if number is not None and not 0 < number <= self._number:
            return self._confused(f"an answer to request {number}, which was never sent")
        if number is not None and (call is None or number != self._number):
            return ()  # late: its operation has ended
        if call is None or self._node is None:
            return self._confused("an answer to nothing that was asked")
        said = self._speech.heard(call, answer)
        if said.unexpected is None:
            return self._end(said)
        self._node = None
        return (Close(), *self._end(said))

    def _confused(self, what: str) -> tuple[SessionEffect, ...]:
        """Drop the connection: after an answer nobody can have meant, none on it can be trusted."""
        if self._call is None:
            self._node, self._stray = None, what
            return (Close(),)
        self._stray = what
        return (Close(), *self._lost(UNEXPECTED))

    def _lost(self, error: str) -> tuple[SessionEffect, ...]:
        """Be without a connection; what was in flight is definite if it was not sent yet."""
        call, sent = self._call, self._opening is None
        self._node = self._opening = None
        if call is None:
            return ()
        if sent:
            return self._end(unknown(call, error))
        return self._end(Completion(EventType.FAIL, call.value, f"{NOT_CONNECTED}: {error}"))

    def _end(self, said: Completion) -> tuple[SessionEffect, ...]:
        if self._stray is not None:
            said = msgspec.structs.replace(said, unexpected=self._stray)
            self._stray = None
        self._call = self._wake_ns = None
        return (Done(said),)
