"""The tester's end of a node's admin socket: one connection, kept while the node answers.

Answers come in the order of the questions, so a question that was given up would leave its answer to
the next one: the connection is dropped instead. A node that is stopped, dead or drowning in work does
not answer; that is told apart from a refusal.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from targets.leasekv import admin

if TYPE_CHECKING:
    from pathlib import Path


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.awaited: deque[asyncio.Future[admin.Answer]] = deque()
        self._kept = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._kept = (self._kept + data).split(b"\n")
        for line in lines:
            future = self.awaited.popleft()
            if not future.done():
                try:
                    future.set_result(admin.decode_answer(line))
                except msgspec.DecodeError as error:
                    future.set_exception(OSError(f"an answer that is none: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        for future in self.awaited:
            if not future.done():
                future.set_exception(exc or ConnectionResetError("the node closed its admin socket"))


class AdminClient:
    """Asks one node."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = _Connection()
        self._opening = asyncio.Lock()

    async def ask(self, question: admin.Ask, *, within_s: float) -> admin.Answer:
        """Return the node's answer; raise ``OSError`` (``TimeoutError`` is one) if there is none."""
        try:
            async with asyncio.timeout(within_s):
                transport, connection = await self._open()
                future: asyncio.Future[admin.Answer] = asyncio.get_running_loop().create_future()
                connection.awaited.append(future)
                transport.write(admin.encode(question))
                return await future
        except BaseException:
            self.close()
            raise

    async def _open(self) -> tuple[asyncio.Transport, _Connection]:
        async with self._opening:
            if self._connection.transport is None:
                loop = asyncio.get_running_loop()
                _, self._connection = await loop.create_unix_connection(_Connection, str(self._path))
            connection = self._connection
            if connection.transport is None:
                raise ConnectionResetError("the node closed its admin socket")
            return connection.transport, connection

    def close(self) -> None:
        """Drop the connection."""
        if self._connection.transport is not None:
            self._connection.transport.abort()
        self._connection = _Connection()
