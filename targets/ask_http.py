"""Ask a node something over HTTP beside the workload: one kept connection, a bound on every answer.

Several may ask at once, a watcher and whoever waits for a restart: they take turns on it, and
waiting for one's turn counts as waiting for the answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .http import HttpRequest, HttpResponse, Reader, encode

if TYPE_CHECKING:
    from .cluster import Address

CHUNK: Final = 65536


class HttpAsker:
    """Asks one node; the connection is dropped as soon as an answer is overdue."""

    def __init__(self) -> None:
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._turn = asyncio.Lock()

    async def ask(self, address: Address, path: str, *, within_s: float) -> dict[str, Any] | None:
        """Return the JSON object answered to an empty question, None if there is none in time."""
        try:
            async with asyncio.timeout(within_s), self._turn:
                return await self._ask(address, path)
        except TimeoutError:
            return None

    async def _ask(self, address: Address, path: str) -> dict[str, Any] | None:
        try:
            response = await self._exchange(address, HttpRequest(path, b"{}"))
            if response is not None and response.status == 200:
                return msgspec.json.decode(response.body, type=dict[str, Any])
        except (OSError, msgspec.DecodeError):
            self.drop()
        except asyncio.CancelledError:
            self.drop()
            raise
        return None

    async def _exchange(self, address: Address, request: HttpRequest) -> HttpResponse | None:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*address)
        stream, writer = self._streams
        writer.write(encode(request))
        reader = Reader()
        while data := await stream.read(CHUNK):
            if whole := reader.feed(data):
                return whole[0]
        raise ConnectionResetError("the node closed the connection")

    def drop(self) -> None:
        """Drop the connection."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None
