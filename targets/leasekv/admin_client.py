"""The tester's end of a node's admin socket: one connection, kept while the node answers.

A node that is stopped, dead or drowning in work does not answer. What matters then is whether the
question was sent: one that was not is `Unsupported`, any other may have been heard: ``TimeoutError``.

Answers come in the order of the questions, so a question that was given up leaves its answer behind. It
is thrown away if others still wait behind it on the connection, which is dropped otherwise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from targets.cluster import TargetError, Unsupported
from targets.leasekv import admin

if TYPE_CHECKING:
    from pathlib import Path

    from targets.cluster import NodeStatus


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

    @property
    def abandoned(self) -> bool:
        """Whether answers are under way, and nobody waits for any of them."""
        return bool(self.awaited) and all(future.done() for future in self.awaited)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        for future in self.awaited:
            if not future.done():
                future.set_exception(exc or ConnectionResetError("the node closed its admin socket"))


class AdminClient:
    """Asks one node. ``node`` is its name, for messages."""

    def __init__(self, node: str, path: Path) -> None:
        self._node = node
        self._path = path
        self._connection = _Connection()
        self._opening = asyncio.Lock()

    async def status(self, *, within_s: float) -> NodeStatus | None:
        """Return what the node says of itself, None if it does not answer."""
        try:
            answer = await self.ask(admin.Status(), within_s=within_s)
        except (Unsupported, TimeoutError):
            return None
        return answer.status if isinstance(answer, admin.Told) else None

    async def metrics(self, *, within_s: float) -> str | None:
        """Return the node's metrics in Prometheus' text format, None if it does not answer."""
        try:
            answer = await self.ask(admin.Metrics(), within_s=within_s)
        except (Unsupported, TimeoutError):
            return None
        return answer.text if isinstance(answer, admin.Scraped) else None

    async def turn(self, knob: admin.Ask, *, within_s: float) -> None:
        """Have the node do something; as `ask`, and `TargetError` if it refuses."""
        answer = await self.ask(knob, within_s=within_s)
        if not isinstance(answer, admin.Done):
            raise TargetError(f"{self._node} refused {knob!r} on its admin socket: {answer!r}")

    async def ask(self, question: admin.Ask, *, within_s: float) -> admin.Answer:
        """Return the node's answer.

        Raise `Unsupported` if nothing was sent, ``TimeoutError`` if the node may have heard it.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + within_s
        try:
            async with asyncio.timeout_at(deadline_s):
                transport, connection = await self._open()
        except OSError as error:  # TimeoutError is one
            raise Unsupported(f"{self._node} cannot be asked: {error!r}") from error
        future: asyncio.Future[admin.Answer] = loop.create_future()
        connection.awaited.append(future)
        try:
            async with asyncio.timeout_at(deadline_s):
                transport.write(admin.encode(question))
                return await future
        except TimeoutError:
            sentence = f"{self._node} did not answer its admin socket in {within_s:g} s"
            raise TimeoutError(sentence) from None
        except OSError as error:
            raise TimeoutError(f"{self._node} was asked and did not answer: {error}") from error
        finally:
            future.cancel()
            if connection.abandoned:
                transport.abort()
                connection.transport = None

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
