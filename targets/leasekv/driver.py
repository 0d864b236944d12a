"""The thin hand of a leasekv node: carries inputs into the core and its Readys out, in order.

One turn of the event loop is one batch. Every input of the turn is stepped as it arrives, straight
from ``data_received``, and those callbacks go before timers that came due meanwhile (see `_pulse`), so
what was queued at a node while it was stopped is answered before a timer can tell it how long it was
gone. At the end of the turn::

    facts -> evidence      one write, before anything that rests on them is heard
    messages, replies -> network
    persists -> disk       one record, one sync, however many steps they came from
    Persisted -> core      whose facts, messages and replies go round once more

There is no ``if`` about consensus here. There is one about time: the loop never waits longer than
``pulse_ns`` in one go, because a wait in the kernel is not scaled by every means of bending a clock; so
a node whose clock runs fast still sees its timers in its own time.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from checker.evidence import Booted, ClockAnomaly, Fact, Revoked, RoleChanged, TermChanged

from .moments import Sync
from .ports import Input, Persist, Persisted, Ready, TimerDue, TimeTold

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Sequence

    from targets.clock import Reading
    from targets.trueclock import Clocks, Stamp

    from .messages import PeerMessage, Response

log: Final = logging.getLogger(__name__)

REARM_MIN_S: Final = 0.0002  # a core that always wants to wake may not starve the sockets

_TOLD: Final = frozenset({Booted, TermChanged, RoleChanged, Revoked, ClockAnomaly})


class CoreLike(Protocol):
    """What drives itself by `targets.leasekv.ports`: the core, or a test's stand-in."""

    @property
    def wake_ns(self) -> int:
        """Return when to feed `TimerDue`, on the own monotonic clock."""

    def step(self, event: Input, reading: Reading) -> Ready:
        """Take one input."""


class Disk(Protocol):
    """What makes a batch durable."""

    def sync(self, batch: Sequence[Persist]) -> None:
        """Return once all of it is."""


class Journal(Protocol):
    """What keeps facts."""

    def add(self, facts: Iterable[Fact], stamp: Stamp) -> None:
        """Keep the facts of one step."""

    def flush(self) -> None:
        """Let everybody see what was added."""


class Network(Protocol):
    """What carries messages and replies; it may lose them."""

    def send(self, messages: Sequence[tuple[str, PeerMessage]]) -> None:
        """Send to peers."""

    def reply(self, replies: Sequence[tuple[int, Response]]) -> None:
        """Answer clients."""


@dataclass(frozen=True, slots=True)
class TimeService:
    """How often it speaks, and how far off what it says may be."""

    every_ns: int
    error_ns: int


class Driver:
    """Drives one core on one event loop."""

    def __init__(
        self,
        core: CoreLike,
        loop: asyncio.AbstractEventLoop,
        *,
        clocks: Clocks,
        journal: Journal,
        disk: Disk,
        network: Network,
        pulse_ns: int,
        time_service: TimeService | None = None,
    ) -> None:
        self._core = core
        self._loop = loop
        self._clocks = clocks
        self._journal = journal
        self._disk = disk
        self._network = network
        self._pulse_ns = pulse_ns
        self._time_service = time_service
        self._time_heard = True
        self._sync_delay_ns = 0
        self._late: tuple[asyncio.TimerHandle, float] | None = None  # and when it was asked for
        self._turning = False
        self._messages: list[tuple[str, PeerMessage]] = []
        self._replies: list[tuple[int, Response]] = []
        self._unsynced: list[Persist] = []
        self._timer: asyncio.Handle | None = None
        self._timer_ns = 0

    def start(self) -> None:
        """Begin to feed timers; the first is due at once, so that the core's first effects come out."""
        self.feed(TimerDue())
        self._tell_time()

    def stop(self) -> None:
        """Feed no more timers."""
        if self._timer is not None:
            self._timer.cancel()

    def _tell_time(self) -> None:
        """Say what time it truly is, and that this may be a little off; and again soon."""
        service = self._time_service
        if service is None:
            return
        if self._time_heard:
            stamp = self._clocks.stamp()
            before_ns, after_ns = stamp.true_ns
            span = Sync(stamp.own, before_ns - service.error_ns, after_ns + service.error_ns)
            self.feed(TimeTold(span))
        self._loop.call_later(service.every_ns / 1e9, self._tell_time)

    def set_sync_delay(self, delay_ns: int) -> None:
        """Take this much longer to sync (a tester's knob); what is late waits no longer than that."""
        self._sync_delay_ns = delay_ns
        if self._late is not None:
            timer, asked_s = self._late
            due_s = asked_s + delay_ns / 1e9
            if due_s < timer.when():
                timer.cancel()
                self._late = self._loop.call_at(due_s, self._sync_late), asked_s

    def set_time_service(self, *, heard: bool) -> None:
        """Hear the time service or not (a tester's knob); unheard, what time it is gets vaguer."""
        self._time_heard = heard

    def feed(self, event: Input) -> None:
        """Step the core at once; what it wants done is done at the end of this turn of the loop."""
        stamp = self._clocks.stamp()
        ready = self._core.step(event, stamp.own)
        if ready.facts:
            self._journal.add(ready.facts, stamp)
            for fact in ready.facts:
                if type(fact) in _TOLD:
                    _tell(fact)
        if ready.persist is not None:
            self._unsynced.append(ready.persist)
        if ready.messages:
            self._messages += ready.messages
        if ready.replies:
            self._replies += ready.replies
        if not self._turning:
            self._turning = True
            self._loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._let_out()
        while self._unsynced and self._late is None:
            if self._sync_delay_ns:
                now_s = self._loop.time()
                due_s = now_s + self._sync_delay_ns / 1e9
                self._late = self._loop.call_at(due_s, self._sync_late), now_s
                break
            self._sync()
            self._let_out()
        self._turning = False
        self._arm()

    def _let_out(self) -> None:
        self._journal.flush()
        if self._messages:
            messages, self._messages = self._messages, []
            self._network.send(messages)
        if self._replies:
            replies, self._replies = self._replies, []
            self._network.reply(replies)

    def _sync(self) -> None:
        batch, self._unsynced = self._unsynced, []
        self._disk.sync(batch)
        self.feed(Persisted(batch[-1].seq))

    def _sync_late(self) -> None:
        """Sync what was waiting when the delay began, and what came in the meantime."""
        self._late = None
        self._sync()

    def _arm(self) -> None:
        wake_ns = self._core.wake_ns
        now_ns = self._clocks.mono_ns()
        due_ns = min(wake_ns, now_ns + self._pulse_ns)
        if self._timer is not None:
            if self._timer_ns <= due_ns:
                return
            self._timer.cancel()
        self._timer_ns = due_ns
        self._timer = self._loop.call_later(max(REARM_MIN_S, (due_ns - now_ns) / 1e9), self._pulse)

    def _pulse(self) -> None:
        """Let the loop look at its sockets once more before the timer is fed.

        A node that was stopped finds its wait in the kernel interrupted and its time over: Python's
        selector then reports no socket at all, and the due timer would overtake what is queued there.
        """
        self._timer = self._loop.call_soon(self._after_sockets, self._clocks.mono_ns())

    def _after_sockets(self, pulsed_ns: int) -> None:
        """Wait for one turn more: what is ready in this one comes behind this callback."""
        self._timer = self._loop.call_soon(self._due, pulsed_ns)

    def _due(self, pulsed_ns: int) -> None:
        """Feed a timer that was due when the sockets were looked at, else look again."""
        self._timer = None
        if pulsed_ns >= self._core.wake_ns:
            self.feed(TimerDue())
        else:
            self._arm()


def _tell(fact: Fact) -> None:
    match fact:
        case Booted(boot, term):
            log.info("event=boot boot=%d term=%d", boot, term)
        case TermChanged(term):
            log.info("event=term term=%d", term)
        case RoleChanged(term, role):
            log.info("event=role term=%d role=%s", term, role)
        case Revoked(term, reason):
            log.info("event=revoke term=%d reason=%s", term, reason)
        case ClockAnomaly(term, kind, size_ns):
            log.warning("event=anomaly term=%d kind=%s size_ms=%.1f", term, kind, size_ns / 1e6)
        case _:
            pass
