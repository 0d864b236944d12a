"""A simulated cluster on a bench: step it, cut it, ask one node, look into its core.

What lives here: the few words that a test of cores says over and over, in terms of `targets.sim`. What
never does: anything that moves a node, a message or a clock. What is not said here is said to
``lab.cluster`` and ``lab.heap``, which are the simulator's own.

Elections take a tenth of a second, messages half a millisecond; nothing is lost unless a test says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from targets.clock import MS
from targets.cluster import CLIENTS, Dropped, Held, Link, LinkState, Open, Role
from targets.leasekv.config import NodeConfig
from targets.leasekv.messages import Op, Request, Response
from targets.session import Answered, Opened, SessionInput
from targets.sim.cluster import SimCluster
from targets.sim.heap import Heap
from targets.sim.weather import STILL, Weather

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.events import ReadPath
    from checker.evidence import EvidenceLine
    from targets.leasekv.core.core import CoreStatus
    from targets.leasekv.messages import Code
    from targets.leasekv.ports import Input, Ready
    from targets.sim.node import SimNode

E: Final = 100 * MS
H: Final = 10 * MS

QUIET: Final = msgspec.structs.replace(STILL, skew_max_ns=60_000 * MS)
"""Wall clocks agree on nothing; else nothing is drawn."""


class Pending:
    """An operation in flight; ``told`` hears the answer, if one comes."""

    def __init__(self, told: Callable[[Response], None] | None = None) -> None:
        self.response: Response | None = None
        self._told = told

    @property
    def code(self) -> Code | None:
        assert self.response is not None
        return self.response.code

    def answer(self, response: Response) -> None:
        self.response = response
        if self._told is not None:
            self._told(response)


@dataclass(frozen=True)
class Step:
    """What one node was fed at a true instant, and what it made of it."""

    true_ns: int
    node: str
    event: Input
    ready: Ready


class Lab:
    """``lines`` is everybody's evidence in the order in which it happened; ``watch`` sees every step."""

    def __init__(
        self, seed: int = 0, *, nodes: int = 3, weather: Weather = QUIET, **config: Any
    ) -> None:
        names = tuple(f"n{i + 1}" for i in range(nodes))
        timings = {
            "election_ns": E,
            "heartbeat_ns": H,
            "margin_ns": 2 * MS,
            "clock_step_ns": 5 * MS,
            "election_jitter_ns": E // 5,
        }
        self.config = NodeConfig(**{"node": "n1", "nodes": names, "seed": seed, **timings, **config})
        self.heap = Heap()
        self.lines: list[EvidenceLine] = []
        self.steps: list[Step] | None = None
        self.watch: Callable[[SimNode], None] = lambda _node: None
        self.cluster = SimCluster(self.config, weather, self.heap, watch=self._stepped)
        self.nodes = self.cluster.nodes
        self.cluster.start()

    def _stepped(self, node: SimNode, event: Input, ready: Ready) -> None:
        if ready.facts:
            self.lines += node.lines[-len(ready.facts) :]
        if self.steps is not None:
            self.steps.append(Step(self.now_ns, node.name, event, ready))
        self.watch(node)

    # Time.

    @property
    def now_ns(self) -> int:
        return self.heap.now_ns

    def run_until(self, wanted: Callable[[], bool], limit_ns: int = 20 * E) -> None:
        came = self.heap.run_while(lambda: not wanted(), until_ns=self.now_ns + limit_ns)
        self._all_is_well()
        assert came, f"waited {limit_ns} ns in vain"

    def run_for(self, duration_ns: int) -> None:
        self.heap.run_until(self.now_ns + duration_ns)
        self._all_is_well()

    def _all_is_well(self) -> None:
        """A core that breaks ends its node, as a process would; here that is nobody's plan."""
        assert self.cluster.last_words() == {}

    def after(self, duration_ns: int, act: Callable[..., object], *args: Any) -> None:
        """Have something happen later."""
        self.heap.at(self.now_ns + duration_ns, act, *args)

    # Links between nodes.

    def cut(self, source: str, target: str, state: LinkState | None = None) -> None:
        """Cut one direction: what is on its way is lost, unless the state says otherwise."""
        self.cluster.set_link(Link(source, target), state or Dropped())

    def hold(self, source: str, target: str) -> None:
        """Keep what one node says to another until the link opens."""
        self.cut(source, target, Held())

    def open(self, source: str, target: str) -> None:
        self.cut(source, target, Open())

    def isolate(self, name: str) -> None:
        """Cut a node off from its peers; its clients still reach it."""
        for other in self.nodes:
            if other != name:
                self.cut(name, other)
                self.cut(other, name)

    def heal(self) -> None:
        for source in (*self.nodes, CLIENTS):
            for target in (*self.nodes, CLIENTS):
                if source != target:
                    self.open(source, target)

    # Clients.

    def ask(
        self,
        node: str,
        op: Op,
        key: str = "x",
        *,
        value: Any = None,
        path: ReadPath | None = None,
        told: Callable[[Response], None] | None = None,
    ) -> Pending:
        """Let a client of its own ask a node; it hears nothing if its connection breaks."""
        pending = Pending(told)

        def hear(event: SessionInput) -> None:
            match event:
                case Opened():
                    self.cluster.ask(number, Request(number, op, key, value, path))
                case Answered(response):
                    self.cluster.hang_up(number)
                    pending.answer(response)

        number = self.cluster.dial(node, hear)
        return pending

    def write(self, node: str, key: str, value: Any) -> Response:
        return self.wait(self.ask(node, Op.WRITE, key, value=value))

    def load(self, node: str, key: str = "x", path: ReadPath | None = None) -> Response:
        return self.wait(self.ask(node, Op.READ, key, path=path))

    def wait(self, pending: Pending) -> Response:
        self.run_until(lambda: pending.response is not None)
        assert pending.response is not None
        return pending.response

    # Looking.

    def known(self, name: str) -> CoreStatus | None:
        """Return what a node knows of itself at this instant, frozen or not; None if it is gone."""
        node = self.cluster.look(name)
        return None if node.core is None else node.core.status(node.clock.read(self.now_ns))

    def leader(self) -> str | None:
        """Return the leader of the highest term that is not gone."""
        led: dict[int, str] = {}
        for name in self.nodes:
            known = self.known(name)
            if known is not None and known.role is Role.LEADER:
                led[known.term] = name
        return led[max(led)] if led else None

    def holders(self) -> list[str]:
        """Return the nodes that hold a lease at this instant, by their own clocks.

        A suspended host holds none: its monotonic clock stands still, but before it serves anything it
        sees that its boot time went on.
        """
        awake = [name for name in self.nodes if not self.cluster.look(name).clock.suspended]
        known = {name: self.known(name) for name in awake}
        return [name for name, one in known.items() if one and one.lease_remaining_ns is not None]

    def elect(self) -> str:
        """Run until a leader serves from its lease (or would, had its policy one); return it."""
        self.run_until(self._led)
        leader = self.leader()
        assert leader is not None
        return leader

    def _led(self) -> bool:
        leader = self.leader()
        core = None if leader is None else self.cluster.look(leader).core
        if core is None:
            return False
        serves = leader in self.holders() or self.config.policy != "lease-renew"
        return serves and core._state.applied_index >= core._state.noop_index

    def facts(self, kind: type, node: str | None = None) -> list[Any]:
        return [
            line.what for line in self.lines if isinstance(line.what, kind) and node in {None, line.node}
        ]
