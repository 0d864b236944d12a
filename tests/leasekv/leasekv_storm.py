"""Random clients and a random nemesis on a `World`; all randomness is the seed's."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
from leasekv_judge import Invariants, Operation, linearizable
from leasekv_virtual import E, World

from checker import Outcome, check, formats
from checker.events import Event, EventType, ReadPath
from targets.clock import MS
from targets.leasekv.messages import Code, Op, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    Act = Callable[[], None]

HEADER = b'{"schema":1,"kind":"lantern-history"}'
CLIENT_TIMEOUT_NS = 2 * E
OPS_PER_KEY = 60


class Storm:
    """Clients that never stop and faults that come and go, for ``length_ns`` of true time."""

    def __init__(self, seed: int, *, length_ns: int = 15 * E, clients: int = 4, **config: Any) -> None:
        self.world = World(seed, **config)
        self.rng = Random(f"{seed}/storm")
        self.length_ns = length_ns
        self.clients = clients
        self.invariants = Invariants(self.world)
        self.world.watch = self.invariants
        self.history: dict[str, list[Operation]] = defaultdict(list)
        self.events: list[Event] = []
        self.count: Counter[str] = Counter()
        self._issued = 0
        self._hint: str | None = None

    def run(self) -> World:
        world = self.world
        for process in range(self.clients):
            self._think(process)
        world.at(self.rng.randrange(2 * E), self._fault)
        world.run_for(self.length_ns)
        world.heal()
        for name in world.nodes:
            world.restart(name)
            world.resume(name)
            world.bend(name)
            world.set_apply_delay(name, 0)
        world.run_for(8 * E)
        self.invariants.logs_match()
        return world

    def judge(self) -> None:
        """Raise unless the history is linearizable, by the dumb judge and by the checker."""
        wrong = sorted(key for key, operations in self.history.items() if not linearizable(operations))
        assert wrong == self.violations()
        assert wrong == []

    def violations(self) -> list[str]:
        """Return the keys of which the checker says that their history is not linearizable."""
        lines = [HEADER, *map(msgspec.json.encode, self.events)]
        history = formats.read(b"\n".join(lines) + b"\n", name="storm")
        report = check(history, model="cas-register", all_keys=True)
        assert report.outcome in {Outcome.PASS, Outcome.VIOLATION}, report.sentence
        return sorted(violation.key for violation in report.violations)

    # Clients.

    def _think(self, process: int) -> None:
        self.world.at(self.world.now_ns + self.rng.randrange(E // 10), partial(self._invoke, process))

    def _invoke(self, process: int) -> None:
        world = self.world
        if world.now_ns > self.length_ns + 6 * E:
            return
        self._issued += 1
        key = f"k{self._issued // OPS_PER_KEY}"
        kind, value, path = self._draw()
        operation = Operation(kind.value, value, world.now_ns)
        if kind is not Op.READ:
            self.history[key].append(operation)
        self._record(process, EventType.INVOKE, operation, key)
        pending = world.ask(self._draw_node(kind), kind, key, value=value, path=path)
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

        world.at(world.now_ns + CLIENT_TIMEOUT_NS, late)
        world.on_answer(pending, answered)

    def _draw(self) -> tuple[Op, Any, ReadPath | None]:
        rng = self.rng
        kind = rng.choice([Op.READ, Op.READ, Op.READ, Op.WRITE, Op.WRITE, Op.CAS, Op.DELETE])
        if kind is Op.WRITE:
            return kind, self._issued, None
        if kind is Op.CAS:
            return kind, (self._issued - rng.randrange(1, 6), self._issued), None
        if kind is Op.READ and rng.random() < 0.1:
            return kind, None, rng.choice([ReadPath.READINDEX, ReadPath.LOG])
        return kind, None, None

    def _draw_node(self, kind: Op) -> str:
        if kind is not Op.READ and self._hint is not None and self.rng.random() < 0.8:
            return self._hint
        return self.rng.choice(list(self.world.nodes))

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
                time_ns=self.world.now_ns,
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
            operation.end_ns = self.world.now_ns
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
                operation.end_ns = self.world.now_ns
            elif operation.f != "read":
                self.history[key].remove(operation)
        self._think(process)

    # Faults.

    def _fault(self) -> None:
        world, rng = self.world, self.rng
        if world.now_ns > self.length_ns:
            return
        nodes = list(world.nodes)
        leader = world.leader()
        victim = leader if leader is not None and rng.random() < 0.6 else rng.choice(nodes)
        others = [name for name in nodes if name != victim]
        fault, heal = rng.choice(self._faults(victim, others))
        fault()
        lasts_ns = rng.randrange(E // 5, 3 * E)
        world.at(world.now_ns + lasts_ns, heal)
        world.at(world.now_ns + rng.randrange(E // 2, 3 * E), self._fault)

    def _faults(self, victim: str, others: list[str]) -> list[tuple[Act, Act]]:
        world, rng = self.world, self.rng
        links = [(victim, other) for other in others] + [(other, victim) for other in others]
        some = rng.sample(links, rng.randrange(1, len(links) + 1))
        mode = rng.choice(["hold", "drop"])
        rate_ppm = rng.randrange(-50_000, 50_001)
        jump_ns = rng.randrange(-10 * E, 10 * E)
        late_ns = rng.randrange(E // 2)

        def resume_then_heal() -> None:
            world.resume(victim)
            world.at(world.now_ns + E // 2, lambda: self._heal(links))

        def pause_and_cut() -> None:
            self._pause(victim)
            self._cut(links, mode)

        return [
            (lambda: self._cut(some, mode), lambda: self._heal(some)),
            (lambda: self._cut(links, mode), lambda: self._heal(links)),
            (lambda: self._pause(victim), lambda: world.resume(victim)),
            (pause_and_cut, resume_then_heal),
            (lambda: world.kill(victim), lambda: world.restart(victim)),
            (lambda: world.bend(victim, rate_ppm=rate_ppm), lambda: world.bend(victim)),
            (lambda: world.bend(victim, jump_ns=jump_ns), lambda: None),
            (lambda: world.campaign(rng.choice(others)), lambda: None),
            (lambda: world.set_apply_delay(victim, E // 4), lambda: world.set_apply_delay(victim, 0)),
            (lambda: self._slow(some, late_ns), lambda: self._slow(some, MS // 2)),
            (lambda: world.slow_disk(victim, late_ns), lambda: world.slow_disk(victim, MS // 5)),
        ]

    def _pause(self, victim: str) -> None:
        self.count["pause"] += 1
        self.world.pause(victim)

    def _cut(self, links: list[tuple[str, str]], mode: str) -> None:
        self.count["cut"] += 1
        for link in links:
            self.world.cut(*link, mode)

    def _heal(self, links: list[tuple[str, str]]) -> None:
        at_ns = self.world.now_ns
        for source, target in self.rng.sample(links, len(links)):
            at_ns += self.rng.randrange(E // 5)
            self.world.at(at_ns, partial(self.world.open, source, target))

    def _slow(self, links: list[tuple[str, str]], delay_ns: int) -> None:
        for link in links:
            self.world.links[link].delay_ns = delay_ns
