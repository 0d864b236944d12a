"""Faults made real on a cluster: ``inject`` and ``heal``, one module a family.

Both always return a `Verification`, in bounded time. *Installed* means read back and so; for a heal:
whole again. A cluster may be somebody's plug-in, so whatever it raises is caught here, at the edge, and
becomes *unknown* with the reason.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from nemesis.faults import (
    BendClock,
    Campaign,
    Cut,
    Fault,
    FillDisk,
    Kill,
    Pause,
    Slow,
    SlowApply,
    SlowSync,
    Standing,
    Verification,
)
from targets.cluster import LinkState, Open, Unsupported

from . import clock, crash, disk, lateness, leader, links, pause
from .common import HEAL_S, INJECT_S, RESTART_S, Ineffective, Unverified, installed, skipped, unknown

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from targets.cluster import Cluster

log = logging.getLogger(__name__)

OPEN: Final = Open()
HEAL_TRIES: Final = 3
HEAL_GAP_S: Final = 0.2

__all__ = ["heal", "inject"]


async def inject(cluster: Cluster, fault: Fault) -> Verification:
    """Make a fault happen and verify it; never raises for what the cluster does."""
    verification = await _bounded(_inject(cluster, fault), INJECT_S)
    log.info("inject fault=%r standing=%s reason=%s", fault, verification.standing, verification.reason)
    return verification


async def heal(cluster: Cluster, fault: Fault, *, peers: LinkState = OPEN) -> Verification:
    """Undo a fault, with some tries, and verify it. Undoing what is not there is nothing.

    ``peers`` is the state of a link between nodes when nothing is done to it.
    """
    deadline_s = RESTART_S if isinstance(fault, Kill | FillDisk) else HEAL_S
    verification = unknown("was not tried")
    for attempt in range(HEAL_TRIES):
        if attempt:
            await asyncio.sleep(HEAL_GAP_S * attempt)
        verification = await _bounded(_heal(cluster, fault, peers), deadline_s)
        if verification.standing is not Standing.UNKNOWN:
            break
    log.info("heal fault=%r standing=%s reason=%s", fault, verification.standing, verification.reason)
    return verification


def _inject(  # noqa: PLR0911 - one case a kind
    cluster: Cluster, fault: Fault
) -> Coroutine[Any, Any, Verification]:
    match fault:
        case Pause():
            return pause.inject(cluster, fault)
        case Cut() | Slow():
            return links.inject(cluster, fault)
        case BendClock():
            return clock.inject(cluster, fault)
        case Kill():
            return crash.inject(cluster, fault)
        case Campaign():
            return leader.inject(cluster, fault)
        case SlowApply() | SlowSync():
            return lateness.inject(cluster, fault)
        case FillDisk():
            return disk.inject(cluster, fault)


def _heal(  # noqa: PLR0911 - one case a kind
    cluster: Cluster, fault: Fault, peers: LinkState
) -> Coroutine[Any, Any, Verification]:
    match fault:
        case Pause():
            return pause.heal(cluster, fault)
        case Cut() | Slow():
            return links.heal(cluster, fault, peers=peers)
        case BendClock():
            return clock.heal(cluster, fault)
        case Kill():
            return crash.heal(cluster, fault)
        case Campaign():
            return _nothing()
        case SlowApply() | SlowSync():
            return lateness.heal(cluster, fault)
        case FillDisk():
            return disk.heal(cluster, fault)


async def _nothing() -> Verification:
    return installed()


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
