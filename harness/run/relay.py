"""The nemesis as one run has it: told what happens from the start of the load on, its orders booked.

What lives here: the machine's times against the run's, the book of open orders, what the history says
of each. What never does: when a phase ends, who carries out a probe.

A machine that raises is let go: whatever it had ordered is healed, and the run fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from nemesis.ports import Happened, Heal, Inject, NemesisInput, Note, Probe, WakeUp
from targets.clock import MS

from .orders import Orders
from .ports import Failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from nemesis.faults import Fault
    from nemesis.ports import NemesisEffect

    from .ports import NemesisMachine

REST_NS: Final = MS
"""A machine that wants to be woken in the past gets that much rest first."""


class Remark(msgspec.Struct, frozen=True):
    """A line of the history about what the nemesis does."""

    f: str
    value: dict[str, Any]


RelayEffect = Remark | Inject | Heal | Probe | Failed


class Relay:
    """See the module. ``roles`` says what every node last took itself for.

    ``notes`` are what the machine had to say, and when; ``wake_ns`` is when to call `wake`.
    """

    def __init__(self, machine: NemesisMachine, *, roles: Callable[[], Mapping[str, str]]) -> None:
        self.notes: list[tuple[int, Note]] = []
        self._machine: NemesisMachine | None = machine
        self._roles = roles
        self._orders = Orders()
        self._origin_ns: int | None = None
        self._rests_ns = 0
        self.wake_ns: int | None = None

    @property
    def standing(self) -> dict[int, Fault]:
        """Faults ordered and not known to be healed."""
        return self._orders.standing

    @property
    def busy(self) -> bool:
        """Whether an order is open, or the machine has something left to do."""
        return self._orders.pending or (self._machine is not None and not self._machine.done)

    def down(self, node: str) -> bool:
        """Whether a fault of which this node ends stands."""
        return self._orders.down(node)

    def frozen(self, node: str) -> bool:
        """Whether a fault that stops this node stands."""
        return self._orders.frozen(node)

    def begin(self, now_ns: int) -> Iterator[RelayEffect]:
        """Start the machine: its times count from now."""
        self._origin_ns = now_ns
        return self.tell(WakeUp(), now_ns)

    def wake(self, now_ns: int) -> Iterator[RelayEffect]:
        """Wake the machine if it is time."""
        if self.wake_ns is not None and self.wake_ns <= now_ns:
            self._rests_ns = now_ns + REST_NS
            yield from self.tell(WakeUp(), now_ns)

    def tell(self, told: NemesisInput, now_ns: int) -> Iterator[RelayEffect]:
        """Tell the machine, once it has begun."""
        if isinstance(told, Happened):
            yield Remark(self._orders.kind(told.id), self._orders.happened(told))
            if (bug := told.verification.bug) is not None:
                what = f"the means of {self._orders.kind(told.id)} broke: {bug.what}"
                yield Failed(what, bug=bug.traceback)
        if self._machine is None or self._origin_ns is None:
            return
        wanted: Iterable[NemesisEffect]
        try:
            wanted = tuple(self._machine.step(told, now_ns - self._origin_ns))
            wake_ns = self._machine.wake_ns
        except Exception as error:  # noqa: BLE001 - isolated: its faults are healed, the run fails
            self._machine = wake_ns = None
            what = f"the nemesis broke at {type(told).__name__}: {error!r}"
            yield Failed(what, bug=error)
            wanted = tuple(Heal(number, fault) for number, fault in self._orders.standing.items())
        self.wake_ns = None if wake_ns is None else max(wake_ns + self._origin_ns, self._rests_ns)
        for effect in wanted:
            yield from self._order(effect, now_ns)

    def _order(self, effect: NemesisEffect, now_ns: int) -> Iterator[RelayEffect]:
        """Book an order and announce it; the line of the history comes first."""
        match effect:
            case Inject(_, fault):
                yield Remark(fault.kind, self._orders.inject(effect, self._roles()))
                yield effect
            case Heal(_, fault):
                yield Remark(fault.kind, self._orders.heal(effect))
                yield effect
            case Probe():
                yield effect
            case Note(text, missed):
                self.notes.append((now_ns, effect))
                yield Remark("note", {"text": text, "missed": missed})
