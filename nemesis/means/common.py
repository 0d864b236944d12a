"""What every family of means shares: what an attempt came to, and how long it may take.

A `Means` is the row of one kind of fault: what a cluster must be able to do for it, what is called to
make it and to heal it, and how it is read back. The first three are the same wherever nodes run:
processes and containers are awaited, the simulator answers at once. Only where something can half
happen, on real nodes, is anything read back.

A means first asks the cluster whether it can do the thing at all, then does it, then reads back whether
it took hold. Whatever goes wrong on the way becomes a `Verification`: a fault that is not known to have
happened must not be counted, and a heal that failed must be told, but neither may end the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from nemesis.faults import Standing, Verification
from targets.cluster import Cluster, NodeStatus, Primitive, ProcessState

INJECT_S: Final = 4.0
HEAL_S: Final = 4.0
RESTART_S: Final = 15.0
"""How long one attempt may take; a restart includes the node's start."""


Statuses = Mapping[str, NodeStatus | None]
"""What nodes say of themselves; None of those that do not answer."""


class Ineffective(Exception):  # noqa: N818 - an answer, not a failure
    """The fault was made and had no effect; the message says what was read back."""


class Unverified(Exception):  # noqa: N818 - an answer, not a failure
    """Whether the fault took hold (or the heal did) could not be read back, or it half did."""


def installed(**evidence: Any) -> Verification:
    """Return that it took hold, with what was read back."""
    return Verification(Standing.INSTALLED, evidence)


def skipped(reason: str) -> Verification:
    """Return that it was not possible here and now, or had no effect."""
    return Verification(Standing.SKIPPED, {}, reason)


def refused(reason: str) -> Verification:
    """Return that the cluster cannot do it at all, so that nothing was done and nothing is to heal."""
    return Verification(Standing.SKIPPED, {}, reason, tried=False)


def unknown(reason: str) -> Verification:
    """Return that nobody knows."""
    return Verification(Standing.UNKNOWN, {}, reason)


class Place(Protocol):
    """What is asked of a cluster before anything is done to it; the simulated one can be asked too."""

    def supports(self, primitive: Primitive) -> str | None:
        """Return why it cannot do that, None if it can."""

    def state(self, node: str) -> ProcessState:
        """Return what a node's process does."""


def unsupported(place: Place, primitives: Iterable[Primitive]) -> str | None:
    """Return why the cluster cannot do one of these, None if it can do all."""
    reasons = (place.supports(primitive) for primitive in primitives)
    return next((reason for reason in reasons if reason is not None), None)


def states(place: Place, nodes: Iterable[str]) -> Mapping[str, ProcessState]:
    """Return what the operating system says of these nodes now."""
    return {node: place.state(node) for node in nodes}


def in_states(place: Place, nodes: Iterable[str]) -> Verification:
    """Return that it took hold, with the states that the nodes are in."""
    found = states(place, nodes)
    return installed(states={node: state.value for node, state in found.items()})


async def _nothing(_cluster: Cluster, _fault: Any) -> None:
    """Look at nothing beforehand."""


async def _states(cluster: Cluster, fault: Any, _before: Any = None) -> Verification:
    """Read nothing back but what the nodes' processes do."""
    return in_states(cluster, fault.nodes)


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind of fault of nodes is made, everywhere; its faults stand here as *Any*.

    ``make`` and ``undo`` take a cluster, the fault and one of its nodes; what they return is awaited
    where it can be. ``undo`` returns None where there is nothing to do. ``look`` is taken before the
    fault and handed to ``made``. Where ``told`` is given, what the nodes say of themselves before and
    right after decides instead, in virtual time too. ``healed`` takes how often each node had been
    started before the fault, of those that were heard to say. All four raise `Ineffective` or
    `Unverified`.
    """

    needs: Callable[[Any], Sequence[Primitive]]
    make: Callable[[Any, Any, str], Any]
    undo: Callable[[Any, Any, str], Any]
    awake: bool = False
    """Whether a node has to run for it, and not only to be there."""
    look: Callable[[Cluster, Any], Awaitable[Any]] = _nothing
    made: Callable[[Cluster, Any, Any], Awaitable[Verification]] = _states
    told: Callable[[Statuses, Statuses, Any], Verification] | None = None
    healed: Callable[[Cluster, Any, Mapping[str, int]], Awaitable[Verification]] = _states
    broken: Callable[[Place, Any], str | None] = lambda _place, _fault: None
    """Why the fault is in force no more as its heal begins; None if it is, or who knows."""

    def impossible(self, place: Place, fault: Any) -> Verification | None:
        """Return why this fault cannot be made here and now, None if it can."""
        reason = unsupported(place, self.needs(fault))
        if reason is not None:
            return refused(reason)
        found = states(place, fault.nodes)
        missing = [node for node, state in found.items() if state is ProcessState.GONE]
        if missing:
            return skipped(f"{', '.join(missing)} not running")
        frozen = [node for node, state in found.items() if state is ProcessState.STOPPED]
        return skipped(f"{frozen[0]} is stopped") if frozen and self.awake else None


def while_there(call: Callable[[Any, Any, str], Any]) -> Callable[[Any, Any, str], Any]:
    """Return the call, made only of nodes that are there: what is gone comes back without the fault."""

    def guarded(cluster: Any, fault: Any, node: str) -> Any:
        return None if cluster.state(node) is ProcessState.GONE else call(cluster, fault, node)

    return guarded
