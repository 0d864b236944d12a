"""What the declared policy owes: the only thing besides evidence that a conviction may rest on.

Rules go by the ids of the catalog: F what followers promise, L what a leader's lease is worth, W what a
new leader waits for, R how a read gets its index. A policy owes families of them; of a family that it
does not owe nobody is accused.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

PPM: Final = 1_000_000


class Family(StrEnum):
    """Rules that stand or fall together in a policy.

    ``PROMISE``: voters keep silent for E after every round (F1 to F5). ``LEASE``: rounds that a majority
    acknowledged renew a lease of length D on the monotonic clock (L2 to L13). ``INDEX``: a read sees
    all that was committed when it arrived, by a quorum's word (R2 to R7). ``BARRIER``: a new leader
    answers nothing before an entry of its own term is committed (L1, R1). ``WAIT``: voting is free, and
    a new leader commits nothing before the leases that its voters know of are over (W1, W2).
    """

    PROMISE = "promise"
    LEASE = "lease"
    INDEX = "index"
    BARRIER = "barrier"
    WAIT = "wait"


class Terms(msgspec.Struct, frozen=True):
    """What a policy owes whatever a run declares.

    ``patience_ppm`` is how long a read waits before it ends with a code, in millionths of E.
    """

    families: frozenset[Family]
    patience_ppm: int


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """What a run declared.

    ``nodes`` are the voters to begin with; ``deadline_ns`` is how long a read may wait before it ends
    with a code.
    """

    nodes: tuple[str, ...]
    families: frozenset[Family]
    election_ns: int
    drift_ppm: int
    margin_ns: int
    deadline_ns: int

    @property
    def lease_ns(self) -> int:
        """L12: D, the longest lease that outlives no promise, while clocks keep within their bound."""
        shrunk = self.election_ns * (PPM - self.drift_ppm) // (PPM + self.drift_ppm)
        return shrunk - self.margin_ns

    @property
    def reckoned_ns(self) -> int:
        """W1: how long a lease may last, on another node's clock, after that node heard its round."""
        return self.lease_ns * (PPM + self.drift_ppm) // (PPM - self.drift_ppm)

    @property
    def promise_true_ns(self) -> int:
        """How long a promise lasts at least on the true clock."""
        return self.election_ns * PPM // (PPM + self.drift_ppm)
