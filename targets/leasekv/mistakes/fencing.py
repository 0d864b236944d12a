"""What goes wrong with locks and their tokens.

Nodes need not be harmed for most of them: clients that are stopped for longer than their sessions live
are part of the workload `lock`, which they bring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from targets.cluster import Primitive

from .planted import ANYWHERE, Planted

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets.leasekv import rules as r
    from targets.leasekv.fencing import Candidate, Claim, Grant, Tokens


def _whatever_it_shows(_claim: Claim) -> bool:
    return True


def _nothing_kept(_tokens: Tokens) -> Tokens:
    return {}


def _term_of_the_grant(grant: Grant) -> int:
    return grant.term


def _whoever_is_next(_candidate: Candidate) -> bool:
    return True


def _fenced_by(**wrong: Any) -> Callable[[r.Rules], r.Rules]:
    """Return the change of one rule of fencing."""

    def change(rules: r.Rules) -> r.Rules:
        fencing = msgspec.structs.replace(rules.fencing, **wrong)
        return msgspec.structs.replace(rules, fencing=fencing)

    return change


ALL: Final = (
    Planted(
        id="lock-no-fence",
        policy="lease-renew",
        rule="K1",
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        brings={"workload": "lock"},
        shown_by="fencing",
        sentence="The lock ends by itself and the storage looks at no token.",
        change=_fenced_by(accepts=_whatever_it_shows),
    ),
    Planted(
        id="fence-not-durable",
        policy="lease-renew",
        rule="K2",
        places=ANYWHERE,
        needs=(Primitive.KILL,),
        brings={"workload": "lock", "compact_entries": 10},
        sentence="A snapshot has what was stored, but not under which token.",
        change=_fenced_by(kept=_nothing_kept),
    ),
    Planted(
        id="fence-compare-weak",
        policy="lease-renew",
        rule="K3",
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        brings={"workload": "lock"},
        shown_by="fencing",
        sentence="Tokens tell leaders apart, not grants: two holders in a row have the same.",
        change=_fenced_by(token=_term_of_the_grant),
    ),
    Planted(
        id="lock-lease-not-rechecked",
        policy="lease-renew",
        rule="K4",
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        brings={"workload": "lock", "keys": 2},
        shown_by="fencing",
        sentence="Whoever waited longest gets the lock, though its session ended meanwhile.",
        change=_fenced_by(may_hold=_whoever_is_next),
    ),
)
