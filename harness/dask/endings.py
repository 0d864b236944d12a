"""Futures of a Dask cluster as they end, each once.

A future may have ended and, before anybody looked, have its result lost with the worker that held it.
The scheduler has it made again elsewhere, so that is no end: it is waited for once more.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from .client import TICK_S, Gone

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN: Final = frozenset({"lost", "pending"})
"""What a future is whose result is being made again, in Dask's words."""


class Endings:
    """What is under way, and what of it ended: each future with its status as it was told.

    A status is looked at when its turn comes: while others were dealt with a worker may have gone. One
    that goes after that is Dask's own matter: whoever asks for the result waits for it.
    """

    def __init__(self) -> None:
        self._ended: SimpleQueue[Any] = SimpleQueue()

    def watch(self, future: Any) -> None:
        """Tell of a future once it ends."""
        future.add_done_callback(self._ended.put)

    def next(self) -> Iterator[tuple[Any, str]]:
        """Wait a tick for one; yield all that ended, if any did."""
        try:
            first = self._ended.get(timeout=TICK_S)
        except Empty:
            return
        yield from self._kept(first)
        yield from self.at_hand()

    def at_hand(self) -> Iterator[tuple[Any, str]]:
        """Yield what ended already."""
        for _ in range(self._ended.qsize()):
            yield from self._kept(self._ended.get())

    def _kept(self, future: Any) -> Iterator[tuple[Any, str]]:
        status = future.status
        if status in AGAIN:
            self.watch(future)
        else:
            yield future, status


def result_of(future: Any) -> Any:
    """Return the result of one that finished; raise `Gone` if nobody is there to send it."""
    try:
        return future.result()
    except (OSError, CancelledError) as error:
        raise Gone(f"the scheduler is gone: {' '.join(str(error).split())}") from error
