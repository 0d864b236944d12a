"""The nemesis machine on cores in virtual time: means, probes and a thin workload, with no process.

The world of ``tests/leasekv`` gives the cluster; this gives it a schedule, one writer that follows the
leader, and a dumb judge of the reads: a read is stale if it returned a value that had been replaced
before the read began.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent / "leasekv"))

from leasekv_virtual import World

from checker.events import EventType
from nemesis import Machine
from nemesis.faults import (
    BendClock,
    Campaign,
    Cut,
    Fault,
    Flight,
    Kill,
    Pause,
    Slow,
    SlowApply,
    SlowSync,
    Standing,
    Verification,
)
from nemesis.ports import (
    Completed,
    Happened,
    Heal,
    HealNow,
    Inject,
    NemesisEffect,
    NemesisInput,
    Note,
    Probe,
    StatusSeen,
    WakeUp,
)
from targets.clock import MS, SECOND
from targets.cluster import NodeStatus
from targets.leasekv.messages import Code, Op, Response
from targets.leasekv.mistakes import MISTAKES

if TYPE_CHECKING:
    from nemesis import Schedule

E = SECOND
POLL_NS = 20 * MS
WRITES_NS = 30 * MS
REPORT_NS = 2 * MS
LINK_NS = MS // 2
READ_NS = 600 * MS
KEY = "k"


@dataclass
class Operation:
    """One operation of a client: when it was invoked and ended, at whom, and its value."""

    f: str
    node: str
    value: int | None
    invoked_ns: int
    ended_ns: int | None = None
    code: Code | None = None
    ok: bool = False


def world(seed: int, *, nodes: int = 3, **config: Any) -> World:
    """Return a world with the timings of a real run."""
    timings = {
        "election_ns": E,
        "heartbeat_ns": E // 10,
        "margin_ns": 20 * MS,
        "clock_step_ns": 50 * MS,
        "election_jitter_ns": E // 5,
    }
    return World(seed, nodes=nodes, **{**timings, **config})


def world_of(mistake_id: str, seed: int, *, planted: bool) -> World:
    """Return the world a mistake is looked for in, with the mistake or with the rules intact."""
    mistake = MISTAKES[mistake_id]
    return world(
        seed,
        nodes=mistake.nodes,
        drift_ppm=mistake.drift_ppm,
        policy=mistake.policy,
        mistakes=(mistake_id,) if planted else (),
        rules_off=mistake.also_off if planted else (),
    )


class Run:
    """One run of a schedule on a world."""

    def __init__(self, world: World, schedule: Schedule, seed: int) -> None:
        self.world = world
        nodes = tuple(world.nodes)
        drift_ppm = world.nodes["n1"].config.drift_ppm
        self.machine = Machine(schedule, nodes, election_ns=E, seed=seed, drift_ppm=drift_ppm)
        self.operations: list[Operation] = []
        self.notes: list[Note] = []
        self.offsets = dict.fromkeys(nodes, 0)
        self.shut: dict[tuple[str, str], int] = {}
        self._values = 0

    def play(self, limit_ns: int = 40 * E) -> None:
        """Run until the machine is done, or the load is over; then let everything settle."""
        world = self.world
        world.elect()
        self.poll()
        self.write()
        end_ns = world.now_ns + limit_ns
        while not self.machine.done and world.now_ns < end_ns:
            world.run_for(MS)
            wake_ns = self.machine.wake_ns
            if wake_ns is not None and wake_ns <= world.now_ns:
                self.tell(WakeUp())
        self.tell(HealNow())
        world.run_for(3 * E)

    # What the machine is told.

    def tell(self, event: NemesisInput) -> None:
        for effect in self.machine.step(event, self.world.now_ns):
            self.do(effect)

    def poll(self) -> None:
        world = self.world
        for name, node in world.nodes.items():
            if node.alive and not node.paused:
                reading = world.read(node)
                core = node.core.status(reading)
                status = NodeStatus(
                    node=name,
                    role=core.role,
                    term=core.term,
                    leader=core.leader,
                    commit_index=core.commit_index,
                    applied_index=core.applied_index,
                    lease_remaining_ns=core.lease_remaining_ns,
                    own=reading,
                    true_ns=world.now_ns,
                    boot=core.boot,
                )
                self.tell(StatusSeen(status))
        world.at(world.now_ns + POLL_NS, self.poll)

    # What it wants done.

    def do(self, effect: NemesisEffect) -> None:
        match effect:
            case Inject(number, fault):
                self.make(fault)
                self.report(number, healed=False)
            case Heal(number, fault):
                self.undo(fault)
                self.report(number, healed=True)
            case Probe(number, f, node, _):
                self.ask(f, node, probe=number)
            case Note():
                self.notes.append(effect)

    def report(self, number: int, *, healed: bool) -> None:
        told = Happened(number, Verification(Standing.INSTALLED), healed=healed)
        self.world.at(self.world.now_ns + REPORT_NS, lambda: self.tell(told))

    def make(self, fault: Fault) -> None:  # noqa: C901, PLR0912 - one case a kind
        world = self.world
        match fault:
            case Pause(nodes):
                for node in nodes:
                    world.pause(node)
            case Cut(links, flight):
                for link in links:
                    world.cut(link.source, link.target, "hold" if flight is Flight.HOLD else "drop")
            case Slow(links, delay_ns):
                for link in links:
                    world.links[link.source, link.target].delay_ns = delay_ns
            case BendClock(node, bend):
                jump_ns = bend.wall_offset_ns - self.offsets[node]
                self.offsets[node] = bend.wall_offset_ns
                world.bend(node, rate_ppm=bend.rate_ppm, jump_ns=jump_ns)
            case Kill(nodes):
                for node in nodes:
                    world.kill(node)
            case Campaign(node):
                world.campaign(node)
            case SlowApply(nodes, delay_ns):
                for node in nodes:
                    world.set_apply_delay(node, delay_ns)
            case SlowSync(nodes, delay_ns):
                for node in nodes:
                    world.slow_disk(node, delay_ns)

    def undo(self, fault: Fault) -> None:  # noqa: C901 - one case a kind
        world = self.world
        match fault:
            case Pause(nodes):
                for node in nodes:
                    world.resume(node)
            case Cut(links) | Slow(links):
                for link in links:
                    world.links[link.source, link.target].delay_ns = LINK_NS
                    world.open(link.source, link.target)
            case BendClock(node):
                world.bend(node, jump_ns=-self.offsets[node])
                self.offsets[node] = 0
            case Kill(nodes):
                for node in nodes:
                    world.restart(node)
            case Campaign():
                pass
            case SlowApply(nodes):
                for node in nodes:
                    world.set_apply_delay(node, 0)
            case SlowSync(nodes):
                for node in nodes:
                    world.slow_disk(node, 200_000)

    # Clients.

    def write(self) -> None:
        """Write at the leader, again and again."""
        world = self.world
        leader = world.leader()
        if leader is not None:
            self.ask("write", leader, probe=None)
        world.at(world.now_ns + WRITES_NS, self.write)

    def ask(self, f: str, node: str, *, probe: int | None) -> None:
        world = self.world
        self._values += f == "write"
        value = self._values if f == "write" else None
        operation = Operation(f, node, value, world.now_ns)
        self.operations.append(operation)
        pending = world.ask(node, Op(f), KEY, value=value)

        def told(response: Response) -> None:
            self.ended(operation, response, probe)

        world.on_answer(pending, told)
        if f == "read":
            world.at(world.now_ns + READ_NS, lambda: self.late(operation, probe))

    def ended(self, operation: Operation, response: Response, probe: int | None) -> None:
        if operation.ended_ns is not None:
            return
        operation.ended_ns, operation.code = self.world.now_ns, response.code
        operation.ok = response.code is None
        if operation.f == "read" and operation.ok:
            operation.value = response.value
        term = None if response.evidence is None else response.evidence.term
        kind = EventType.OK if operation.ok else EventType.FAIL
        told = Completed(operation.f, KEY, operation.value, kind, operation.node, term, probe)
        self.world.at(self.world.now_ns, lambda: self.tell(told))

    def late(self, operation: Operation, probe: int | None) -> None:
        if operation.ended_ns is None:
            operation.ended_ns = self.world.now_ns
            told = Completed("read", KEY, None, EventType.FAIL, operation.node, None, probe)
            self.tell(told)

    # The judge.

    def stale(self) -> list[Operation]:
        """Return the reads whose value had been replaced before they began."""
        writes: dict[Any, Operation] = {
            each.value: each for each in self.operations if each.f == "write"
        }
        acked = [each for each in writes.values() if each.ok]
        found: list[Operation] = []
        for read in self.operations:
            if read.f != "read" or not read.ok:
                continue
            written_ns = writes[read.value].ended_ns if read.value in writes else -1
            replaced = any(
                write.invoked_ns > written_ns and write.ended_ns < read.invoked_ns
                for write in acked
                if write.ended_ns is not None and written_ns is not None
            )
            if replaced:
                found.append(read)
        return found
