"""A cluster of cores in virtual time: the smallest driver that owes a core what `ports` says it owes.

One heap of ``(true time, sequence)``; integers only, so equal seeds give equal runs. Nodes have clocks
(an affine map of true time, wall apart from monotonic), disks (a persist is durable a sync later, a
kill loses what is not) and mailboxes (a paused node queues its inputs and takes them before its timers
when it resumes, as an event loop does). Links are directed: open, holding or dropping, with a delay.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from checker.evidence import Checked, Fact
from targets.clock import MS, Reading
from targets.cluster import Role
from targets.leasekv.config import NodeConfig, build_rules
from targets.leasekv.core import Core
from targets.leasekv.messages import Code, Entry, Op, PeerMessage, Request, Response
from targets.leasekv.ports import (
    Asked,
    CampaignNow,
    HardState,
    Input,
    Persist,
    Persisted,
    Received,
    Restored,
    SetApplyDelay,
    TimerDue,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.events import ReadPath

PPM = 1_000_000
E = 100 * MS
H = 10 * MS


class Clock:
    """A node's clocks: monotonic at some rate, wall beside it at an offset."""

    def __init__(self, mono_ns: int, wall_ns: int) -> None:
        self._true_ns = 0
        self._mono_ns = mono_ns
        self._wall_ns = wall_ns
        self._rate_ppm = 0

    def read(self, true_ns: int) -> Reading:
        passed = (true_ns - self._true_ns) * (PPM + self._rate_ppm) // PPM
        return Reading(self._mono_ns + passed, self._wall_ns + passed)

    def bend(self, true_ns: int, *, rate_ppm: int = 0, jump_ns: int = 0) -> None:
        now = self.read(true_ns)
        self._true_ns, self._mono_ns = true_ns, now.mono_ns
        self._wall_ns, self._rate_ppm = now.wall_ns + jump_ns, rate_ppm

    def true_at(self, mono_ns: int) -> int:
        """The first true instant at which the monotonic clock shows at least ``mono_ns``."""
        ahead = mono_ns - self._mono_ns
        return self._true_ns + max(0, -(-ahead * PPM // (PPM + self._rate_ppm)))


@dataclass
class Disk:
    hard: HardState = field(default_factory=HardState)
    entries: list[Entry] = field(default_factory=list)

    def write(self, persist: Persist) -> None:
        if persist.hard is not None:
            self.hard = persist.hard
        if persist.entries:
            first = persist.entries[0].index
            assert first <= len(self.entries) + 1, "the disk has no gaps"
            self.entries[first - 1 :] = persist.entries


@dataclass
class Link:
    delay_ns: int
    mode: str = "open"
    backlog: list[PeerMessage] = field(default_factory=list)


@dataclass
class Node:
    name: str
    config: NodeConfig
    clock: Clock
    core: Core
    disk: Disk = field(default_factory=Disk)
    boot: int = 1
    alive: bool = True
    paused: bool = False
    inbox: list[Input] = field(default_factory=list)
    writing: list[Persist] = field(default_factory=list)
    sync_ns: int = 200_000
    wakes_at: int = -1


@dataclass(frozen=True)
class Line:
    """A fact with its node and the true instant of it."""

    true_ns: int
    node: str
    own: Reading
    fact: Fact


class World:
    """Cores, their surroundings, and true time."""

    def __init__(self, seed: int = 0, *, nodes: int = 3, delay_ns: int = MS // 2, **config: Any) -> None:
        self.rng = Random(f"{seed}/world")
        self.now_ns = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._seq = 0
        self.steps = 0
        self.evidence: list[Line] = []
        self.trace: list[str] | None = None
        self.watch: Callable[[Node], None] = lambda _node: None
        self._waiting: dict[int, Callable[[Response], None]] = {}
        names = tuple(f"n{i + 1}" for i in range(nodes))
        self.links = {(a, b): Link(delay_ns) for a in names for b in names if a != b}
        self.seed = seed
        defaults = {
            "election_ns": E, "heartbeat_ns": H, "margin_ns": 2 * MS, "clock_step_ns": 5 * MS,
            "election_jitter_ns": E // 5,
        }  # fmt: skip
        self.nodes: dict[str, Node] = {}
        for name in names:
            node_config = NodeConfig(
                **{"node": name, "nodes": names, "seed": seed, **defaults, **config}
            )
            clock = Clock(self.rng.randrange(10**12), self.rng.randrange(10**15))
            self.nodes[name] = node = Node(name, node_config, clock, None)  # type: ignore[arg-type]
            self._boot(node)

    # Time.

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        self._seq += 1
        heapq.heappush(self._heap, (time_ns, self._seq, action))

    def run_until(self, wanted: Callable[[], bool], limit_ns: int = 20 * E) -> None:
        end_ns = self.now_ns + limit_ns
        while not wanted():
            assert self._heap, "nothing will ever happen again"
            assert self._heap[0][0] <= end_ns, f"waited {limit_ns} ns in vain"
            self._one()

    def run_for(self, duration_ns: int) -> None:
        end_ns = self.now_ns + duration_ns
        while self._heap and self._heap[0][0] <= end_ns:
            self._one()
        self.now_ns = end_ns

    def _one(self) -> None:
        self.now_ns, _, action = heapq.heappop(self._heap)
        action()

    # Nodes.

    def _boot(self, node: Node) -> None:
        restored = Restored(node.boot, node.disk.hard, tuple(node.disk.entries))
        rng = Random(f"{self.seed}/{node.name}/{node.boot}")
        node.core = Core(node.config, build_rules(node.config), restored, rng, self.read(node))
        node.wakes_at = -1
        self._rewind(node)

    def read(self, node: Node) -> Reading:
        return node.clock.read(self.now_ns)

    def feed(self, name: str, event: Input) -> None:
        node = self.nodes[name]
        if not node.alive:
            return
        if node.paused:
            node.inbox.append(event)
        else:
            self._step(node, event)

    def _step(self, node: Node, event: Input) -> None:
        self.steps += 1
        reading = self.read(node)
        ready = node.core.step(event, reading)
        if self.trace is not None:
            self.trace.append(f"{self.now_ns} {node.name} {event!r} -> {ready!r}")
        for fact in ready.facts:
            self.evidence.append(Line(self.now_ns, node.name, reading, fact))
        if ready.persist is not None:
            node.writing.append(ready.persist)
            done_ns = self.now_ns + node.sync_ns
            boot, seq = node.boot, ready.persist.seq
            self.at(done_ns, lambda: self._synced(node, boot, seq))
        for peer, message in ready.messages:
            self._send(node.name, peer, message)
        for client, response in ready.replies:
            answer = self._waiting.pop(client, None)
            if answer is not None:
                answer(response)
        self.watch(node)
        self._rewind(node)

    def _synced(self, node: Node, boot: int, seq: int) -> None:
        if not node.alive or node.boot != boot:
            return
        while node.writing and node.writing[0].seq <= seq:
            node.disk.write(node.writing.pop(0))
        self.feed(node.name, Persisted(seq))

    def _rewind(self, node: Node) -> None:
        due_ns = max(self.now_ns, node.clock.true_at(node.core.wake_ns))
        if node.wakes_at < self.now_ns or due_ns < node.wakes_at:
            node.wakes_at = due_ns
            self.at(due_ns, lambda: self._wake(node, due_ns))

    def _wake(self, node: Node, due_ns: int) -> None:
        if node.wakes_at != due_ns:
            return
        node.wakes_at = -1
        if not node.alive or node.paused:
            return
        if self.read(node).mono_ns >= node.core.wake_ns:
            self._step(node, TimerDue())
        else:
            self._rewind(node)

    def pause(self, name: str) -> None:
        self.nodes[name].paused = True

    def resume(self, name: str) -> None:
        node = self.nodes[name]
        if not node.paused:
            return
        node.paused = False
        inbox, node.inbox = node.inbox, []
        for event in inbox:
            self._step(node, event)
        node.wakes_at = -1
        self._rewind(node)

    def kill(self, name: str) -> None:
        node = self.nodes[name]
        node.alive = False
        node.paused = False
        node.inbox.clear()
        node.writing.clear()

    def restart(self, name: str) -> None:
        node = self.nodes[name]
        if not node.alive:
            node.alive = True
            node.boot += 1
            self._boot(node)

    def campaign(self, name: str) -> None:
        self.feed(name, CampaignNow())

    def set_apply_delay(self, name: str, delay_ns: int) -> None:
        self.feed(name, SetApplyDelay(delay_ns))

    def slow_disk(self, name: str, sync_ns: int) -> None:
        self.nodes[name].sync_ns = sync_ns

    def bend(self, name: str, *, rate_ppm: int = 0, jump_ns: int = 0) -> None:
        node = self.nodes[name]
        node.clock.bend(self.now_ns, rate_ppm=rate_ppm, jump_ns=jump_ns)
        node.wakes_at = -1
        self._rewind(node)

    # Links.

    def _send(self, source: str, target: str, message: PeerMessage) -> None:
        link = self.links[source, target]
        if link.mode == "hold":
            link.backlog.append(message)
        elif link.mode == "open":
            self.at(self.now_ns + link.delay_ns, lambda: self._arrive(source, target, message))

    def _arrive(self, source: str, target: str, message: PeerMessage) -> None:
        link = self.links[source, target]
        if link.mode == "hold":
            link.backlog.append(message)
        elif link.mode == "open":
            self.feed(target, Received(source, message))

    def cut(self, source: str, target: str, mode: str = "drop") -> None:
        self.links[source, target].mode = mode

    def isolate(self, name: str, mode: str = "drop") -> None:
        for other in self.nodes:
            if other != name:
                self.cut(name, other, mode)
                self.cut(other, name, mode)

    def open(self, source: str, target: str) -> None:
        link = self.links[source, target]
        link.mode = "open"
        backlog, link.backlog = link.backlog, []
        for message in backlog:
            self._send(source, target, message)

    def heal(self) -> None:
        for source, target in self.links:
            self.open(source, target)

    # Clients.

    def ask(self, node: str, op: Op, key: str = "x", **more: Any) -> Pending:
        """Let a client ask; it hears the answer at once, and nothing if the node is dead."""
        self._seq += 1
        client = self._seq
        pending = Pending(client)
        self._waiting[client] = pending.answer
        request = Request(client, op, key, more.get("value"), more.get("path"))
        self.feed(node, Asked(client, request))
        return pending

    def on_answer(self, pending: Pending, told: Callable[[Response], None]) -> None:
        """Tell somebody once the answer comes, now if it is there already."""
        if pending.response is not None:
            told(pending.response)
        else:
            self._waiting[pending.client] = told

    def write(self, node: str, key: str, value: Any) -> Response:
        return self.wait(self.ask(node, Op.WRITE, key, value=value))

    def load(self, node: str, key: str = "x", path: ReadPath | None = None) -> Response:
        return self.wait(self.ask(node, Op.READ, key, path=path))

    def wait(self, pending: Pending) -> Response:
        self.run_until(lambda: pending.response is not None)
        assert pending.response is not None
        return pending.response

    # Looking.

    def leader(self) -> str | None:
        """The living leader of the highest term."""
        best: tuple[int, str] | None = None
        for name, node in self.nodes.items():
            status = node.core.status(self.read(node))
            if node.alive and status.role is Role.LEADER and (best is None or status.term > best[0]):
                best = (status.term, name)
        return None if best is None else best[1]

    def elect(self) -> str:
        """Run until a leader serves from its lease (or would, had its policy one); return it."""
        self.run_until(self._led)
        leader = self.leader()
        assert leader is not None
        return leader

    def _led(self) -> bool:
        leader = self.leader()
        if leader is None:
            return False
        node = self.nodes[leader]
        status = node.core.status(self.read(node))
        served = status.lease_remaining_ns is not None or node.config.policy != "lease-renew"
        return served and status.applied_index >= node.core._state.noop_index

    def facts(self, kind: type, node: str | None = None) -> list[Any]:
        return [
            line.fact for line in self.evidence
            if isinstance(line.fact, kind) and node in {None, line.node}
        ]  # fmt: skip

    def holders(self) -> list[str]:
        """Nodes that hold a lease at this instant, by their own clocks, paused ones included."""
        found = []
        for name, node in self.nodes.items():
            status = node.core.status(self.read(node))
            if node.alive and status.lease_remaining_ns is not None:
                found.append(name)
        return found


@dataclass
class Pending:
    """An operation in flight."""

    client: int
    response: Response | None = None

    def answer(self, response: Response) -> None:
        self.response = response

    @property
    def code(self) -> Code | None:
        assert self.response is not None
        return self.response.code


def granted(line: Line) -> bool:
    return isinstance(line.fact, Checked) and line.fact.granted
