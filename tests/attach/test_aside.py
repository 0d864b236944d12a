"""A client of somebody's that blocks, or goes on although it was cancelled, holds nobody else up."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from targets.attach import aside
from targets.attach.aside import Aside
from targets.attach.calling import call
from targets.cluster import TargetError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

pytestmark = pytest.mark.timeout(20)


async def nothing() -> None:
    pass


async def deaf(released: threading.Event) -> None:
    """Go on, however often it is cancelled, until the test is over."""
    while not released.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue


async def blocking(released: threading.Event) -> None:
    released.wait(20)


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Hold the client up until the test is over; then its thread ends."""
    event = threading.Event()
    before = set(threading.enumerate())
    yield event
    event.set()
    for thread in set(threading.enumerate()) - before:
        if thread.name == "client":
            thread.join(5)
            assert not thread.is_alive()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "END_S", 0.1)
    monkeypatch.setattr(aside, "BLOCKED_S", 0.6)


async def ended(work: Awaitable[None], method: str, *, of: Aside) -> str | None:
    with pytest.raises(TimeoutError):
        await of.run(call(method, work), 0.1)
    return await of.end(nothing())


def test_a_method_that_goes_on_although_cancelled_is_named(released: threading.Event) -> None:
    said = asyncio.run(ended(deaf(released), "close", of=Aside()))
    assert said == "your client's `close` goes on although it was cancelled"


def test_a_method_that_blocks_is_named(released: threading.Event) -> None:
    said = asyncio.run(ended(blocking(released), "read", of=Aside()))
    assert said == "your client's `read` blocks: it neither returns nor awaits anything"


def test_a_method_that_blocks_ends_the_run_and_not_only_at_its_end(released: threading.Event) -> None:
    async def looking() -> None:
        thread = Aside()
        with pytest.raises(TimeoutError):
            await thread.run(call("leading", blocking(released)), 0.1)
        try:
            while True:
                thread.check()
                await asyncio.sleep(0.05)
        finally:
            released.set()
            await thread.end(nothing())

    with pytest.raises(TargetError, match=r"your client's `leading` blocks"):
        asyncio.run(looking())


def test_nobody_is_accused_of_the_time_in_which_nobody_looked() -> None:
    async def looking() -> str | None:
        thread = Aside()
        await thread.run(nothing(), 1)
        thread.check()
        thread._seen = (thread._beats, -1000.0)  # as after a suspend
        thread.check()
        return await thread.end(nothing())

    assert asyncio.run(looking()) is None


def test_a_task_that_a_client_began_may_exit_and_ends_nothing() -> None:
    async def exits() -> None:
        raise SystemExit(3)

    async def begins() -> None:
        asyncio.get_running_loop().call_soon(partial(asyncio.ensure_future, exits()))

    async def asking() -> int:
        thread = Aside()
        await thread.run(begins(), 1)
        await asyncio.sleep(0.05)
        answer = await thread.run(thread.back(lambda: 7), 1)
        assert await thread.end(nothing()) is None
        return answer

    assert asyncio.run(asking()) == 7
