"""Where somebody's client runs: in a thread and a loop of its own, for it may block or never return.

The harness lives on whatever happens in here: it reads its clock, takes signals and heals. What runs
here is waited for with a deadline, and told by the name of the client's method where that was in vain
(`calling` names tasks). The thread is a daemon: one that is stuck keeps no process alive.

    run(work)   the harness's loop waits, the work runs here
    back(ask)   the work waits, the harness's loop answers
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from targets.cluster import TargetError

from .calling import CALLED

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

BEAT_S: Final = 0.25
BLOCKED_S: Final = 10.0
"""How long the client may keep its loop from everything else before the run is given up."""
END_S: Final = 1.5
STEP_MAX_S: Final = 0.5

log = logging.getLogger(__name__)


class Aside:
    """One such thread. Everything but what is handed to `run` is called in the harness's own loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._here: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._beats = 0
        self._seen = (0, 0.0)
        self._waited_s = 0.0

    async def run(self, work: Coroutine[Any, Any, T], within_s: float) -> T:
        """Return what comes of ``work``, done in here; cancelled, and TimeoutError, after that long."""
        future = asyncio.run_coroutine_threadsafe(work, self._begun())
        return await asyncio.wait_for(asyncio.wrap_future(future), within_s)

    async def back(self, ask: Callable[[], T]) -> T:
        """From in here: have the harness's loop call ``ask``."""
        assert self._here is not None, "whoever is in here was sent by `run`"

        async def asked() -> T:
            return ask()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked(), self._here))

    def check(self) -> None:
        """Raise `TargetError` if the client has kept its loop to itself for `BLOCKED_S`.

        Time in which nobody looked does not count: all of us may have stood still.
        """
        (beats, looked_s), now_s = self._seen, time.monotonic()
        self._seen = self._beats, now_s
        if self._thread is None or beats != self._beats:
            self._waited_s = 0.0
            return
        self._waited_s += min(now_s - looked_s, STEP_MAX_S)
        if self._waited_s > BLOCKED_S:
            raise TargetError(self._blocked())

    async def end(self, farewell: Coroutine[Any, Any, None]) -> str | None:
        """Do ``farewell`` in here and end; return which method of the client's keeps it from that."""
        if self._thread is None or self._loop is None:
            farewell.close()
            return None
        loop, self._loop, self._thread = self._loop, None, None
        future = asyncio.run_coroutine_threadsafe(_end(farewell), loop)
        try:
            return await asyncio.wait_for(
                asyncio.shield(asyncio.wrap_future(future)), 2 * END_S + 2 * BEAT_S
            )
        except TimeoutError:
            return self._blocked(loop)

    def _begun(self) -> asyncio.AbstractEventLoop:
        self._here = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._work, args=(self._loop,), name="client", daemon=True
            )
            self._thread.start()
        return self._loop

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.call_soon(self._beat, loop)
        while True:
            try:
                loop.run_forever()
                break
            except BaseException as error:  # noqa: BLE001 - a task that the client began asks for our exit
                log.warning("event=client-task error=%r", type(error).__name__)
        loop.close()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._beats += 1
        loop.call_later(BEAT_S, self._beat, loop)

    def _blocked(self, loop: asyncio.AbstractEventLoop | None = None) -> str:
        task = asyncio.current_task(loop or self._loop)
        return f"{_whose(task)} blocks: it neither returns nor awaits anything"


async def _end(farewell: Coroutine[Any, Any, None]) -> str | None:
    """Do the last thing, cancel what is left, and return what goes on all the same.

    The loop stops once nothing does, if that ever comes.
    """
    last = asyncio.create_task(farewell)
    await asyncio.wait((last,), timeout=END_S)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    going: set[asyncio.Task[Any]] = set()
    if left:
        _, going = await asyncio.wait(left, timeout=END_S)
    loop = asyncio.get_running_loop()
    over = asyncio.gather(*going, return_exceptions=True)
    over.add_done_callback(lambda _: loop.call_soon(loop.stop))
    named = [task for task in going if task.get_name().startswith(CALLED)]
    return f"{_whose(next(iter([*named, *going])))} goes on although it was cancelled" if going else None


def _whose(task: asyncio.Task[Any] | None) -> str:
    name = "" if task is None else task.get_name()
    return f"your client's `{name.removeprefix(CALLED)}`" if name.startswith(CALLED) else "your client"
