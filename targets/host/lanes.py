"""Lanes and pipes: what happens to bytes on a directed link. No socket is opened here.

A `Lane` is a directed link and the state it is in. A `Pipe` is one direction of one connection; it runs
in a lane and keeps, in order, what the lane does not let pass: bytes, and behind them the sender's end.
What it keeps is bounded: past that it stops reading, the sender's kernel fills up, and the sender feels
what it would feel on a link that had stalled.

State is read when bytes arrive and when it changes, so a change counts from that instant. Only what was
already handed to the receiver's kernel is beyond it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from targets.cluster import Delayed, LinkState, Open

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

KEPT_MAX: Final = 4 << 20  # bytes a pipe keeps before it stops reading

END: Final = b""  # what a sender that is done leaves behind its last byte


class Obedient(Protocol):
    """Who has to act when a lane turns, beyond its pipes."""

    def obey(self) -> None:
        """Read the lane's state."""


class Lane:
    """A directed link: its state, the pipes that run in it, and who else obeys it."""

    def __init__(self) -> None:
        self.state: LinkState = Open()
        self.is_open = True
        self.pipes: set[Pipe] = set()
        self.obedient: list[Obedient] = []

    def turn(self, state: LinkState) -> None:
        """Change the state at once; what may pass now passes."""
        self.state = state
        self.is_open = isinstance(state, Open)
        for each in self.obedient:
            each.obey()
        for pipe in tuple(self.pipes):
            pipe.pump()


class Pipe:
    """One direction of one connection.

    ``dial`` is called once something may pass and nobody is there to take it: a connection that is
    held is not even opened at the far side.
    """

    def __init__(
        self, lane: Lane, loop: asyncio.AbstractEventLoop, dial: Callable[[], None] | None = None
    ) -> None:
        self._lane = lane
        self._loop = loop
        self._dial = dial
        self._source: asyncio.Transport | None = None
        self._sink: asyncio.Transport | None = None
        self._kept: deque[tuple[float, bytes]] = deque()
        self._size = 0
        self._full = False  # the sink's own buffer is
        self._lost = False  # the sink is gone: whatever comes is lost
        self._timer: asyncio.TimerHandle | None = None
        lane.pipes.add(self)

    def read_from(self, source: asyncio.Transport) -> None:
        """Name where bytes come from; the pipe may dial from now on."""
        self._source = source
        self.pump()

    def write_to(self, sink: asyncio.Transport) -> None:
        """Name where they go."""
        sink.set_write_buffer_limits(high=0)  # what has to wait waits here, where the lane counts
        self._sink = sink
        self.pump()

    def take(self, data: bytes) -> None:
        """Take bytes from the sender, or its `END`."""
        if self._lane.is_open and not self._kept and not self._full and self._sink is not None and data:
            self._sink.write(data)
        elif not self._lost:
            self._kept.append((self._loop.time(), data))
            self._size += len(data)
            self.pump()

    def lose(self) -> None:
        """Lose everything from now on: nobody is there to hear it."""
        self._lost = True
        self._sink = None
        self._kept.clear()
        self._size = 0
        self._throttle()

    def block(self, *, full: bool) -> None:
        """Hear from the sink whether it takes more."""
        self._full = full
        self.pump()

    def pump(self) -> None:
        """Let pass what may pass now."""
        state = self._lane.state
        passes = self._lane.is_open or isinstance(state, Delayed)
        if passes and self._source is not None and self._dial is not None:
            dial, self._dial = self._dial, None
            dial()
        while passes and self._kept and self._sink is not None and not self._full:
            came, data = self._kept[0]
            if isinstance(state, Delayed) and self._wait(came + state.delay_ns / 1e9):
                break
            self._kept.popleft()
            self._size -= len(data)
            if not data:
                self._sink.close()
            else:
                self._sink.write(data)
        self._throttle()

    def _wait(self, due_s: float) -> bool:
        """Return whether it is too early, with a timer set for then."""
        if self._loop.time() >= due_s:
            return False
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(due_s, self.pump)
        return True

    def _throttle(self) -> None:
        if self._source is not None:
            if self._size > KEPT_MAX:
                self._source.pause_reading()
            else:
                self._source.resume_reading()

    @property
    def idle(self) -> bool:
        """Tell whether nothing is kept."""
        return not self._kept

    def close(self) -> None:
        """Leave the lane."""
        self.lose()
        if self._timer is not None:
            self._timer.cancel()
        self._lane.pipes.discard(self)
