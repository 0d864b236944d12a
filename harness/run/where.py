"""From a plan's ``on`` to a cluster that can be started there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plan.plan import ScheduleFrom
from harness.plan.resolve import node_config
from harness.plan.schedules import delays
from targets.local.cluster import LocalCluster

if TYPE_CHECKING:
    from harness.plan.plan import Plan
    from harness.store.rundir import RunDir
    from targets.cluster import Cluster


def make_cluster(plan: Plan, directory: RunDir) -> Cluster:
    """Return the plan's cluster, not started; evidence and logs go into the run directory."""
    config = node_config(plan, plan.node_names[0])
    match plan.on:
        case "local":
            return LocalCluster(config, directory.path, clock=plan.clock)
        case "docker":
            from targets.docker.leasekv import leasekv_cluster  # noqa: PLC0415 - half a second

            return leasekv_cluster(config, directory.path, clock=plan.clock, gates=gated(plan))


def gated(plan: Plan) -> bool:
    """Tell whether links between containers run through gates."""
    if plan.links == "auto":
        aimed = plan.schedule_from is ScheduleFrom.AIMED
        return aimed or plan.peer_delay_ns > 0 or delays(plan)
    return plan.links == "gates"
