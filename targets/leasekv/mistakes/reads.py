"""Mistakes of a read: what it may see, who confirms it, and what it answers when nobody does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from targets.cluster import Primitive
from targets.leasekv import rules as r
from targets.leasekv import views as v

from .planted import ANYWHERE, PROCESSES, Planted, instead

if TYPE_CHECKING:
    from targets.leasekv.messages import Code


def _answer_anyway(_code: Code) -> Code | None:
    return None


def _always_enough(_view: v.AppliedView) -> bool:
    return True


def _the_whole_log(view: v.SightView) -> int:
    return view.last_index


def _the_first_ones_index(view: v.BatchView) -> int:
    return view.own_index if view.head_index is None else view.head_index


def _the_same_ticket(_last: int) -> int:
    return 1


def _whatever_is_answered_next(view: v.RoundView) -> int:
    return view.confirmed + 1


def _at_once(_view: v.AnswerView) -> bool:
    return True


def _anybody() -> bool:
    return True


ALL: Final = (
    Planted(
        id="fallback-stale",
        policy="lease-renew",
        rule="R7",
        places=ANYWHERE,
        needs=(Primitive.LINKS,),
        sentence="When neither lease nor quorum can be had, the local value is served.",
        change=instead(when_unsure=_answer_anyway),
    ),
    Planted(
        id="no-noop-barrier",
        policy="lease-renew",
        rule="L1",
        places=PROCESSES,
        needs=(Primitive.DELAY, Primitive.LINKS, Primitive.SYNC_DELAY),
        sentence="A new leader serves before it has committed an entry of its own term.",
        change=instead(lease_index=r.whatever_is_committed),
    ),
    Planted(
        id="dirty-read",
        policy="lease-renew",
        rule="L5",
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="A read sees what is in the leader's log, committed or not.",
        change=instead(sees_until=_the_whole_log),
    ),
    Planted(
        id="no-applied-wait",
        policy="readindex",
        rule="R6",
        places=ANYWHERE,
        needs=(Primitive.APPLY_DELAY,),
        sentence="A read is answered before the state machine has reached its index.",
        change=instead(applied_enough=_always_enough),
    ),
    Planted(
        id="readindex-batch-head",
        policy="readindex",
        rule="R4",
        places=PROCESSES,
        needs=(Primitive.DELAY, Primitive.LINKS, Primitive.APPLY_DELAY),
        sentence="A read that joins others takes the index of the first of them.",
        change=instead(index_in_batch=_the_first_ones_index),
    ),
    Planted(
        id="readindex-ack-reuse",
        policy="readindex",
        rule="R3",
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="Requests for an index share an id, so a late answer passes for that to a later one.",
        change=instead(next_ticket=_the_same_ticket),
    ),
    Planted(
        id="readindex-late-round",
        policy="readindex",
        rule="R2",
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="A read is confirmed by a round that was sent before it arrived.",
        change=instead(first_round=_whatever_is_answered_next),
    ),
    Planted(
        id="readindex-serve-first",
        policy="readindex",
        rule="R5",
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="A leader answers from its commit index without waiting for a quorum.",
        change=instead(answered=_at_once),
    ),
    Planted(
        id="follower-local-read",
        policy="readindex",
        rule="R5",
        places=PROCESSES,
        needs=(Primitive.LINKS,),
        sentence="A follower answers from what it has and asks nobody.",
        change=instead(answers_alone=_anybody),
    ),
)
