"""The workloads by name: what draws operations, what judges them, what a run must exercise."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from harness.plan.plan import Load
from targets.catalog import mode

from .generator import Generator
from .locks import Locks
from .script import Script
from .slots import Workload
from .supply import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.plan.plan import Plan


class About(msgspec.Struct, frozen=True, kw_only=True):
    """One workload: ``make`` makes what draws its operations.

    ``model`` judges its history; ``claims`` are names of `checker.exercised`.
    """

    about: str
    make: Callable[[Workload, random.Random], Source]
    model: str
    claims: tuple[str, ...] = ()


WORKLOADS: Final[Mapping[Load, About]] = MappingProxyType(
    {
        Load.REGISTER: About(
            about="reads pinned to every node, unique writes and compare-and-set, on keys that rotate",
            make=Generator,
            model="cas-register",
        ),
        Load.LOCK: About(
            about="clients acquire locks and write with their tokens, some are stopped meanwhile; "
            "others read what was written",
            make=Locks,
            model="fenced-register",
            claims=("grants", "expiries", "refused-tokens"),
        ),
    }
)


def claims_of(plan: Plan) -> tuple[str, ...]:
    """Return what a run of a plan must have exercised: of its policy, and of its workload."""
    return mode(plan.target, plan.policy).claims + WORKLOADS[plan.workload].claims


def model_of(plan: Plan) -> str:
    """Return the model that judges a plan's history."""
    return WORKLOADS[plan.workload].model


def source_of(plan: Plan) -> Source:
    """Return what hands out a plan's operations."""
    if plan.operations is not None:
        return Script(plan.operations)
    workload = Workload(
        nodes=plan.node_names,
        clients=plan.clients,
        keys=plan.keys,
        rate_per_s=plan.rate,
        key_operations_max=plan.key_operations,
        readindex_one_in=plan.readindex_one_in,
        ttl_ns=plan.election_ns,
    )
    return WORKLOADS[plan.workload].make(workload, random.Random(f"{plan.seed}/workload"))
