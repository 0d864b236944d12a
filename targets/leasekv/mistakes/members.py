"""Mistakes in who takes part: whose acknowledgements a lease rests on, and whom it outlives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from targets.cluster import Primitive
from targets.leasekv.membership import Membership
from targets.leasekv.rules import a_majority_of_each
from targets.leasekv.views import NOW

from .planted import ANYWHERE, Planted, instead

if TYPE_CHECKING:
    from targets.leasekv.views import Backing, TransferView


def _never_closed(_view: TransferView) -> bool:
    return False


def _incoming_alone(backing: Backing) -> int:
    return Membership(backing.now.incoming or backing.now.voters).backed(backing.credits)


def _alone_for_ever(backing: Backing) -> int:
    return NOW if backing.first.voters == (backing.own,) else a_majority_of_each(backing)


ALL: Final = (
    Planted(
        id="transfer-keeps-lease",
        policy="lease-renew",
        rule="L9",
        places=ANYWHERE,
        needs=(Primitive.LINKS, Primitive.DELAY, Primitive.TRANSFER),
        sentence="A leader that hands over goes on serving from its lease.",
        change=instead(transfer_closes=_never_closed),
    ),
    Planted(
        id="membership-lease-quorum",
        policy="lease-renew",
        rule="L10",
        also_breaks=("L3",),
        nodes=5,
        voters=3,
        places=ANYWHERE,
        needs=(Primitive.LINKS, Primitive.MEMBERSHIP),
        sentence="While voters change, a lease rests on a majority of the incoming ones alone.",
        change=instead(backing_ns=_incoming_alone),
    ),
    Planted(
        id="single-node-forever",
        policy="lease-renew",
        rule="L10",
        also_breaks=("L3",),
        voters=1,
        places=ANYWHERE,
        needs=(Primitive.LINKS, Primitive.MEMBERSHIP),
        sentence="The lease of a single voter, which asks nobody, is kept when others join.",
        change=instead(backing_ns=_alone_for_ever),
    ),
)
