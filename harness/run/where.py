"""From a plan to a cluster that can be started, and to the client that speaks with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.plan.plan import ScheduleFrom
from harness.plan.resolve import node_config
from harness.plan.schedules import delays
from targets.catalog import is_file
from targets.leasekv.client import LeaseKvClient
from targets.local.cluster import LocalCluster

if TYPE_CHECKING:
    from harness.plan.plan import Plan
    from harness.store.rundir import RunDir
    from targets.cluster import Cluster
    from targets.session import Client


def make_cluster(plan: Plan, directory: RunDir) -> Cluster:
    """Return the plan's cluster, not started; evidence and logs go into the run directory."""
    if is_file(plan.target):
        from targets.attach.client import load  # noqa: PLC0415 - half a second
        from targets.attach.cluster import AttachedCluster  # noqa: PLC0415

        return AttachedCluster(
            load(Path(plan.target)),
            plan.policy,
            directory.path,
            count=plan.nodes,
            containers=plan.containers,
            compose=None if plan.compose is None else Path(plan.compose),
        )
    match plan.target, plan.on:
        case "leasekv", "docker":
            from targets.docker.leasekv import leasekv_cluster  # noqa: PLC0415 - half a second

            config = node_config(plan, plan.node_names[0])
            return leasekv_cluster(config, directory.path, clock=plan.clock, gates=gated(plan))
        case "etcd" | "etcd-current", _:
            from targets.docker.cluster import DockerCluster  # noqa: PLC0415 - half a second
            from targets.etcd.system import EtcdSystem  # noqa: PLC0415

            system = EtcdSystem(plan.node_names, current=plan.target == "etcd-current")
            return DockerCluster(system, directory.path, gates=gated(plan))
        case _:
            config = node_config(plan, plan.node_names[0])
            return LocalCluster(config, directory.path, clock=plan.clock, keep=plan.keep)


def make_client(plan: Plan) -> Client:
    """Return what the plan's target is spoken to with."""
    if is_file(plan.target):
        from targets.attach.bridge import BridgeClient  # noqa: PLC0415 - half a second

        return BridgeClient(timeout_ns=plan.write_timeout_ns)
    if plan.target.startswith("etcd"):
        from targets.etcd.client import EtcdClient  # noqa: PLC0415 - as its cluster

        return EtcdClient(plan.policy, timeout_ns=plan.write_timeout_ns)
    return LeaseKvClient(read_timeout_ns=plan.read_timeout_ns, write_timeout_ns=plan.write_timeout_ns)


def gated(plan: Plan) -> bool:
    """Tell whether links between containers run through gates.

    Without them what was held arrives up to a second late, as TCP sends it again: too late for "late".
    """
    if plan.links == "auto":
        drawn = plan.schedule_from is ScheduleFrom.SEED
        return not drawn or plan.peer_delay_ns > 0 or "late" in plan.faults or delays(plan)
    return plan.links == "gates"
