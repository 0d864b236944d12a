"""The parts of a run that every driver drives, made from its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.plan.schedules import of_plan
from nemesis import Machine
from targets.cluster import Delayed, Link, LinkState, Open

from .conductor import Conductor
from .ports import Timing
from .workloads import source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.plan.plan import Plan
    from targets.session import Session

READY_MAX_E: Final = 30
HEAL_MAX_E: Final = 20
SETTLE_MAX_E: Final = 12
FINAL_MAX_E: Final = 10


def make_conductor(plan: Plan, session: Callable[[], Session]) -> tuple[Machine, Conductor]:
    """Return the nemesis of a plan and the conductor that it is part of."""
    machine = Machine(
        of_plan(plan),
        plan.node_names,
        election_ns=plan.election_ns,
        seed=plan.seed,
        drift_ppm=plan.drift_ppm,
    )
    conductor = Conductor(
        plan.node_names,
        generator=source_of(plan),
        machine=machine,
        session=session,
        timing=timing_of(plan),
    )
    return machine, conductor


def peer_links(nodes: Sequence[str]) -> Iterator[Link]:
    """Yield every link between two nodes."""
    return (Link(source, target) for source in nodes for target in nodes if source != target)


def peer_state(plan: Plan) -> LinkState:
    """Return how a link between two nodes is when nothing is done to it."""
    return Delayed(plan.peer_delay_ns) if plan.peer_delay_ns else Open()


def timing_of(plan: Plan) -> Timing:
    """Return the bounds of every phase, in the plan's own election timeouts."""
    election_ns = plan.election_ns
    call_ns = max(plan.read_timeout_ns, plan.write_timeout_ns)
    listed = plan.operations is not None  # nothing goes on that could show that all is well again
    return Timing(
        load_ns=round(plan.time_s * 1e9),
        ready_max_ns=READY_MAX_E * election_ns,
        heal_max_ns=HEAL_MAX_E * election_ns,
        settle_min_ns=plan.settle_ns,
        settle_max_ns=0 if listed else plan.settle_ns + SETTLE_MAX_E * election_ns,
        drain_max_ns=2 * call_ns,
        final_max_ns=FINAL_MAX_E * election_ns,
    )
