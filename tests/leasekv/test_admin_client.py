"""The tester's end of an admin socket: what was certainly not asked, and what may have been heard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from targets.cluster import TargetError, Unsupported
from targets.leasekv import admin
from targets.leasekv.admin_client import AdminClient

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

DONE = admin.encode(admin.Done())


def asking(
    path: Path,
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    work: Callable[[AdminClient], Coroutine[Any, Any, None]],
) -> None:
    """Ask a node that serves its admin socket like this."""

    async def run() -> None:
        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await serve(reader, writer)
            finally:
                writer.close()

        server = await asyncio.start_unix_server(served, path / "admin")
        client = AdminClient("n1", path / "admin")
        try:
            await work(client)
        finally:
            client.close()
            server.close()
            await asyncio.sleep(0.05)

    asyncio.run(run())


def test_a_question_that_was_never_sent_is_unsupported(tmp_path: Path) -> None:
    client = AdminClient("n1", tmp_path / "nobody")
    with pytest.raises(Unsupported, match="n1 cannot be asked"):
        asyncio.run(client.turn(admin.Campaign(), within_s=1.0))
    assert asyncio.run(client.status(within_s=1.0)) is None


def test_a_connection_lost_after_the_question_was_sent_leaves_it_unsure(tmp_path: Path) -> None:
    async def hear_and_go(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.readline()

    async def work(client: AdminClient) -> None:
        with pytest.raises(TimeoutError, match="n1 was asked and did not answer"):
            await client.turn(admin.SetApplyDelay(1), within_s=5.0)

    asking(tmp_path, hear_and_go, work)


def test_a_silent_node_leaves_it_unsure(tmp_path: Path) -> None:
    async def hear(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def work(client: AdminClient) -> None:
        with pytest.raises(TimeoutError, match=r"n1 did not answer its admin socket in 0\.05 s"):
            await client.turn(admin.Campaign(), within_s=0.05)

    asking(tmp_path, hear, work)


def test_a_poll_that_times_out_does_not_take_a_campaign_along(tmp_path: Path) -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        await reader.readline()
        await asyncio.sleep(0.3)
        writer.write(DONE + admin.encode(admin.Denied("the poll's own answer, too late")))
        await writer.drain()
        await reader.read()

    async def work(client: AdminClient) -> None:
        campaign = asyncio.ensure_future(client.turn(admin.Campaign(), within_s=5.0))
        await asyncio.sleep(0.05)
        assert await client.status(within_s=0.05) is None
        await campaign

    asking(tmp_path, slow, work)


def test_the_late_answer_to_one_question_is_not_given_to_the_next(tmp_path: Path) -> None:
    connections = []

    async def late_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await reader.readline()
        if len(connections) == 1:
            await asyncio.sleep(0.2)
            writer.write(admin.encode(admin.Denied("late")))
        else:
            writer.write(DONE)
        await reader.read()

    async def work(client: AdminClient) -> None:
        assert await client.status(within_s=0.05) is None
        await asyncio.sleep(0.3)
        await client.turn(admin.Campaign(), within_s=5.0)

    asking(tmp_path, late_once, work)
    assert len(connections) == 2


def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    async def deny(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(admin.encode(admin.Denied("no")))
        await reader.read()

    async def work(client: AdminClient) -> None:
        with pytest.raises(TargetError, match="n1 refused"):
            await client.turn(admin.Campaign(), within_s=5.0)

    asking(tmp_path, deny, work)
