"""What systems without knobs have in common: what only a leasekv node can do is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from targets.cluster import ClockBend, Primitive, Unsupported

if TYPE_CHECKING:
    from targets.host.runtime import Runtime

NO_CLOCK: Final = "its clock is read past any preload, or was not armed: bending it would have no effect"
NO_KNOB: Final = "it has no such knob"

_CLOCKS: Final = frozenset({Primitive.CLOCK_RATE, Primitive.CLOCK_WALL})
_KNOBS: Final = frozenset(
    {Primitive.CAMPAIGN, Primitive.APPLY_DELAY, Primitive.SYNC_DELAY, Primitive.DISK_ROOM}
)


class PlainSystem:
    """The parts of `targets.docker.system.System` that a plain system need not have."""

    one_way_dials = False  # nothing is known of who dials whom

    def prepare(self, runtime: Runtime) -> None:
        """Need nothing of this host."""

    def before_start(self, node: str) -> None:
        """Need nothing new for a start."""

    def after_start(self, node: str, pid: int | None) -> None:
        """Take nothing from the process."""

    def unsupported(self, primitive: Primitive) -> str | None:
        """Return why it cannot do what only it could do."""
        return NO_CLOCK if primitive in _CLOCKS else NO_KNOB if primitive in _KNOBS else None

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Refuse, unless it is the heal of nothing."""
        if bend != ClockBend():
            raise Unsupported(f"{node}: {NO_CLOCK}")

    async def campaign(self, node: str) -> None:
        """Refuse."""
        raise Unsupported(f"{node}: {NO_KNOB}")

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Refuse, unless it is the heal of nothing."""
        if delay_ns:
            raise Unsupported(f"{node}: {NO_KNOB}")

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Refuse, unless it is the heal of nothing."""
        if delay_ns:
            raise Unsupported(f"{node}: {NO_KNOB}")

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Refuse, unless it is the heal of nothing."""
        if room_bytes is not None:
            raise Unsupported(f"{node}: {NO_KNOB}")
