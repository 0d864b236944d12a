"""What every drawn workload has: seats and their times, keys that retire, values that are written once.

A *slot* is one seat at the cluster, taken by one process after another; `supply` asks when it may go on
and with what. Integers are drawn from the one `random.Random` that a workload was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from targets.clock import MS, SECOND

from .keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

RETRY_NS: Final = 20 * MS
"""A refused operation is tried again after this, which lets nobody spin."""

PROBED: Final = "probe"
"""The key of probes that name none, where no key of the workload will do."""


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """The knobs. ``rate_per_s`` 0 is as fast as it goes; ``readindex_one_in`` 0 forces no read.

    ``ttl_ns`` is how long the session of a lock lives that nobody renews.
    """

    nodes: tuple[str, ...]
    clients: int
    keys: int
    rate_per_s: int
    key_operations_max: int = 300
    readindex_one_in: int = 0
    ttl_ns: int = SECOND


class Seat(msgspec.Struct):
    """One slot: the node it asks now, and when it may go on."""

    node: str
    due_ns: int


SeatT = TypeVar("SeatT", bound=Seat)


class Slots(Generic[SeatT]):
    """A workload in motion, as far as all are alike; ``seats`` are its own kind's to deal."""

    seats: tuple[SeatT, ...]

    def __init__(self, workload: Workload, rng: Random) -> None:
        self._nodes = workload.nodes
        self._rng = rng
        self._interval_ns = (
            workload.clients * SECOND // workload.rate_per_s if workload.rate_per_s else 0
        )
        self._keys = Keys(workload.keys, operations_max=workload.key_operations_max)
        self._last_value = 0

    @property
    def keys(self) -> Sequence[str]:
        """Every key ever used."""
        return self._keys.ever

    def start(self, now_ns: int) -> None:
        """Begin at ``now_ns``: the seats are staggered over one interval from here."""
        for seat in self.seats:
            seat.due_ns += now_ns

    def due_ns(self, slot: int) -> int:
        """When the slot may go on."""
        return self.seats[slot].due_ns

    def _gap_ns(self) -> int:
        """Draw the time between two operations of a slot."""
        return self._interval_ns * (50 + self._rng.randrange(101)) // 100

    def _key(self) -> str:
        """Draw the key of an operation."""
        key = self._keys.draw(self._rng)
        self._keys.count(key)
        return key

    def _after(self, node: str) -> str:
        return self._nodes[(self._nodes.index(node) + 1) % len(self._nodes)]

    def _unique(self) -> int:
        self._last_value += 1
        return self._last_value
