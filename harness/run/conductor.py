"""The run as one pure machine: clients, workload, nemesis and recording rules, conducted.

What lives here: who is told of what happened, and what becomes of what they want. The parts know nothing
of each other: `Seats` go on with operations, a `Relay` has the nemesis's orders booked, `Recovery` knows
whether the cluster is well, `Phases` say when something begins and ends. What never lives here: a
socket, a file, a clock.

A driver feeds `Conductor.step` with what happened and the time, carries the effects out in the order
given, and calls again with `WakeUp` once ``wake_ns`` is reached. Two drivers can do that: asyncio on
real processes, and a heap of virtual events in the simulator.

Nothing that a session, the workload or the nemesis raises ends the run. The failure is kept, the seat
stays empty (a broken nemesis has its faults healed), the rest goes on and is checked. Such a run is a
harness failure, unless it proves a violation all the same.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

from harness.bugs import traceback_of
from nemesis.ports import Happened, Heal, Inject, Note, Probe, StatusSeen
from targets.clock import MS
from targets.cluster import Role

from .phases import Phases
from .ports import (
    AddEvent,
    Broken,
    ConductorEffect,
    ConductorInput,
    Failed,
    Finished,
    ForProcess,
    FromSession,
    Interrupt,
    NemesisMachine,
    NodeGone,
    NodeStopped,
    Phase,
    PollStatus,
    WakeUp,
)
from .recorder import Recorder
from .recovery import Recovery
from .relay import Relay, Remark
from .seats import Ended, Seats
from .supply import Supply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nemesis.faults import Fault
    from targets.session import Session

    from .phases import PhaseEffect
    from .ports import Timing
    from .supply import Source

POLL_NS: Final = 20 * MS
FAILURES_KEPT: Final = 20
ALONE: Final = (
    "(no fault of this run did it): keep people, debuggers, supervisors and memory limits off its nodes,"
    " and run it again"
)


class Conductor:
    """See the module. ``failures`` and ``interrupted`` say why a run cannot pass, if so.

    ``leaders`` are the nodes that were seen leading, by term.
    """

    def __init__(
        self,
        nodes: Sequence[str],
        *,
        generator: Source,
        machine: NemesisMachine,
        session: Callable[[], Session],
        timing: Timing,
    ) -> None:
        self._failures: dict[str, tuple[str, int]] = {}
        self._bugs: list[Exception | str] = []
        self.interrupted: str | None = None
        self.recorder = Recorder()
        self.recovery = Recovery(nodes)
        supply = Supply(generator)
        self._seats = Seats(supply, session=session, recorder=self.recorder)
        self._relay = Relay(machine, roles=lambda: self.recovery.roles)
        self._phases = Phases(
            timing,
            supply=supply,
            seats=self._seats,
            relay=self._relay,
            recovery=self.recovery,
            recorder=self.recorder,
        )
        self._poll_ns = 0
        self._lost: set[str] = set()
        self.leaders: dict[int, str] = {}
        self._effects: list[ConductorEffect] = []

    @property
    def phase(self) -> Phase:
        """Where the run is."""
        return self._phases.phase

    @property
    def load_ns(self) -> tuple[int, int] | None:
        """When the load began and ended, or is to end; None before it."""
        return self._phases.load_ns

    @property
    def unread(self) -> int:
        """How many final reads were not answered."""
        return self._phases.unread

    @property
    def silent(self) -> frozenset[str]:
        """The nodes that answered no final read, of those with a part in the healed cluster."""
        return self._phases.silent

    @property
    def unseen(self) -> tuple[str, ...]:
        """The keys that no node answered a final read of."""
        return self._phases.unseen

    @property
    def unsettled(self) -> bool:
        """Whether the cluster did not settle after the heal in time."""
        return self._phases.unsettled

    @property
    def standing(self) -> dict[int, Fault]:
        """Faults ordered and not known to be healed."""
        return self._relay.standing

    @property
    def notes(self) -> list[tuple[int, Note]]:
        """What the nemesis had to say, and when."""
        return self._relay.notes

    @property
    def wake_ns(self) -> int | None:
        """When to feed `WakeUp`; None once the run is over."""
        phases = self._phases
        if phases.phase is Phase.DONE:
            return None
        soonest_ns = self._poll_ns
        if (until_ns := phases.until_ns) is not None and until_ns < soonest_ns:
            soonest_ns = until_ns
        if (seats_ns := self._seats.wake_ns) is not None and seats_ns < soonest_ns:
            soonest_ns = seats_ns
        if (relay_ns := self._relay.wake_ns) is not None and relay_ns < soonest_ns:
            soonest_ns = relay_ns
        return soonest_ns

    def step(self, event: ConductorInput, now_ns: int) -> list[ConductorEffect]:
        """Take what happened; return what to do, in order."""
        self._effects = []
        phases = self._phases
        if phases.phase is not Phase.DONE:
            phases.begin(now_ns)
            self._take(event, now_ns)
            self._do(phases.advance(now_ns), now_ns)
        return self._effects

    def _take(  # noqa: C901 - one case an input
        self, event: ConductorInput, now_ns: int
    ) -> None:
        """Tell whoever it concerns."""
        match event:
            case FromSession():
                self._do(self._seats.tell(event.process, event.event, now_ns), now_ns)
            case WakeUp():
                self._wake(now_ns)
            case StatusSeen():
                status = event.status
                self.recovery.see(status, now_ns)
                if status.role is Role.LEADER:
                    self.leaders.setdefault(status.term, status.node)
                self._do(self._relay.tell(event, now_ns), now_ns)
            case Happened():
                self._do(self._relay.tell(event, now_ns), now_ns)
            case NodeGone(node, code):
                if not self.down(node):
                    self._lose(node, _how_ended(code), now_ns)
            case NodeStopped(node):
                if not self._relay.frozen(node):
                    self._lose(node, f"was stopped by somebody else {ALONE}", now_ns)
            case Interrupt(reason):
                self.interrupted = self.interrupted or reason
                self._do(self._phases.shorten(now_ns), now_ns)
            case Broken(reason, traceback):
                self._fail(reason, bug=traceback)
                self._do(self._phases.shorten(now_ns), now_ns)

    def down(self, node: str) -> bool:
        """Whether a fault of this run's has ended this node, or is about to."""
        return self._relay.down(node)

    def _wake(self, now_ns: int) -> None:
        if now_ns >= self._poll_ns:
            self._poll_ns = now_ns + POLL_NS
            self._effects.append(PollStatus())
        self._do(self._seats.wake(now_ns), now_ns)
        self._do(self._relay.wake(now_ns), now_ns)

    def _do(self, effects: Iterable[PhaseEffect], now_ns: int) -> None:
        """Do what a part wants, each thing before the next is asked for."""
        for effect in effects:
            match effect:
                case ForProcess() | AddEvent():
                    self._effects.append(effect)
                case Ended():
                    completed = effect.completed
                    self.recovery.ended(completed, invoked_ns=effect.invoked_ns, now_ns=now_ns)
                    self._do(self._relay.tell(completed, now_ns), now_ns)
                case Inject() | Heal() | Finished():
                    self._effects.append(effect)
                case Probe():
                    self._do(self._seats.probe(effect, now_ns), now_ns)
                case Remark(f, value):
                    self._effects.append(AddEvent(self.recorder.nemesis(f, value, now_ns=now_ns)))
                case Failed(reason, kind, bug):
                    self._fail(reason, kind, bug=bug)

    def _lose(self, node: str, how: str, now_ns: int) -> None:
        """End the run early: what it would show is not what its plan says. Said once of a node."""
        if node not in self._lost:
            self._lost.add(node)
            self._fail(f"{node} {how}")
            self._do(self._phases.shorten(now_ns), now_ns)

    def _fail(self, reason: str, kind: str | None = None, *, bug: Exception | str | None = None) -> None:
        kind = reason if kind is None else kind
        known = kind in self._failures
        if known or len(self._failures) < FAILURES_KEPT:
            first, count = self._failures.get(kind, (reason, 0))
            self._failures[kind] = (first, count + 1)
            if bug is not None and not known:
                self._bugs.append(bug)

    @property
    def failures(self) -> list[str]:
        """What went wrong, in order: of each kind the first, and how many more there were."""
        return [
            first if count == 1 else f"{first} (and {count - 1} more of the kind)"
            for first, count in self._failures.values()
        ]

    @property
    def tracebacks(self) -> list[str]:
        """Those of the failures that are bugs of ours. Reads the source's files: not in virtual time."""
        return [bug if isinstance(bug, str) else traceback_of(bug) for bug in self._bugs]


def _how_ended(code: int | None) -> str:
    """Return how a node's process ended that no fault was to end, to follow its name."""
    if code is None:
        return "ended by itself; its log says why"
    if code >= 0:
        return f"ended by itself with code {code}; its log says why"
    names = {number.value: number.name for number in signal.Signals}
    return f"was killed by somebody else with {names.get(-code, f'signal {-code}')} {ALONE}"
