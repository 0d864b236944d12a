"""One process's client of leasekv, without socket or clock.

What lives here: what an answer, a refusal, a lost connection or a passed deadline *means* for the
operation in flight. What never does: retries, redirects, clock readings. A hidden retry would let one
operation happen twice; a leader hint is handed on to whoever chooses the next node.

Three things make a wrong pairing impossible. Every request has an id that is never used again, so a
late answer is known by it. A connection on which an answer is overdue is dropped, so nothing waits
behind it. And an answer that leasekv cannot have meant (an id never sent, a code that does not fit the
operation, bytes that do not decode) is never read for what it might say: the operation is left open,
flagged `unexpected`, and the connection is dropped too.

::

    idle --invoke--> opening --Opened--> waiting --Answered--> idle
                        |                   |
                        Refused, deadline:  Closed, deadline: info (a read: fail)
                        fail, nothing sent
"""

from __future__ import annotations

from typing import Final

from checker.events import EventType
from targets.session import (
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

from .messages import Code, Op, Request, Response

TIMED_OUT: Final = "timed-out"
NOT_CONNECTED: Final = "not-connected"
CONNECTION_LOST: Final = "connection-lost"

_MUTATIONS: Final = frozenset({Op.WRITE, Op.CAS, Op.DELETE})


class LeaseKvSession:
    """See `targets.session.Session`.

    A read has ``read_timeout_ns`` from its invocation, connecting included, anything else
    ``write_timeout_ns``: a failed read costs nothing, so it may be given up early and asked afresh.
    """

    def __init__(self, *, read_timeout_ns: int, write_timeout_ns: int) -> None:
        self._timeouts_ns = {Op.READ: read_timeout_ns}
        self._write_timeout_ns = write_timeout_ns
        self._last_id = 0
        self._node: str | None = None  # at the other end of the open connection
        self._opening: str | None = None
        self._request: Request | None = None  # in flight, sent or about to be
        self._wake_ns: int | None = None
        self._stray: str | None = None  # what was unexpected while nothing was in flight

    @property
    def wake_ns(self) -> int | None:
        """When the operation in flight has run out of time; None when there is none."""
        return self._wake_ns

    def invoke(self, call: Call, node: str, now_ns: int) -> tuple[SessionEffect, ...]:
        """Start an operation at ``node``, on the open connection if it leads there."""
        if self._request is not None:
            raise ValueError(f"invoked {call.f} while request {self._request.id} is in flight")
        self._last_id += 1
        request = Request(self._last_id, Op(call.f), call.key, call.value, call.path)
        self._request = request
        self._wake_ns = now_ns + self._timeouts_ns.get(request.op, self._write_timeout_ns)
        if self._node == node:
            return (Transmit(request),)
        closing = () if self._node is None else (Close(),)
        self._node, self._opening = None, node
        return (*closing, Open(node))

    def step(self, event: SessionInput, now_ns: int) -> tuple[SessionEffect, ...]:
        """Take what happened to the connection or the clock."""
        match event:
            case Answered(Response() as response):
                return self._answered(response)
            case Answered():
                return self._confused("a message that does not decode to an answer")
            case DeadlinePassed():
                return self._overdue(now_ns)
            case Opened():
                return self._opened()
            case Refused(reason):
                self._opening = None
                return self._end(EventType.FAIL, f"{NOT_CONNECTED}: {reason}")
            case Closed(reason):
                return self._lost(reason)

    def _opened(self) -> tuple[SessionEffect, ...]:
        if self._opening is None or self._request is None:
            return (Close(),)
        self._node, self._opening = self._opening, None
        return (Transmit(self._request),)

    def _answered(self, response: Response) -> tuple[SessionEffect, ...]:
        if not 0 < response.id <= self._last_id:
            return self._confused(f"an answer to request {response.id}, which was never sent")
        request = self._request
        if request is None or response.id != request.id or self._node is None:
            return ()  # late: its operation has ended
        match response.code:
            case None:
                value = response.value if request.op is Op.READ else request.value
                return self._end(EventType.OK, None, response=response, value=value)
            case Code.MISMATCH if request.op is not Op.CAS:
                return self._confused(f"MISMATCH in answer to a {request.op.value}")
            case code:
                definite = code.definite or request.op is Op.READ
                hinted = code is Code.NOT_LEADER and response.leader is not None
                error = f"{code.value}: {response.leader}" if hinted else code.value
                kind = EventType.FAIL if definite else EventType.INFO
                return self._end(kind, error, response=response, value=request.value)

    def _lost(self, reason: str) -> tuple[SessionEffect, ...]:
        if self._opening is not None:
            self._opening = None
            return self._end(EventType.FAIL, f"{NOT_CONNECTED}: {reason}")
        self._node = None
        return self._end(self._unknown(), f"{CONNECTION_LOST}: {reason}")

    def _overdue(self, now_ns: int) -> tuple[SessionEffect, ...]:
        if self._wake_ns is None or now_ns < self._wake_ns:
            return ()
        sent = self._opening is None
        self._node = self._opening = None
        ended = self._end(
            self._unknown() if sent else EventType.FAIL, TIMED_OUT if sent else NOT_CONNECTED
        )
        return (Close(), *ended)

    def _confused(self, what: str) -> tuple[SessionEffect, ...]:
        """Drop the connection: after an answer nobody can have meant, none on it can be trusted."""
        self._node = self._opening = None
        if self._request is None:
            self._stray = what
            return (Close(),)
        return (Close(), *self._end(self._unknown(), "unexpected-answer", unexpected=what))

    def _unknown(self) -> EventType:
        request = self._request
        return EventType.INFO if request is not None and request.op in _MUTATIONS else EventType.FAIL

    def _end(
        self,
        kind: EventType,
        error: str | None,
        *,
        response: Response | None = None,
        value: object = None,
        unexpected: str | None = None,
    ) -> tuple[SessionEffect, ...]:
        request = self._request
        if request is None:
            return ()
        stray, self._stray = unexpected or self._stray, None
        self._request, self._wake_ns = None, None
        if response is None:
            return (Done(Outcome(kind, request.value, error, unexpected=stray)),)
        return (Done(Outcome(kind, value, error, response.evidence, response.leader, stray)),)
