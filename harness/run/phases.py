"""The phases of a run: which one it is in, what ends it, and what begins with the next.

::

    WAIT_READY -> LOAD -> HEAL -> SETTLE -> DRAIN -> FINAL -> DONE
                             `--- cut short ---^  `-- cut short --^

The load goes on while faults are healed and while the cluster settles: how soon reads and writes come
back is part of what a run observes. DRAIN waits for what is in flight; FINAL reads every key at every
node. A run is *cut short* by an interruption or by something it cannot go on without.

Every phase has a bound. Like those of the parts it goes by, effects are to be carried out one by one,
each before the next is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.ports import HealNow

from .final import EACH_MAX_NS
from .ports import Failed, Finished, Phase, Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .recorder import Recorder
    from .recovery import Recovery
    from .relay import Relay, RelayEffect
    from .seats import SeatEffect, Seats
    from .supply import Supply

    PhaseEffect = SeatEffect | RelayEffect | Finished


class Phases:
    """See the module. ``load_ns`` is when the load began and ended, or is to end."""

    def __init__(
        self,
        timing: Timing,
        *,
        supply: Supply,
        seats: Seats,
        relay: Relay,
        recovery: Recovery,
        recorder: Recorder,
    ) -> None:
        self.phase = Phase.WAIT_READY
        self.until_ns: int | None = None  # the bound of this phase; from the first step on
        self.load_ns: tuple[int, int] | None = None
        self.unread = 0
        self.silent: frozenset[str] = frozenset()
        self.unseen: tuple[str, ...] = ()
        self.unsettled = False
        self._timing = timing
        self._supply = supply
        self._seats = seats
        self._relay = relay
        self._recovery = recovery
        self._recorder = recorder
        self._cut_short = False

    def begin(self, now_ns: int) -> None:
        """Start waiting for the cluster; nothing if that has begun already."""
        if self.until_ns is None:
            self.until_ns = now_ns + self._timing.ready_max_ns

    def advance(self, now_ns: int) -> Iterable[PhaseEffect]:
        """Move on as far as the phase's condition or its bound allows."""
        assert self.until_ns is not None, "a run begins before it advances"
        if self.phase is Phase.LOAD and now_ns < self.until_ns:
            return ()  # nearly every time
        return self._advance(now_ns)

    def _advance(self, now_ns: int) -> Iterator[PhaseEffect]:
        before = None
        while before is not self.phase and self.phase is not Phase.DONE:
            before = self.phase
            assert self.until_ns is not None, "a run begins before it advances"
            late = now_ns >= self.until_ns
            match self.phase:
                case Phase.WAIT_READY if self._recovery.agreed(since_ns=0):
                    yield from self._load(now_ns)
                case Phase.WAIT_READY if late:
                    yield Failed("the cluster never became ready: no leader that every node follows")
                    yield from self._finish()
                case Phase.LOAD if late:
                    yield from self._heal(now_ns)
                case Phase.HEAL if late or not self._relay.busy:
                    yield from self._settle(now_ns, late=late)
                case Phase.SETTLE if late or self._settled(now_ns):
                    self.unsettled = late and self._timing.settle_max_ns > 0  # else nobody waited
                    self._drain(now_ns)
                case Phase.DRAIN if late or not self._recorder.open:
                    yield from self._final(now_ns)
                case Phase.FINAL if late or not (self._supply.owed or self._recorder.open):
                    self.unread, self.silent = self._supply.unread, self._supply.silent
                    self.unseen = self._supply.unseen
                    yield from self._finish()
                case _:
                    pass

    def shorten(self, now_ns: int) -> Iterator[PhaseEffect]:
        """End the run early, whatever phase it is in; heal all the same."""
        self._cut_short = True
        match self.phase:
            case Phase.WAIT_READY:
                yield from self._finish()
            case Phase.LOAD:
                yield from self._heal(now_ns)
            case Phase.SETTLE | Phase.FINAL:
                self._drain(now_ns)
            case _:
                pass

    def _settled(self, now_ns: int) -> bool:
        return self._recovery.settled(now_ns, least_ns=self._timing.settle_min_ns)

    def _enter(self, phase: Phase, until_ns: int) -> None:
        self.phase, self.until_ns = phase, until_ns

    def _load(self, now_ns: int) -> Iterator[PhaseEffect]:
        self.load_ns = (now_ns, now_ns + self._timing.load_ns)
        self._enter(Phase.LOAD, self.load_ns[1])
        self._supply.open(now_ns)
        self._seats.renew()
        yield from self._relay.begin(now_ns)

    def _heal(self, now_ns: int) -> Iterator[PhaseEffect]:
        assert self.load_ns is not None, "a load is healed"
        self.load_ns = (self.load_ns[0], now_ns)
        self._enter(Phase.HEAL, now_ns + self._timing.heal_max_ns)
        yield from self._relay.tell(HealNow(), now_ns)

    def _settle(self, now_ns: int, *, late: bool) -> Iterator[PhaseEffect]:
        left = self._relay.standing
        if late or left:
            kinds = ", ".join(sorted({fault.kind for fault in left.values()})) or "unreported"
            yield Failed(f"not everything could be healed: {kinds}")
        else:
            self._recovery.healed(now_ns)
        if self._cut_short:
            self._drain(now_ns)
        else:
            self._enter(Phase.SETTLE, now_ns + self._timing.settle_max_ns)

    def _drain(self, now_ns: int) -> None:
        self._supply.rest()
        self._seats.renew()
        self._enter(Phase.DRAIN, now_ns + self._timing.drain_max_ns)

    def _final(self, now_ns: int) -> Iterator[PhaseEffect]:
        if self._cut_short:
            yield from self._finish()
            return
        self._supply.read_back(self._recovery.taking_part, now_ns)
        self._enter(Phase.FINAL, now_ns + self._timing.final_max_ns + self._supply.owed * EACH_MAX_NS)
        yield from self._seats.go_on(now_ns)

    def _finish(self) -> Iterator[PhaseEffect]:
        self.phase = Phase.DONE
        yield Finished()
