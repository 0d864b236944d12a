"""A client of any target that answers one request a connection at a time, in order.

What lives here: the life of the connection and of the operation on it, the same for all such targets.
What a target adds is its `Speech`: how an operation is put into a request, and what an answer means.

A connection whose answer is overdue is dropped, so an answer never meets a later operation; there are no
retries and no redirects. Refused or overdue before anything was sent is *fail*; lost or overdue after
that is *info*, or *fail* for a read, which has no effect.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from checker.events import EventType

from .session import (
    Answered,
    Call,
    Close,
    Closed,
    DeadlinePassed,
    Done,
    Open,
    Opened,
    Outcome,
    Refused,
    SessionEffect,
    SessionInput,
    Transmit,
)

READS: Final = frozenset({"read"})


class Speech(Protocol):
    """How to speak with one target. No state, no I/O."""

    def ask(self, call: Call) -> Any:
        """Return the request for an operation."""

    def heard(self, call: Call, answer: Any) -> Outcome:
        """Return what the answer to ``call`` means; in doubt info, `Outcome.unexpected` for nonsense."""


def unknown(call: Call, error: str, *, unexpected: str | None = None) -> Outcome:
    """Return the outcome of an operation whose request was sent and of which nothing more is known."""
    kind = EventType.FAIL if call.f in READS else EventType.INFO
    return Outcome(kind, call.value, error, unexpected=unexpected)


class RequestSession:
    """See `targets.session.Session`. ``timeout_ns`` counts from the invocation, connecting included."""

    def __init__(self, speech: Speech, *, timeout_ns: int) -> None:
        self._speech = speech
        self._timeout_ns = timeout_ns
        self._node: str | None = None  # at the other end of the open connection
        self._opening: str | None = None
        self._call: Call | None = None
        self._wake_ns: int | None = None

    @property
    def wake_ns(self) -> int | None:
        """When the operation in flight has run out of time; None when there is none."""
        return self._wake_ns

    def invoke(self, call: Call, node: str, now_ns: int) -> tuple[SessionEffect, ...]:
        """Start an operation at ``node``, on the open connection if it leads there."""
        if self._call is not None:
            raise ValueError(f"invoked {call.f} while {self._call.f} is in flight")
        self._call, self._wake_ns = call, now_ns + self._timeout_ns
        if self._node == node:
            return (Transmit(self._speech.ask(call)),)
        closing = () if self._node is None else (Close(),)
        self._node, self._opening = None, node
        return (*closing, Open(node))

    def step(self, event: SessionInput, now_ns: int) -> tuple[SessionEffect, ...]:
        """Take what happened to the connection or the clock."""
        match event:
            case Opened():
                return self._opened()
            case Answered(answer):
                return self._answered(answer)
            case Refused(reason):
                return self._lost(f"not-connected: {reason}", drop=False)
            case Closed(reason):
                return self._lost(f"connection-lost: {reason}", drop=False)
            case DeadlinePassed():
                due = self._wake_ns is not None and now_ns >= self._wake_ns
                return self._lost("timed-out", drop=True) if due else ()

    def _opened(self) -> tuple[SessionEffect, ...]:
        if self._call is None or self._opening is None:
            return (Close(),)
        self._node, self._opening = self._opening, None
        return (Transmit(self._speech.ask(self._call)),)

    def _answered(self, answer: Any) -> tuple[SessionEffect, ...]:
        call = self._call
        if call is None or self._node is None:
            self._node = None
            return (Close(),)  # nobody asked: nothing on this connection can be trusted any more
        if answer is None:
            said = unknown(call, "unexpected-answer", unexpected="bytes that are no answer")
        else:
            said = self._speech.heard(call, answer)
        closing: tuple[SessionEffect, ...] = ()
        if said.unexpected is not None:
            self._node, closing = None, (Close(),)
        return (*closing, self._end(said))

    def _lost(self, error: str, *, drop: bool) -> tuple[SessionEffect, ...]:
        call, sent = self._call, self._opening is None
        self._node = self._opening = None
        closing = (Close(),) if drop else ()
        if call is None:
            return closing
        said = unknown(call, error) if sent else Outcome(EventType.FAIL, call.value, error)
        return (*closing, self._end(said))

    def _end(self, said: Outcome) -> Done:
        self._call = self._wake_ns = None
        return Done(said)
