"""What every family of means shares: what an attempt came to, and how long it may take.

A means first asks the cluster whether it can do the thing at all, then does it, then reads back whether
it took hold. Whatever goes wrong on the way becomes a `Verification`: a fault that is not known to have
happened must not be counted, and a heal that failed must be told, but neither may end the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nemesis.faults import Standing, Verification
from targets.cluster import Cluster, Primitive, ProcessState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

INJECT_S: Final = 4.0
HEAL_S: Final = 4.0
RESTART_S: Final = 15.0
"""How long one attempt may take; a restart includes the node's start."""


class Ineffective(Exception):  # noqa: N818 - an answer, not a failure
    """The fault was made and had no effect; the message says what was read back."""


class Unverified(Exception):  # noqa: N818 - an answer, not a failure
    """Whether the fault took hold (or the heal did) could not be read back, or it half did."""


def installed(**evidence: Any) -> Verification:
    """Return that it took hold, with what was read back."""
    return Verification(Standing.INSTALLED, evidence)


def skipped(reason: str) -> Verification:
    """Return that it was not possible."""
    return Verification(Standing.SKIPPED, {}, reason)


def unknown(reason: str) -> Verification:
    """Return that nobody knows."""
    return Verification(Standing.UNKNOWN, {}, reason)


def unsupported(cluster: Cluster, primitives: Iterable[Primitive]) -> str | None:
    """Return why the cluster cannot do one of these, None if it can do all."""
    reasons = (cluster.supports(primitive) for primitive in primitives)
    return next((reason for reason in reasons if reason is not None), None)


def states(cluster: Cluster, nodes: Iterable[str]) -> Mapping[str, ProcessState]:
    """Return what the operating system says of these nodes now."""
    return {node: cluster.state(node) for node in nodes}


def gone(cluster: Cluster, nodes: Iterable[str]) -> str | None:
    """Return a sentence about the nodes that are not there, None if all are."""
    missing = [node for node, state in states(cluster, nodes).items() if state is ProcessState.GONE]
    return f"{', '.join(missing)} not running" if missing else None
