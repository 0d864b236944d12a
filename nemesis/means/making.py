"""Carrying a fault out on processes and containers: in bounded time, with tries, and verified.

Both verbs always return a `Verification`. *Installed* means read back and so; for a heal: whole again.
What targets raise is caught here, at the edge, and becomes *unknown* with the reason. So does anything
else, for the run goes on and somebody's processes may be frozen; but that is a `Bug`, ours or the
target's, and said to be one.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from nemesis.faults import Bug, Fault, LinksFault, NodesFault, Standing, Verification
from targets.cluster import LinkState, Open, TargetError, Unsupported

from . import links
from .common import HEAL_S, INJECT_S, RESTART_S, Ineffective, Unverified, skipped, unknown
from .rows import MEANS

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from typing import Any

    from targets.cluster import Cluster

    from .common import Means, Statuses

log = logging.getLogger(__name__)

TOLD: Final = (TargetError, OSError)
"""What targets raise where something does not go as it should; an engine's own errors are such."""

OPEN: Final = Open()
NONE_HEARD: Final[Mapping[str, int]] = MappingProxyType({})
HEAL_TRIES: Final = 3
HEAL_GAP_S: Final = 0.2


async def inject(cluster: Cluster, fault: Fault) -> Verification:
    """Make a fault happen and verify it; never raises for what the cluster does."""
    found = await _bounded(_inject(cluster, fault), INJECT_S)
    log.info("inject fault=%r standing=%s reason=%s", fault, found.standing, found.reason)
    return found


async def heal(
    cluster: Cluster, fault: Fault, *, peers: LinkState = OPEN, boots: Mapping[str, int] = NONE_HEARD
) -> Verification:
    """Undo a fault, with some tries, and verify it. Undoing what is not there is nothing.

    ``peers`` is the state of a link between nodes when nothing is done to it; ``boots`` is how often
    each node had been started before the fault, of those that were heard to say.
    """
    deadline_s = RESTART_S if fault.heals_slowly else HEAL_S
    broken, bug = _broken(cluster, fault, peers)
    found = unknown("was not tried")
    for attempt in range(HEAL_TRIES):
        if attempt:
            await asyncio.sleep(HEAL_GAP_S * attempt)
        found = await _bounded(_heal(cluster, fault, peers, boots), deadline_s)
        bug = bug or found.bug
        if found.standing is not Standing.UNKNOWN:
            break
    log.info("heal fault=%r standing=%s reason=%s", fault, found.standing, found.reason)
    return msgspec.structs.replace(found, broken=broken, bug=bug)


def _broken(cluster: Cluster, fault: Fault, peers: LinkState) -> tuple[str | None, Bug | None]:
    """Return why a fault that is about to be healed is in force no more; None if it is, or who knows.

    A bug in looking is a reason too: it was not seen to be in force to its end.
    """
    try:
        if isinstance(fault, LinksFault):
            return links.opened(cluster, fault, peers=peers), None
        return MEANS[type(fault)].broken(cluster, fault), None
    except TOLD as error:  # the heal itself says what is wrong
        log.info("heal fault=%r unseen=%r", fault, error)
        return None, None
    except Exception as error:  # noqa: BLE001 - as in `_bounded`
        bug = _bug(error)
        return f"whether it was in force to its end is not known: {bug.what}", bug


def _bug(error: Exception) -> Bug:
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return Bug(what, "".join(traceback.format_exception(error)))


async def _inject(cluster: Cluster, fault: Fault) -> Verification:
    if isinstance(fault, LinksFault):
        return links.inject(cluster, fault)
    means = MEANS[type(fault)]
    impossible = means.impossible(cluster, fault)
    if impossible is not None:
        return impossible
    before = await (means.look if means.told is None else _said)(cluster, fault)
    for node in fault.nodes:
        await means.make(cluster, fault, node)
    if means.told is not None:
        return means.told(before, await _said(cluster, fault), fault)
    return await means.made(cluster, fault, before)


async def _said(cluster: Cluster, fault: NodesFault) -> Statuses:
    return {node: await cluster.status(node) for node in fault.nodes}


async def _heal(
    cluster: Cluster, fault: Fault, peers: LinkState, boots: Mapping[str, int]
) -> Verification:
    if isinstance(fault, LinksFault):
        return links.heal(cluster, fault, peers=peers)
    means = MEANS[type(fault)]
    await _undone(cluster, fault, means)
    return await means.healed(cluster, fault, boots)


async def _undone(cluster: Cluster, fault: NodesFault, means: Means) -> None:
    """Undo a fault on all its nodes at once, each to its end; raise what the first that failed did.

    One after the other would be wrong: many a system's node answers nobody before a majority is there,
    so of a majority that is started again the first would wait for those that are behind it.
    """

    async def undo(node: str) -> None:
        call = means.undo(cluster, fault, node)
        if call is not None:
            await call

    for ended in await asyncio.gather(*map(undo, fault.nodes), return_exceptions=True):
        if ended is not None:
            raise ended


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
    except TOLD as error:
        return unknown(f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - what stands has to be healed; told as what it is
        bug = _bug(error)
        return msgspec.structs.replace(unknown(bug.what), bug=bug)
