"""A cluster in memory that does as it is told, or fails as it is told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from targets.clock import Reading
from targets.cluster import (
    ClockBend,
    Link,
    LinkState,
    NodeStatus,
    Open,
    Primitive,
    ProcessState,
    Role,
    Roster,
    TargetError,
)

FIRST = Roster(("n1", "n2", "n3"))


@dataclass
class FakeNode:
    """One node: its process, its clocks (as a function of true time), its knobs."""

    state: ProcessState = ProcessState.RUNNING
    boot: int | None = 1
    term: int = 1
    bend: ClockBend = field(default_factory=ClockBend)
    bent_at_ns: int = 0
    apply_delay_ns: int = 0
    sync_delay_ns: int = 0
    members: Roster = FIRST
    handing_over_to: str | None = None
    hears_time: bool = True


class FakeCluster:
    """The `Cluster` of the means' tests.

    ``broken`` maps the name of a method to how many of its next calls raise; ``deaf`` names methods
    that do nothing although they return; ``stuck`` names methods that never return.
    """

    def __init__(self) -> None:
        self.known = {name: FakeNode() for name in ("n1", "n2", "n3")}
        self.links: dict[Link, LinkState] = {}
        self.missing: set[Primitive] = set()
        self.broken: dict[str, int] = {}
        self.deaf: set[str] = set()
        self.stuck: set[str] = set()
        self.calls: list[str] = []

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.known)

    def supports(self, primitive: Primitive) -> str | None:
        return f"no {primitive} here" if primitive in self.missing else None

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def address(self, node: str) -> tuple[str, int]:
        raise AssertionError(f"no means dials {node}")

    async def status(self, node: str) -> NodeStatus | None:
        await self._pass("status", node)
        found = self.known[node]
        if found.state is not ProcessState.RUNNING:
            return None
        true_ns = self.now_ns()
        mono_ns = true_ns + (true_ns - found.bent_at_ns) * found.bend.rate_ppm // 10**6
        return NodeStatus(
            node=node,
            role=Role.FOLLOWER,
            term=found.term,
            leader=None,
            commit_index=0,
            applied_index=0,
            lease_remaining_ns=None,
            own=Reading(mono_ns, true_ns + found.bend.wall_offset_ns),
            true_ns=true_ns,
            boot=found.boot,
            members=found.members,
            handing_over_to=found.handing_over_to,
        )

    @staticmethod
    def now_ns() -> int:
        return round(asyncio.get_running_loop().time() * 1e9)

    def state(self, node: str) -> ProcessState:
        return self.known[node].state

    async def exit_code(self, node: str) -> int | None:
        assert node in self.known
        return None

    async def pause(self, node: str) -> None:
        if await self._pass("pause", node):
            self.known[node].state = ProcessState.STOPPED

    async def suspend(self, node: str) -> None:
        if await self._pass("suspend", node):
            self.known[node].state = ProcessState.STOPPED

    async def resume(self, node: str) -> None:
        if await self._pass("resume", node) and self.known[node].state is ProcessState.STOPPED:
            self.known[node].state = ProcessState.RUNNING

    async def kill(self, node: str) -> None:
        if await self._pass("kill", node):
            self.known[node].state = ProcessState.GONE

    async def restart(self, node: str) -> None:
        if await self._pass("restart", node):
            boot = self.known[node].boot
            boot = boot if boot is None else boot + 1
            self.known[node] = FakeNode(boot=boot)

    def set_link(self, link: Link, state: LinkState) -> None:
        self.calls.append(f"set_link {link.source}>{link.target} {type(state).__name__}")
        if "set_link" not in self.deaf:
            self.links[link] = state

    def link_state(self, link: Link) -> LinkState:
        return self.links.get(link, Open())

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        if await self._pass("bend_clock", node):
            self.known[node].bend, self.known[node].bent_at_ns = bend, self.now_ns()

    async def campaign(self, node: str) -> None:
        if await self._pass("campaign", node):
            self.known[node].term += 1

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        if await self._pass("set_apply_delay", node):
            self.known[node].apply_delay_ns = delay_ns

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        if await self._pass("set_sync_delay", node):
            self.known[node].sync_delay_ns = delay_ns

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        if await self._pass("set_disk_room", node) and room_bytes is not None:
            self.known[node].state = ProcessState.GONE

    async def hand_over(self, node: str, target: str) -> None:
        if await self._pass("hand_over", node):
            self.known[node].handing_over_to = target

    async def reconfigure(self, node: str, members: Roster) -> None:
        if await self._pass("reconfigure", node):
            self.known[node].members = members

    async def restore_members(self) -> None:
        if await self._pass("restore_members", "all"):
            for node in self.known.values():
                node.members = FIRST

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        if await self._pass("set_time_service", node):
            self.known[node].hears_time = heard

    async def _pass(self, name: str, node: str) -> bool:
        """Note a call; raise, hang or tell to do nothing, as this test wants it."""
        self.calls.append(f"{name} {node}")
        if self.broken.get(name, 0) > 0:
            self.broken[name] -= 1
            raise TargetError(f"{name} of {node} failed")
        if name in self.stuck:
            await asyncio.sleep(3600)
        return name not in self.deaf
