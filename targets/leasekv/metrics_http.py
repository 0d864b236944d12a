"""``GET /metrics`` for a Prometheus: one answer a connection, from the node's own loop.

Where it listens is the start file's to say: loopback, or a container's own namespace. Only GET of that
one path is answered, and only to somebody who called this node by one of its names: a web page that got
a browser to ask here under a name of its own is refused.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import h11

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets.cluster import Address

PATH: Final = b"/metrics"
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
HEADERS_MAX_BYTES: Final = 8192
IDLE_S: Final = 5.0
CONNECTIONS_MAX: Final = 16
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Scrape(asyncio.Protocol):
    """One connection: reads a request, answers, closes."""

    def __init__(
        self, answer: Callable[[], str], names: frozenset[str], open_now: set[asyncio.Transport]
    ) -> None:
        self._answer = answer
        self._names = names
        self._open_now = open_now
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEADERS_MAX_BYTES)
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, unless there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._open_now) >= CONNECTIONS_MAX:
            transport.abort()
            return
        self._open_now.add(transport)
        self._timer = asyncio.get_running_loop().call_later(IDLE_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        del exc
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._open_now.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """Answer once the headers are there; what comes after them is not read."""
        assert self._transport is not None
        if self._transport.is_closing():
            return
        try:
            self._http.receive_data(data)
            event = self._http.next_event()
        except h11.RemoteProtocolError:
            self._transport.abort()
            return
        if isinstance(event, h11.Request):
            code, text = self._answered(event)
            self._say(code, text)

    def _answered(self, request: h11.Request) -> tuple[int, str]:
        host = next((value for name, value in request.headers if name == b"host"), b"")
        name = host.decode("ascii", "replace").lower()
        bare = name if name.endswith("]") else name.rpartition(":")[0] or name
        if bare not in self._names:
            return 421, "this node is not called that\n"
        if request.method != b"GET":
            return 405, "GET only\n"
        if request.target.partition(b"?")[0] != PATH:
            return 404, "only /metrics is here\n"
        return 200, self._answer()

    def _say(self, code: int, text: str) -> None:
        assert self._transport is not None
        body = text.encode()
        headers = [
            ("content-type", TEXT),
            ("content-length", str(len(body))),
            ("connection", "close"),
            *([("allow", "GET")] if code == 405 else []),
        ]
        head = self._http.send(h11.Response(status_code=code, headers=headers)) or b""
        data = self._http.send(h11.Data(data=body)) or b""
        self._transport.write(head + data)
        self._transport.close()


async def serve(address: Address, answer: Callable[[], str], *, name: str) -> asyncio.Server:
    """Listen on ``address``; who asks has to call the node ``name`` or by a name of loopback."""
    open_now: set[asyncio.Transport] = set()
    names = LOOPBACK | {name.lower()}
    host, port = address
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Scrape(answer, names, open_now), host, port)
