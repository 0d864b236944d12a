"""Every decision that fencing rests on, as a value: what `targets.leasekv.rules` is to leases.

A lock that ends by itself protects nothing: its holder may be stopped between its last look at the clock
and its write. So each grant has a *token*, greater than that of every grant before it, each write shows
the token it was made under, and the storage takes no token lower than the greatest it has seen. Who was
stopped is then late, and refused.

Rule ids (K) stand beside the right form of each rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from .messages import Key

Tokens = Mapping[Key, int]
"""The greatest token that was accepted, by resource."""


class Grant(msgspec.Struct, frozen=True, gc=False):
    """A lock is about to be granted by the entry at ``index``, which was appended in ``term``."""

    index: int
    term: int


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A write shows ``token``; the storage has accepted ``newest``, 0 if it has seen none."""

    token: int
    newest: int


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """Whose turn it is to get a lock; ``alive``: its session has not ended while it waited."""

    session: str
    alive: bool


class Fencing(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    token: Callable[[Grant], int]
    accepts: Callable[[Claim], bool]
    kept: Callable[[Tokens], Tokens]
    may_hold: Callable[[Candidate], bool]


def none_older_than_the_newest(claim: Claim) -> bool:
    """K1: who was granted the lock before the last one that wrote is refused; a holder may repeat."""
    return claim.token >= claim.newest


def kept_whole(tokens: Tokens) -> Tokens:
    """K2: what was accepted outlives restarts and snapshots."""
    return tokens


def index_of_the_grant(grant: Grant) -> int:
    """K3: indices of a log grow, and no restart, snapshot or deletion makes them start again."""
    return grant.index


def while_its_session_lives(candidate: Candidate) -> bool:
    """K4: who waited is looked at again when its turn comes."""
    return candidate.alive


RIGHT: Final = Fencing(
    token=index_of_the_grant,
    accepts=none_older_than_the_newest,
    kept=kept_whole,
    may_hold=while_its_session_lives,
)
