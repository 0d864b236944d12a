"""Random clients and a random nemesis on a `Lab` in bad weather; all randomness is the seed's.

It knows nothing of the harness: no schedule, no workload, no session. What a node's core is held to here
rests on the simulator and on two judges alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
from leasekv_judge import Invariants, Operation, linearizable
from sim_lab import E, Lab

from checker import Outcome, check, formats
from checker.events import Event, EventType, ReadPath
from checker.oracles.result import Oracle
from targets.clock import MS
from targets.cluster import ClockBend, Delayed, Dropped, Held
from targets.leasekv.config import Limits
from targets.leasekv.messages import Code, Op, Response
from targets.leasekv.policies import POLICIES
from targets.leasekv.ports import CampaignNow, HandOver, Order, Reconfigure
from targets.sim.cluster import OPERATOR
from targets.sim.weather import Weather

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets.cluster import LinkState

    Act = Callable[[], None]

HEADER = b'{"schema":1,"kind":"lantern-history"}'
CLIENT_TIMEOUT_NS = 2 * E
OPS_PER_KEY = 60

SHORT_LOGS = Limits(compact_entries=30, trail_entries=8)
"""Whoever was away for a second is sent a snapshot."""

BAD_WEATHER = Weather(
    tail_ppm=5_000,
    tail_max_ns=20 * MS,
    loss_ppm=5_000,
    duplicate_ppm=10_000,
    reorder_ppm=10_000,
    stall_ppm=2_000,
    stall_max_ns=20 * MS,
    torn=True,
    skew_max_ns=10_000 * MS,
    rate_max_ppm=50_000,
    suspend_ppm=300_000,
    shuffle=True,
)
"""Clocks may be as wrong as is declared, all the time; three pauses in ten suspend the host."""


class Storm:
    """Clients that never stop and faults that come and go, for ``length_ns`` of true time."""

    def __init__(self, seed: int, *, length_ns: int = 15 * E, clients: int = 4, **config: Any) -> None:
        timings = {"limits": SHORT_LOGS, "grant_ns": 3 * E, "sync_ns": E // 2}
        self.lab = Lab(seed, weather=BAD_WEATHER, **{**timings, **config})
        self.rng = Random(f"{seed}/storm")
        self.lull_ns = self.rng.choice([E, 2 * E, 4 * E])
        self.length_ns = length_ns
        self.clients = clients
        policy = POLICIES[self.lab.config.policy]
        self.invariants = Invariants(self.lab, one_lease=Oracle.LEASE_OVERLAP in policy.mode.owes)
        self.lab.watch = self.invariants
        self.history: dict[str, list[Operation]] = defaultdict(list)
        self.events: list[Event] = []
        self.count: Counter[str] = Counter()
        self._issued = 0
        self._hint: str | None = None

    def run(self) -> Lab:
        lab, cluster = self.lab, self.lab.cluster
        for process in range(self.clients):
            self._think(process)
        lab.after(self.rng.randrange(2 * E), self._fault)
        lab.run_for(self.length_ns)
        lab.heal()
        for name in lab.nodes:
            cluster.restart(name)
            cluster.resume(name)
            cluster.bend_clock(name, ClockBend())
            cluster.set_apply_delay(name, 0)
            cluster.set_sync_delay(name, 0)
            cluster.set_time_service(name, heard=True)
        lab.run_for(8 * E)
        self.invariants.logs_match()
        return lab

    def judge(self) -> None:
        """Raise unless the history is linearizable, says each of two judges, and went on to the end."""
        wrong = sorted(key for key, operations in self.history.items() if not linearizable(operations))
        assert wrong == self.violations()
        assert wrong == []
        done = [event.time_ns for event in self.events if event.type is EventType.OK]
        assert max(done) > self.length_ns + 4 * E, "nothing was done any more although all was healed"

    def violations(self) -> list[str]:
        """Return the keys of which the checker says that their history is not linearizable."""
        lines = [HEADER, *map(msgspec.json.encode, self.events)]
        history = formats.read(b"\n".join(lines) + b"\n", name="storm")
        report = check(history, model="cas-register", all_keys=True)
        assert report.outcome in {Outcome.PASS, Outcome.VIOLATION}, report.sentence
        return sorted(violation.key for violation in report.violations)

    # Clients.

    def _think(self, process: int) -> None:
        self.lab.after(self.rng.randrange(E // 10), self._invoke, process)

    def _invoke(self, process: int) -> None:
        lab = self.lab
        if lab.now_ns > self.length_ns + 6 * E:
            return
        self._issued += 1
        key = f"k{self._issued // OPS_PER_KEY}"
        kind, value, path = self._draw()
        operation = Operation(kind.value, value, lab.now_ns)
        if kind is not Op.READ:
            self.history[key].append(operation)
        self._record(process, EventType.INVOKE, operation, key)
        over = [False]

        def answered(response: Response) -> None:
            if not over[0]:
                over[0] = True
                self._answered(process, operation, key, response)

        def late() -> None:
            if not over[0]:
                over[0] = True
                self.count["late"] += 1
                self._lost(process, operation, key)

        lab.after(CLIENT_TIMEOUT_NS, late)
        lab.ask(self._draw_node(kind), kind, key, value=value, path=path, told=answered)

    def _draw(self) -> tuple[Op, Any, ReadPath | None]:
        rng = self.rng
        kind = rng.choice([Op.READ, Op.READ, Op.READ, Op.WRITE, Op.WRITE, Op.CAS, Op.DELETE])
        if kind is Op.WRITE:
            return kind, self._issued, None
        if kind is Op.CAS:
            return (
                kind,
                [self._issued - rng.randrange(1, 6), self._issued],
                None,
            )  # as it comes off the wire
        if kind is Op.READ and rng.random() < 0.1:
            return kind, None, rng.choice([ReadPath.READINDEX, ReadPath.LOG])
        return kind, None, None

    def _draw_node(self, kind: Op) -> str:
        if kind is not Op.READ and self._hint is not None and self.rng.random() < 0.8:
            return self._hint
        return self.rng.choice(list(self.lab.nodes))

    def _lost(self, process: int, operation: Operation, key: str) -> None:
        """Nobody knows how it ended; its client goes on as another process."""
        self._record(process, EventType.INFO, operation, key)
        self._think(process + self.clients)

    def _record(
        self, process: int, type_: EventType, operation: Operation, key: str, **more: Any
    ) -> None:
        self.events.append(
            Event(
                index=len(self.events),
                time_ns=self.lab.now_ns,
                process=process,
                type=type_,
                f=operation.f,
                key=key,
                value=operation.value,
                **more,
            )
        )

    def _answered(self, process: int, operation: Operation, key: str, response: Response) -> None:
        self._hint = response.leader or self._hint
        self.count[str(response.code) if response.code else operation.f] += 1
        if response.code is None:
            operation.end_ns = self.lab.now_ns
            if operation.f == "read":
                operation.value = response.value
                self.history[key].append(operation)
                assert response.evidence is not None
                self.count[f"path-{response.evidence.path}"] += 1
            self._record(process, EventType.OK, operation, key)
        elif not response.code.definite:
            self._lost(process, operation, key)
            return
        else:
            self._record(process, EventType.FAIL, operation, key, error=response.code.value)
            if response.code is Code.MISMATCH:
                operation.f = "miss"
                operation.end_ns = self.lab.now_ns
            elif operation.f != "read":
                self.history[key].remove(operation)
        self._think(process)

    # Faults.

    def _fault(self) -> None:
        lab, rng = self.lab, self.rng
        if lab.now_ns > self.length_ns:
            return
        leader = lab.leader()
        victim = leader if leader is not None and rng.random() < 0.6 else rng.choice(lab.nodes)
        others = [name for name in lab.nodes if name != victim]
        fault, heal = rng.choice(self._faults(victim, others))
        fault()
        lab.after(rng.randrange(E // 5, 3 * E), heal)
        lab.after(rng.randrange(self.lull_ns), self._fault)

    def _faults(self, victim: str, others: list[str]) -> list[tuple[Act, Act]]:
        lab, cluster, rng = self.lab, self.lab.cluster, self.rng
        links = [(victim, other) for other in others] + [(other, victim) for other in others]
        some = rng.sample(links, rng.randrange(1, len(links) + 1))
        state: LinkState = rng.choice((Held(), Dropped()))
        rate = ClockBend(rng.randrange(-50_000, 50_001))
        jump = ClockBend(wall_offset_ns=rng.randrange(-10 * E, 10 * E))
        late_ns = rng.randrange(E // 2)
        unbend = partial(cluster.bend_clock, victim, ClockBend())

        def resume_then_heal() -> None:
            cluster.resume(victim)
            lab.after(E // 2, self._heal, links)

        def pause_and_cut() -> None:
            self._pause(victim)
            self._cut(links, state)

        return [
            (lambda: self._cut(some, state), lambda: self._heal(some)),
            (lambda: self._cut(links, state), lambda: self._heal(links)),
            (lambda: self._pause(victim), lambda: cluster.resume(victim)),
            (pause_and_cut, resume_then_heal),
            (lambda: cluster.kill(victim), lambda: cluster.restart(victim)),
            (lambda: cluster.bend_clock(victim, rate), unbend),
            (lambda: cluster.bend_clock(victim, jump), lambda: None),
            (lambda: self._order(rng.choice(others), CampaignNow()), lambda: None),
            (lambda: self._order(lab.leader(), HandOver(rng.choice(others))), lambda: None),
            (lambda: self._order(lab.leader(), self._reconfiguration()), lambda: None),
            (
                lambda: cluster.set_apply_delay(victim, E // 4),
                lambda: cluster.set_apply_delay(victim, 0),
            ),
            (lambda: self._cut(some, Delayed(late_ns)), lambda: self._heal(some)),
            (
                lambda: cluster.set_sync_delay(victim, late_ns),
                lambda: cluster.set_sync_delay(victim, 0),
            ),
            (
                lambda: cluster.set_time_service(victim, heard=False),
                lambda: cluster.set_time_service(victim, heard=True),
            ),
        ]

    def _pause(self, victim: str) -> None:
        if self.lab.cluster.look(victim).running:
            self.count["pause"] += 1
            self.lab.cluster.pause(victim)

    def _order(self, name: str | None, order: Order) -> None:
        """Say as an operator would; a leader may be wanted and there may be none."""
        if name is not None and self.lab.cluster.look(name).running:
            self.count[type(order).__name__] += 1
            self.lab.cluster.look(name).feed(OPERATOR, order)

    def _reconfiguration(self) -> Reconfigure:
        nodes = self.rng.sample(self.lab.nodes, len(self.lab.nodes))
        voters = self.rng.randint(1, len(nodes))
        return Reconfigure(tuple(nodes[:voters]), tuple(nodes[voters:][: self.rng.randrange(3)]))

    def _cut(self, links: list[tuple[str, str]], state: LinkState) -> None:
        self.count["cut"] += 1
        for link in links:
            self.lab.cut(*link, state)

    def _heal(self, links: list[tuple[str, str]]) -> None:
        wait_ns = 0
        for source, target in self.rng.sample(links, len(links)):
            wait_ns += self.rng.randrange(E // 5)
            self.lab.after(wait_ns, self.lab.open, source, target)
