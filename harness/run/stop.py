"""Signals as a count: how often somebody asked us to stop.

The first SIGINT, SIGTERM or SIGHUP ends what goes on early and keeps what there is; a second one skips
the rest. What either means for a phase is said by whoever is in it: through ``wake``, which is called at
each signal, or with `Stop.giving_up`, which ends a block half-way.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNCHECKED: Final = "nothing was checked, as asked"


class Stop:
    """Takes signals for as long as it is entered, and restores what was there before.

    ``wake`` is called at each; without one a signal is only counted, and whoever comes next looks: with
    `noted`, or by `giving_up`, which takes up all that nobody has. None is lost between two phases.
    """

    def __init__(self) -> None:
        self.count = 0
        self._heard = 0
        self.name = ""
        self.wake: Callable[[], object] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self.name = signal.Signals(number).name
        if self.wake is not None:
            self._heard += 1
            self.wake()

    def noted(self) -> str | None:
        """Return the name of the last signal, None if none has come; those until now are taken up."""
        self._heard = self.count
        return self.name if self._heard else None

    @contextmanager
    def giving_up(self, first: Callable[[], bool]) -> Iterator[None]:
        """Let a signal end what is done in here half-way, unless ``first`` has a gentler way.

        One `KeyboardInterrupt` is raised at most, and none once the block is left.
        """

        def give_up() -> None:
            if not first():
                self.wake = None
                raise KeyboardInterrupt

        try:
            self.wake = give_up
            while self._heard < self.count:
                self._heard += 1
                give_up()
            yield
        finally:
            self.wake = None


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep signals until the block is left, so that what belongs together is done together.

    A mask would not do: it is one thread's, and a signal that another thread takes is handled in this
    one. In other threads than the main one nothing is handled, so there is nothing to keep.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda it, _: came.append(it)) for number in SIGNALS}
    try:
        yield
    finally:
        _restore(before)
        for number in came[:1]:
            signal.raise_signal(number)


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    except KeyboardInterrupt:  # one that is back took a signal that came just now
        _restore(handlers)
        raise
