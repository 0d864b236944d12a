"""Mistakes that keep a cluster from going on, and let nobody read anything wrong.

What shows them is availability, which such a run therefore requires: operations succeed again within the
bound, after the final heal and wherever faults leave a majority in peace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from targets.cluster import Primitive

from .planted import PROCESSES, Planted, instead

if TYPE_CHECKING:
    from targets.leasekv import views as v

_REQUIRED: Final = {"require": ("availability",)}


def _while_anybody_answers(_view: v.ProgressView) -> bool:
    return True


def _never(_view: v.HandoverView) -> bool:
    return False


ALL: Final = (
    Planted(
        id="faux-leader",
        policy="lease-renew",
        rule="L8",
        places=PROCESSES,
        needs=(Primitive.APPLY_DELAY,),
        brings=_REQUIRED,
        shown_by="availability",
        sentence="A leader whose heartbeats are answered leads on, though it applies nothing any more.",
        change=instead(makes_progress=_while_anybody_answers),
    ),
    Planted(
        id="readindex-blocks-failover",
        policy="lease-renew",
        rule="L9",
        places=PROCESSES,
        needs=(Primitive.TRANSFER, Primitive.KILL),
        brings=_REQUIRED,
        shown_by="availability",
        sentence="A transfer is never given up, and rounds keep everybody from electing meanwhile.",
        change=instead(gives_up=_never),
    ),
)
