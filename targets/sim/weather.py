"""What a simulated cluster lives in when nobody does anything to it: latencies, losses, disks, clocks.

The nemesis's faults come on top of it. The default is a quiet network and a fast disk; a swarm draws
its own for every run. All of it is integers, so that a plan that holds it is equal or is not.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Ns = Annotated[int, msgspec.Meta(ge=0, le=60_000_000_000)]
Ppm = Annotated[int, msgspec.Meta(ge=0, le=900_000)]


class Weather(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fault model of the quiet hours.

    A message takes ``latency_min_ns`` to ``latency_max_ns``, one way, and ``tail_ppm`` of them up to
    ``tail_max_ns`` more. Messages between nodes are lost, come twice and overtake each other that many
    times in a million; else they keep their order, as those of clients always do. ``break_ppm``
    of a client's messages find the connection reset, and lost what was in flight.

    A sync of a disk takes ``sync_min_ns`` to ``sync_max_ns``, ``stall_ppm`` of them up to
    ``stall_max_ns`` more; what comes meanwhile shares the next one. With ``torn`` a kill may find the
    beginning of the record under way on the disk, or all of it, else none.

    Wall clocks are up to ``skew_max_ns`` off, and each node's clocks run up to ``rate_max_ppm`` fast
    or slow for the whole run. ``suspend_ppm`` of the pauses are those of a suspended host, whose
    monotonic clock stands still while wall and boot time go on. A timer comes up to
    ``timer_late_max_ns`` late. ``shuffle`` lets a node that comes out of a pause take its connections
    in any order, each one's messages in theirs.
    """

    latency_min_ns: Ns = 200_000
    latency_max_ns: Ns = 600_000
    tail_ppm: Ppm = 0
    tail_max_ns: Ns = 0
    loss_ppm: Ppm = 0
    duplicate_ppm: Ppm = 0
    reorder_ppm: Ppm = 0
    break_ppm: Ppm = 0
    sync_min_ns: Ns = 100_000
    sync_max_ns: Ns = 400_000
    stall_ppm: Ppm = 0
    stall_max_ns: Ns = 0
    torn: bool = False
    skew_max_ns: Ns = 0
    rate_max_ppm: Ppm = 0
    suspend_ppm: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    timer_late_max_ns: Ns = 200_000
    shuffle: bool = False

    @property
    def reversed_range(self) -> tuple[str, str] | None:
        """The two keys of a range whose least is above its most, None if there is no such range."""
        for least in self.__struct_fields__:
            most = least.replace("_min_", "_max_")
            if getattr(self, least) > getattr(self, most):
                return least, most
        return None


STILL = Weather(
    latency_min_ns=500_000,
    latency_max_ns=500_000,
    sync_min_ns=200_000,
    sync_max_ns=200_000,
    timer_late_max_ns=0,
)
"""No draw at all: what a shrunk plan aims at."""
