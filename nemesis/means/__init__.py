"""Faults made real on a cluster: ``inject`` and ``heal``, one module a family, one row a kind.

Both always return a `Verification`, in bounded time. *Installed* means read back and so; for a heal:
whole again. A cluster may be somebody's plug-in, so whatever it raises is caught here, at the edge, and
becomes *unknown* with the reason.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import msgspec

from nemesis.faults import (
    BendClock,
    Campaign,
    ChangeMembers,
    Fault,
    FillDisk,
    Kill,
    LinksFault,
    NodesFault,
    Pause,
    SlowApply,
    SlowSync,
    Standing,
    StopTime,
    Suspend,
    Transfer,
    Verification,
)
from targets.cluster import LinkState, Open, Unsupported

from . import clock, crash, disk, lateness, leader, links, members, pause, time_service
from .common import HEAL_S, INJECT_S, RESTART_S, Ineffective, Means, Unverified, skipped, unknown

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from typing import Any

    from targets.cluster import Cluster

    from .common import Statuses

log = logging.getLogger(__name__)

OPEN: Final = Open()
HEAL_TRIES: Final = 3
HEAL_GAP_S: Final = 0.2

__all__ = ["heal", "inject"]


MEANS: Final[Mapping[type[NodesFault], Means]] = {
    Pause: pause.MEANS,
    Kill: crash.MEANS,
    BendClock: clock.MEANS,
    Campaign: leader.MEANS,
    SlowApply: lateness.APPLY,
    SlowSync: lateness.SYNC,
    FillDisk: disk.MEANS,
    Transfer: members.TRANSFER,
    ChangeMembers: members.MEMBERS,
    StopTime: time_service.MEANS,
    Suspend: pause.SUSPEND,
}
"""How each kind of fault of nodes is made, in virtual time too."""


async def inject(cluster: Cluster, fault: Fault) -> Verification:
    """Make a fault happen and verify it; never raises for what the cluster does."""
    found = await _bounded(_inject(cluster, fault), INJECT_S)
    log.info("inject fault=%r standing=%s reason=%s", fault, found.standing, found.reason)
    return found


async def heal(cluster: Cluster, fault: Fault, *, peers: LinkState = OPEN) -> Verification:
    """Undo a fault, with some tries, and verify it. Undoing what is not there is nothing.

    ``peers`` is the state of a link between nodes when nothing is done to it.
    """
    deadline_s = RESTART_S if fault.heals_slowly else HEAL_S
    broken = _broken(cluster, fault, peers)
    found = unknown("was not tried")
    for attempt in range(HEAL_TRIES):
        if attempt:
            await asyncio.sleep(HEAL_GAP_S * attempt)
        found = await _bounded(_heal(cluster, fault, peers), deadline_s)
        if found.standing is not Standing.UNKNOWN:
            break
    log.info("heal fault=%r standing=%s reason=%s", fault, found.standing, found.reason)
    return msgspec.structs.replace(found, broken=broken)


def _broken(cluster: Cluster, fault: Fault, peers: LinkState) -> str | None:
    """Return why a fault that is about to be healed is in force no more; None if it is, or who knows."""
    try:
        if isinstance(fault, LinksFault):
            return links.opened(cluster, fault, peers=peers)
        return MEANS[type(fault)].broken(cluster, fault)
    except Exception as error:  # noqa: BLE001 - as below; the heal itself says what is wrong
        log.info("heal fault=%r unseen=%r", fault, error)
        return None


async def _inject(cluster: Cluster, fault: Fault) -> Verification:
    if isinstance(fault, LinksFault):
        return links.inject(cluster, fault)
    means = MEANS[type(fault)]
    reason = means.impossible(cluster, fault)
    if reason is not None:
        return skipped(reason)
    before = await (means.look if means.told is None else _said)(cluster, fault)
    for node in fault.nodes:
        await means.make(cluster, fault, node)
    if means.told is not None:
        return means.told(before, await _said(cluster, fault), fault)
    return await means.made(cluster, fault, before)


async def _said(cluster: Cluster, fault: NodesFault) -> Statuses:
    return {node: await cluster.status(node) for node in fault.nodes}


async def _heal(cluster: Cluster, fault: Fault, peers: LinkState) -> Verification:
    if isinstance(fault, LinksFault):
        return links.heal(cluster, fault, peers=peers)
    means = MEANS[type(fault)]
    for node in fault.nodes:
        call = means.undo(cluster, fault, node)
        if call is not None:
            await call
    return await means.healed(cluster, fault)


async def _bounded(attempt: Coroutine[Any, Any, Verification], deadline_s: float) -> Verification:
    """Await an attempt for a bounded time, and make a verification of whatever it raises."""
    try:
        async with asyncio.timeout(deadline_s):
            return await attempt
    except (Unsupported, Ineffective) as why:
        return skipped(str(why))
    except Unverified as why:
        return unknown(str(why))
    except TimeoutError as error:  # a target's own says what it waited for
        return unknown(str(error) or f"took longer than {deadline_s:g} s")
    except Exception as error:  # noqa: BLE001 - a cluster may be a plug-in; the run goes on
        return unknown(f"{type(error).__name__}: {error}")
