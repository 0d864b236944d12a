"""leasekv's part of a cluster, wherever that runs: start files, admin sockets, knobs and clocks.

Nodes are asked on admin sockets, which run past the links: what a tester asks is cut by no fault. Clocks
bend by libfaketime's control file, one a node, armed for one mode when the nodes start.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import ClockBend, ClockMode, Primitive, Role, Roster, Unsupported
from targets.system import NO_TIME_SERVICE

from . import admin
from .place import NodePlace, Start

if TYPE_CHECKING:
    from targets.cluster import Address, NodeStatus
    from targets.host.faketime import ControlFile

    from .admin_client import AdminClient
    from .config import NodeConfig

ASK_S: Final = 0.5
TURN_S: Final = 2.0

_MODES: Final = {Primitive.CLOCK_WALL: ClockMode.WALL, Primitive.CLOCK_RATE: ClockMode.RATE}


class LeaseKvSystem:
    """The parts of a `targets.system.System` that leasekv has in every place.

    ``config`` is every node's, its ``node`` apart. A place fills ``_admin`` and ``_clocks`` in
    ``prepare``; ``_no_clock`` is why clocks cannot be bent there, if they cannot.
    """

    one_way_dials = True

    def __init__(self, config: NodeConfig, *, clock: ClockMode) -> None:
        self._config = config
        self._mode = clock
        self._no_clock: str | None = None
        self._admin: dict[str, AdminClient] = {}
        self._clocks: dict[str, ControlFile] = {}

    def _start_file(self, node: str, place: NodePlace) -> bytes:
        """Return what a node is started with."""
        config = msgspec.structs.replace(self._config, node=node)
        return msgspec.json.encode(Start(config=config, place=place))

    def after_start(self, node: str, pid: int | None) -> None:
        """Take the start of a node's clocks from the process."""
        if pid is not None:
            self._clocks[node].started(pid)

    def unsupported(self, primitive: Primitive) -> str | None:
        """Return why clocks cannot be bent that way, or no time be told; the rest is in the node."""
        if primitive is Primitive.TIME_SERVICE and not self._config.synced:
            return NO_TIME_SERVICE
        wanted = _MODES.get(primitive)
        if wanted is None:
            return None
        if wanted is not self._mode:
            return f"the clocks were armed for {self._mode.value}, not for {wanted.value}"
        return self._no_clock

    async def status(self, node: str, address: Address) -> NodeStatus | None:
        """Ask on the admin socket."""
        del address
        return await self._admin[node].status(within_s=ASK_S)

    async def metrics(self, node: str) -> str | None:
        """Ask on the admin socket."""
        return await self._admin[node].metrics(within_s=TURN_S)

    def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Write the control file."""
        if self._no_clock is not None and bend != ClockBend():
            raise Unsupported(self._no_clock)
        self._clocks[node].bend(bend)

    def clock_error_ns(self, node: str, status: NodeStatus) -> int:
        """Return how far a node's clocks are from what the control file says."""
        return self._clocks[node].error_ns(status)

    async def campaign(self, node: str) -> None:
        """Ask the node to campaign, through its own vote rules."""
        await self._admin[node].turn(admin.Campaign(), within_s=TURN_S)

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Delay applies."""
        await self._admin[node].turn(admin.SetApplyDelay(delay_ns), within_s=TURN_S)

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Delay syncs."""
        await self._admin[node].turn(admin.SetSyncDelay(delay_ns), within_s=TURN_S)

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave its disk only so much room."""
        await self._admin[node].turn(admin.SetDiskRoom(room_bytes), within_s=TURN_S)

    async def hand_over(self, node: str, target: str) -> None:
        """Ask the node to transfer its leadership."""
        await self._admin[node].turn(admin.HandOver(target), within_s=TURN_S)

    async def reconfigure(self, node: str, members: Roster) -> None:
        """Ask the node, if it leads, for other voters and learners."""
        change = admin.Reconfigure(members.voters, members.learners)
        await self._admin[node].turn(change, within_s=TURN_S)

    async def restore_members(self) -> None:
        """Ask whoever leads, until the first voters alone are in force there."""
        first = Roster(self._config.membership.voters)
        while True:
            told = [await client.status(within_s=ASK_S) for client in self._admin.values()]
            leads = [status for status in told if status is not None and status.role is Role.LEADER]
            leader = max(leads, key=lambda status: status.term, default=None)
            if leader is not None and leader.members == first:
                return
            if leader is not None:
                with contextlib.suppress(Unsupported, TimeoutError):  # another may lead by then
                    await self.reconfigure(leader.node, first)
            await asyncio.sleep(self._config.heartbeat_ns / 1e9)

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        """Let it hear the time service or not."""
        await self._admin[node].turn(admin.SetTimeService(heard), within_s=TURN_S)

    def close(self) -> None:
        """Drop the admin connections."""
        for client in self._admin.values():
            client.close()
