"""leasekv as a target: our own Raft store, wherever nodes can run. See `targets.target`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from targets.target import Mode, Place, Setup, Simulated, Target, UnfitError

from .config import ConfigError, Limits, NodeConfig, build_rules
from .mistakes import MISTAKES
from .policies import POLICIES
from .rules import RULES_OFF

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from targets.cluster import Cluster
    from targets.sim.cluster import SimCluster
    from targets.sim.heap import Heap
    from targets.target import Mistake

    from .client import LeaseKvClient

CONTAINERS_MAX: Final = 5  # services of the compose file


class LeaseKv:
    """See `targets.target.Target` and `targets.target.Simulated`."""

    name = "leasekv"
    about = "our own Raft store: reads by lease, by ReadIndex, by the log"
    modes: Mapping[str, Mode] = MappingProxyType({name: one.mode for name, one in POLICIES.items()})
    places: tuple[Place, ...] = (Place.LOCAL, Place.SIM, Place.DOCKER)
    takes = frozenset(
        {
            "keep_rules",
            "voters",
            "readindex_one_in",
            "heartbeat_ns",
            "margin_ns",
            "append_max",
            "compact_entries",
            "workload",
            "read_timeout_ns",
            "weather",
            "keep",
            "links",
        }
    )
    mistakes: Mapping[str, Mistake] = MISTAKES
    rules_off: tuple[str, ...] = tuple(RULES_OFF)
    schedules: tuple[str, ...] = ()  # a mistake brings its own

    def check(self, setup: Setup) -> None:
        """Refuse what no node would start with."""
        if setup.on is Place.DOCKER and len(setup.node_names) > CONTAINERS_MAX:
            sentence = (
                f"nodes {len(setup.node_names)} is too many: "
                f"the compose file has {CONTAINERS_MAX} services"
            )
            raise UnfitError(sentence, key="nodes")
        try:
            build_rules(node_config(setup))
        except ConfigError as error:
            raise UnfitError(str(error)) from error
        if not set(_masks(setup)).issuperset(setup.keep_rules):
            kept = ", ".join(setup.keep_rules)
            sentence = f"keep_rules {kept}: no mistake of this plan switches that off"
            raise UnfitError(sentence, key="keep_rules")

    def cluster(self, setup: Setup, run_dir: Path, *, gates: bool) -> Cluster:
        """Return containers, or processes on loopback."""
        config = node_config(setup)
        if setup.on is Place.DOCKER:
            from . import containers  # noqa: PLC0415 - half a second

            return containers.leasekv_cluster(config, run_dir, clock=setup.clock, gates=gates)
        from . import processes  # noqa: PLC0415 - where they are meant

        return processes.leasekv_cluster(config, run_dir, clock=setup.clock, keep=setup.keep)

    def client(self, setup: Setup) -> LeaseKvClient:
        """Return a client that waits as long as the plan says."""
        from .client import LeaseKvClient  # noqa: PLC0415 - to list targets takes none

        return LeaseKvClient(
            read_timeout_ns=setup.read_timeout_ns, write_timeout_ns=setup.write_timeout_ns
        )

    def simulated(self, setup: Setup, heap: Heap) -> SimCluster:
        """Return cores on a heap."""
        from targets.sim.cluster import SimCluster  # noqa: PLC0415 - as above

        return SimCluster(node_config(setup), setup.weather, heap)

    def lease_ns(self, setup: Setup) -> int:
        """Return how long a lease of the policy is."""
        config = node_config(setup)
        return build_rules(config).lease_ns(config.bounds)

    def promise_ns(self, setup: Setup) -> int | None:
        """Return how long a promise is, or what a new leader waits out in its place: about E."""
        config = node_config(setup)
        if config.synced:
            return None
        return build_rules(config).promise_ns(config.bounds) or config.election_ns


def node_config(setup: Setup) -> NodeConfig:
    """Return what the first node is told; the others are told the same under their own names."""
    return NodeConfig(
        node=setup.node_names[0],
        nodes=setup.node_names,
        voters=setup.voter_names,
        policy=setup.policy,
        mistakes=setup.mistakes,
        rules_off=tuple(rule for rule in _masks(setup) if rule not in setup.keep_rules),
        election_ns=setup.election_ns,
        heartbeat_ns=setup.heartbeat_ns,
        drift_ppm=setup.drift_ppm,
        margin_ns=setup.margin_ns,
        limits=Limits(append_max=setup.append_max, compact_entries=setup.compact_entries),
        seed=setup.seed,
    )


def _masks(setup: Setup) -> tuple[str, ...]:
    """Return the rules that would mask one of the mistakes."""
    return tuple(dict.fromkeys(rule for name in setup.mistakes for rule in MISTAKES[name].also_off))


LEASEKV: Final = LeaseKv()

if TYPE_CHECKING:
    _is_a_target: Target = LEASEKV
    _is_simulated: Simulated = LEASEKV
