"""What the harness needs to be a client of leasekv: sessions, and bytes for their messages.

A driver owns one connection a session: it sends `encode`'s bytes, feeds what arrives to a `Reader` of
that connection and tells the session each message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.request import RequestSession

from .speech import LeaseKvSpeech
from .wire import WireError, encode, response_decoder

if TYPE_CHECKING:
    from .messages import Request, Response


class Reader:
    """Bytes of one connection in, answers out."""

    def __init__(self) -> None:
        self._decoder = response_decoder()

    def feed(self, data: bytes) -> list[Response | None]:
        """Return whole answers; None stands for bytes that are none, and nothing can follow it."""
        try:
            return list(self._decoder.feed(data))
        except WireError:
            return [None]


class LeaseKvClient:
    """Makes everything that belongs to a connection, with one set of deadlines."""

    def __init__(self, *, read_timeout_ns: int, write_timeout_ns: int) -> None:
        self._speech = LeaseKvSpeech()
        self._read_timeout_ns = read_timeout_ns
        self._write_timeout_ns = write_timeout_ns

    def session(self) -> RequestSession:
        """Return the client of a new process."""
        return RequestSession(
            self._speech,
            read_timeout_ns=self._read_timeout_ns,
            write_timeout_ns=self._write_timeout_ns,
        )

    def encode(self, message: Request) -> bytes:
        """Return the bytes of one message."""
        return encode(message)

    def reader(self) -> Reader:
        """Return the reader of a new connection."""
        return Reader()
