"""Asking beside the workload: several ask the same node at once, on its one connection."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from targets.ask_http import HttpAsker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from targets.cluster import Address

BODY = b'{"answer":1}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def serving(work: Callable[[HttpAsker, Address, list[int]], Awaitable[None]], *, after_s: float) -> None:
    """Have ``work`` ask a node that answers ``after_s`` later, and count its connections."""
    connections: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        with suppress(ConnectionError):
            while await reader.read(1 << 16):
                await asyncio.sleep(after_s)
                writer.write(ANSWER)
        writer.transport.abort()

    async def run() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            asker = HttpAsker()
            host, port = server.sockets[0].getsockname()
            await work(asker, (host, port), connections)
            asker.drop()
            await asyncio.sleep(after_s + 0.1)  # until every connection has seen it

    asyncio.run(run())


def test_two_that_ask_at_once_are_both_answered_on_one_connection() -> None:
    async def work(asker: HttpAsker, address: Address, connections: list[int]) -> None:
        asked = [asker.ask(address, "/status", within_s=2) for _ in range(3)]
        assert await asyncio.gather(*asked) == [{"answer": 1}] * 3
        assert len(connections) == 1

    serving(work, after_s=0.05)


def test_one_that_gives_up_waiting_for_its_turn_takes_no_answer_from_the_other() -> None:
    async def work(asker: HttpAsker, address: Address, connections: list[int]) -> None:
        patient = asyncio.ensure_future(asker.ask(address, "/status", within_s=2))
        await asyncio.sleep(0.02)
        assert await asker.ask(address, "/status", within_s=0.05) is None
        assert await patient == {"answer": 1}
        assert len(connections) == 1

    serving(work, after_s=0.3)


def test_an_overdue_answer_is_not_taken_for_the_next_one() -> None:
    async def work(asker: HttpAsker, address: Address, connections: list[int]) -> None:
        assert await asker.ask(address, "/status", within_s=0.05) is None
        assert await asker.ask(address, "/status", within_s=2) == {"answer": 1}
        assert len(connections) == 2

    serving(work, after_s=0.15)
