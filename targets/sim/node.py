"""One leasekv node in virtual time: the core, and what its driver owes it.

A paused node takes nothing; what comes meanwhile waits, connection by connection, and goes before its
timers when it comes back, as it does in a process. A killed one loses that, and of its disk what was
not synced. One whose core raises, or whose log is damaged, ends by itself and says why, as a process
does: what is wrong in the target is no failure of the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from checker.evidence import EvidenceLine
from targets.cluster import NodeStatus, ProcessState
from targets.leasekv.config import NodeConfig, build_rules
from targets.leasekv.core import Core
from targets.leasekv.moments import Sync
from targets.leasekv.ports import Input, Persisted, TimerDue, TimeTold
from targets.leasekv.wal import Damaged

from .guard import Escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets.leasekv.ports import Ready

    from .clock import NodeClock
    from .disk import SimDisk
    from .draws import Draws
    from .heap import Heap
    from .weather import Weather

    Watch = Callable[["SimNode", Input, Ready], None]

DISK = "disk"


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of a node.

    ``let_out`` carries messages and replies away, ``ended`` hears that it ended by itself. ``watch``
    sees every step before anything of it is let out: with the node's core beside it, whoever holds
    invariants can look at them at every instant there is.
    """

    let_out: Callable[[SimNode, Ready], None]
    ended: Callable[[SimNode], None]
    watch: Watch | None = None


class SimNode:
    """``lines`` is the node's evidence, ``core`` is None while it is gone.

    ``last_words`` say why it ended, if it did by itself.
    """

    def __init__(
        self,
        config: NodeConfig,
        heap: Heap,
        *,
        clock: NodeClock,
        disk: SimDisk,
        weather: Weather,
        draws: Draws,
        listeners: Listeners,
    ) -> None:
        self.name = config.node
        self.clock = clock
        self.disk = disk
        self.lines: list[EvidenceLine] = []
        self.process = ProcessState.GONE
        self.core: Core | None = None
        self.last_words: str | None = None
        self._config = config
        self._rules = build_rules(config)
        self._heap = heap
        self._draws = draws
        self._let_out = listeners.let_out
        self._ended = listeners.ended
        self._watch = listeners.watch
        self._late_max_ns = weather.timer_late_max_ns
        self._shuffle = weather.shuffle
        self._suspend_ppm = weather.suspend_ppm
        self._inbox: list[tuple[str | int, Input]] = []
        self._time_heard = True
        self._wake_ns = -1
        self._alarm_ns = -1

    @property
    def running(self) -> bool:
        """Whether it takes input now."""
        return self.process is ProcessState.RUNNING

    # Life.

    def boot(self) -> None:
        """Start with what the disk holds."""
        try:
            restored = self.disk.start_boot()
        except Damaged as error:
            self._say_last(str(error))
            return
        rng = Random(f"{self._config.seed}/{self.name}/{restored.boot}")
        reading = self.clock.read(self._heap.now_ns)
        self.core = Core(self._config, self._rules, restored, rng, reading)
        self.process = ProcessState.RUNNING
        self._wake_ns = -1
        self._time_heard = True
        self._step(TimerDue())
        if self._config.synced:
            self._tell_time(restored.boot)

    def _tell_time(self, boot: int) -> None:
        """Be its time service: say what time it is, a little off, and again soon."""
        if self.process is ProcessState.GONE or self.disk.boot != boot:
            return
        now_ns, off_ns = self._heap.now_ns, self._config.sync_error_ns
        self._heap.at(now_ns + self._config.sync_ns, self._tell_time, boot)
        if self.running and self._time_heard:
            early_ns, late_ns = (self._draws.between(0, off_ns) for _ in range(2))
            reading = self.clock.read(now_ns)
            self._step(TimeTold(Sync(reading, now_ns - early_ns, now_ns + late_ns)))

    def set_time_service(self, *, heard: bool) -> None:
        """Hear it or not, until the next boot."""
        self._time_heard = heard

    def kill(self) -> None:
        """End at once."""
        self.process = ProcessState.GONE
        self.core = None
        self._inbox.clear()
        self.disk.crash()
        self.clock.wake(self._heap.now_ns)

    def _say_last(self, why: str) -> None:
        self.last_words = why
        self._ended(self)

    def pause(self) -> None:
        """Stop, or be suspended."""
        if self.process is ProcessState.RUNNING:
            self.process = ProcessState.STOPPED
            if self._draws.chance(self._suspend_ppm):
                self.clock.suspend(self._heap.now_ns)

    def suspend(self) -> None:
        """Stop with the host: monotonic time stands still as well."""
        if self.process is ProcessState.RUNNING:
            self.process = ProcessState.STOPPED
            self.clock.suspend(self._heap.now_ns)

    def resume(self) -> None:
        """Go on: first what came meanwhile, then the timers."""
        if self.process is not ProcessState.STOPPED:
            return
        self.process = ProcessState.RUNNING
        self.clock.wake(self._heap.now_ns)
        waiting, self._inbox = self._inbox, []
        for event in self._in_order(waiting):
            if self.running:  # none of them was its last
                self._step(event)
        self.rearm()

    def _in_order(self, waiting: list[tuple[str | int, Input]]) -> list[Input]:
        """Return what waited, source by source where they come in any order."""
        if not self._shuffle:
            return [event for _, event in waiting]
        queues: dict[str | int, list[Input]] = {}
        for source, event in waiting:
            queues.setdefault(source, []).append(event)
        sources = list(queues)
        order: list[Input] = []
        while sources:
            order += queues[sources.pop(self._draws.between(0, len(sources) - 1))]
        return order

    # Input.

    def feed(self, source: str | int, event: Input) -> None:
        """Take an input that came over ``source``, now or when it can."""
        if self.process is ProcessState.RUNNING:
            self._step(event)
        elif self.process is ProcessState.STOPPED:
            self._inbox.append((source, event))

    def _step(self, event: Input) -> None:
        assert self.core is not None, "only a node that runs is fed"
        now_ns = self._heap.now_ns
        reading = self.clock.read(now_ns)
        try:
            ready = self.core.step(event, reading)
        except Escaped:
            raise
        except Exception as error:  # noqa: BLE001 - a process's edge: it ends, and says why
            self.kill()
            self._say_last(f"{type(event).__name__} broke the core: {error!r}")
            return
        if ready.facts:
            own_ns, wall_ns, true_ns = reading.mono_ns, reading.wall_ns, (now_ns, now_ns)
            name = self.name
            self.lines += [EvidenceLine(name, own_ns, wall_ns, true_ns, fact) for fact in ready.facts]
        if ready.persist is not None and self.disk.take(ready.persist):
            self._sync()
        if self._watch is not None:
            self._watch(self, event, ready)
        if ready.messages or ready.replies:
            self._let_out(self, ready)
        self._arm()

    def set_sync_delay(self, delay_ns: int) -> None:
        """Make syncs this much slower; what no longer is ends."""
        before_ns = self.disk.ends_ns
        self.disk.set_delay(delay_ns)
        if self.disk.syncing and self.disk.ends_ns != before_ns:
            self._await_sync()

    def _sync(self) -> None:
        if self.disk.start_sync(self._heap.now_ns):
            self._await_sync()

    def _await_sync(self) -> None:
        ends_ns = self.disk.ends_ns
        self._heap.at(max(ends_ns, self._heap.now_ns), self._synced, self.disk.boot, ends_ns)

    def _synced(self, boot: int, ends_ns: int) -> None:
        disk = self.disk
        if not disk.syncing or (boot, ends_ns) != (disk.boot, disk.ends_ns):
            return  # a kill or a heal came in between
        seq = self.disk.end_sync()
        self._sync()
        self.feed(DISK, Persisted(seq))

    # Time.

    def rearm(self) -> None:
        """Look at the timer anew: the clock was bent."""
        if self.running:
            self._wake_ns = -1
            self._arm()

    def _arm(self) -> None:
        """See to it that the node is woken when its core wants to be.

        Nearly every step wants another time, and hardly any of them comes. So one alarm is on the heap,
        and one that rings too early is set anew.
        """
        assert self.core is not None
        now_ns = self._heap.now_ns
        due_ns = max(self.clock.true_at(self.core.wake_ns), now_ns)
        if self._wake_ns < now_ns or due_ns < self._wake_ns:
            self._wake_ns = due_ns + self._draws.between(0, self._late_max_ns)
            if not now_ns <= self._alarm_ns <= self._wake_ns:
                self._set_alarm()

    def _set_alarm(self) -> None:
        self._alarm_ns = self._wake_ns
        self._heap.at(self._alarm_ns, self._rings, self._alarm_ns)

    def _rings(self, alarm_ns: int) -> None:
        if alarm_ns != self._alarm_ns:
            return  # an earlier one took its place
        self._alarm_ns = -1
        if self.process is not ProcessState.RUNNING:
            return
        if alarm_ns != self._wake_ns:
            self._set_alarm()
            return
        self._wake_ns = -1
        assert self.core is not None
        if self.clock.read(alarm_ns).mono_ns >= self.core.wake_ns:
            self._step(TimerDue())
        else:
            self._arm()

    # What it says of itself.

    def status(self) -> NodeStatus | None:
        """Ask it; None if it cannot answer."""
        if not self.running:
            return None
        assert self.core is not None
        own = self.clock.read(self._heap.now_ns)
        known = self.core.status(own)
        return NodeStatus(
            node=self.name,
            role=known.role,
            term=known.term,
            leader=known.leader,
            commit_index=known.commit_index,
            applied_index=known.applied_index,
            lease_remaining_ns=known.lease_remaining_ns,
            own=own,
            true_ns=self._heap.now_ns,
            boot=known.boot,
            members=known.members,
            handing_over_to=known.handing_over_to,
        )
