"""HTTP/1.1 for targets that speak it: requests as values to bytes, bytes to responses as values.

One request at a time on a connection that is kept. The protocol is h11's; there is no socket here.
"""

from __future__ import annotations

from typing import Final

import h11
import msgspec

BODY_MAX: Final = 8 * 1024 * 1024


class HttpRequest(msgspec.Struct, frozen=True):
    """A POST of JSON; other methods and types will come with the target that needs them."""

    path: str
    body: bytes


class HttpResponse(msgspec.Struct, frozen=True):
    """A whole response."""

    status: int
    body: bytes


def encode(request: HttpRequest) -> bytes:
    """Return the bytes of one request."""
    head = (
        f"POST {request.path} HTTP/1.1\r\nhost: target\r\ncontent-type: application/json\r\n"
        f"content-length: {len(request.body)}\r\n\r\n"
    )
    return head.encode() + request.body


class Reader:
    """Bytes of one connection in, responses out; implements what a driver needs of a codec."""

    def __init__(self) -> None:
        self._connection = _fresh()
        self._status = 0
        self._body = b""

    def feed(self, data: bytes) -> list[HttpResponse | None]:
        """Return whole responses; None stands for bytes that are none, and nothing can follow it."""
        done: list[HttpResponse | None] = []
        try:
            self._connection.receive_data(data)
            while (event := self._connection.next_event()) is not h11.NEED_DATA:
                match event:
                    case h11.Response():
                        self._status, self._body = event.status_code, b""
                    case h11.Data():
                        self._body += event.data
                        if len(self._body) > BODY_MAX:
                            return [*done, None]
                    case h11.EndOfMessage():
                        done.append(HttpResponse(self._status, self._body))
                        rest, _ = self._connection.trailing_data
                        self._connection = _fresh()
                        if not rest:  # to h11 empty data is the end of the stream
                            break
                        self._connection.receive_data(rest)
                    case h11.PAUSED | h11.ConnectionClosed():
                        break
        except h11.RemoteProtocolError:
            return [*done, None]
        return done


def _fresh() -> h11.Connection:
    """Return a connection that has just sent a request and awaits the response."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(
        h11.Request(method="POST", target="/", headers=[("host", "target"), ("content-length", "0")])
    )
    connection.send(h11.EndOfMessage())
    return connection
