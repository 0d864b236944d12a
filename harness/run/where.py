"""From a plan to a cluster that can be started, and to the client that speaks with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plan.plan import ScheduleFrom
from harness.plan.schedules import delays
from targets.catalog import find
from targets.target import Simulated

if TYPE_CHECKING:
    from harness.plan.plan import Plan
    from harness.store.rundir import RunDir
    from targets.cluster import Cluster
    from targets.session import Client
    from targets.sim.cluster import SimCluster
    from targets.sim.heap import Heap


def make_cluster(plan: Plan, directory: RunDir) -> Cluster:
    """Return the plan's cluster, not started; evidence and logs go into the run directory."""
    return find(plan.target).cluster(plan.setup, directory.path, gates=gated(plan))


def make_client(plan: Plan) -> Client:
    """Return what the plan's target is spoken to with."""
    return find(plan.target).client(plan.setup)


def make_simulated(plan: Plan, heap: Heap) -> SimCluster:
    """Return the plan's cluster in virtual time, not started."""
    return simulated(plan).simulated(plan.setup, heap)


def simulated(plan: Plan) -> Simulated:
    """Return the target of a plan for the simulator, as what can be simulated."""
    target = find(plan.target)
    assert isinstance(target, Simulated), f"{target.name} has the simulator among its places"
    return target


def gated(plan: Plan) -> bool:
    """Tell whether links between containers run through gates.

    Without them what was held arrives up to a second late, as TCP sends it again: too late for "late".
    """
    if plan.links == "auto":
        drawn = plan.schedule_from is ScheduleFrom.SEED
        return not drawn or plan.peer_delay_ns > 0 or "late" in plan.faults or delays(plan)
    return plan.links == "gates"
