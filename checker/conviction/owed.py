"""What the declared policy owes: the only thing besides evidence that a conviction may rest on.

Rules go by the ids of the catalog: F what followers promise, L what a leader's lease is worth, S what
one-shot grants are worth, T what spans of true time are, G what the age of an entry allows, W what a
new leader waits for, R how a read gets its index. A policy owes families of them; of a family that it
does not owe nobody is accused.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from checker.evidence import OwnClock

PPM: Final = 1_000_000


class Family(StrEnum):
    """Rules that stand or fall together in a policy.

    ``MEMORY``: what a node said it remembers after a restart (F6). ``PROGRESS``: a leader that gets
    nothing done makes room (L8, and that half of L9). ``PROMISE``: voters keep silent for
    as long as a lease that they back may last (F1 to F5, or S2 and S5). ``LEASE``: a lease is worth what
    a majority acknowledged (L2 to L13). ``GRANT``: and that is one request, never renewed (S1 to S5).
    ``SPAN``: instants are compared by spans that hold the true time (T1, T2), which is how leases and
    promises are measured where those are owed. ``COMMIT_WAIT``: a write is told when its timestamp is
    past (T3). ``LOG``: the age of the newest committed entry is the lease (G1 to G3). ``INDEX``: a read
    sees all that was committed when it arrived, by a quorum's word, and nothing else (L5, R2 to R7).
    ``BARRIER``: a new leader answers nothing before an entry of its own term is committed (L1, R1).
    ``WAIT``: voting is free, and a new leader commits nothing before the leases that its voters know of
    are over (W1, W2).
    """

    MEMORY = "memory"
    PROGRESS = "progress"
    PROMISE = "promise"
    LEASE = "lease"
    GRANT = "grant"
    SPAN = "span"
    COMMIT_WAIT = "commit-wait"
    LOG = "log"
    INDEX = "index"
    BARRIER = "barrier"
    WAIT = "wait"


_OF_GRANTS: Final = {"L2": "S3", "L3": "S3", "L12": "S3", "F1": "S2", "F2": "S2", "F3": "S2", "F4": "S2"}
"""What the rules of renewed leases are called where one request after the other is granted."""


class Terms(msgspec.Struct, frozen=True):
    """What a policy owes whatever a run declares.

    ``patience_ppm`` is how long a read waits before it ends with a code, in millionths of E; ``nap_ns``
    for how long a node's host may sleep unnoticed, and ``grant_ns`` how long a grant lasts.
    """

    families: frozenset[Family]
    patience_ppm: int
    nap_ns: int
    grant_ns: int


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """What a run declared.

    ``nodes`` are all of them, ``voters`` those that vote to begin with; ``deadline_ns`` is how long a
    read may wait before it ends with a code. ``nap_ns`` and ``grant_ns`` are those of `Terms`.
    """

    nodes: tuple[str, ...]
    voters: tuple[str, ...]
    families: frozenset[Family]
    election_ns: int
    drift_ppm: int
    margin_ns: int
    deadline_ns: int
    nap_ns: int
    grant_ns: int

    @property
    def clock(self) -> OwnClock:
        """L13, T1: the clock that leases and promises are measured on."""
        return OwnClock.INTERVAL if Family.SPAN in self.families else OwnClock.MONOTONIC

    @property
    def promise_ns(self) -> int:
        """F1, S2: how long a promise lasts on the clock of promises."""
        return self.grant_ns if Family.GRANT in self.families else self.election_ns

    @property
    def lease_ns(self) -> int:
        """L12: D, the longest lease that outlives no promise, while clocks keep within their bound.

        By spans of true time it is as long as the promise: the bound on clocks is in the spans.
        """
        if self.clock is OwnClock.INTERVAL:
            return self.promise_ns
        return self.promise_ns * (PPM - self.drift_ppm) // (PPM + self.drift_ppm) - self.margin_ns

    @property
    def reckoned_ns(self) -> int:
        """W1: how long a lease may last, on another node's clock, after that node heard its round."""
        return self.lease_ns * (PPM + self.drift_ppm) // (PPM - self.drift_ppm)

    @property
    def promise_true_ns(self) -> int:
        """How long a promise lasts at least on the true clock."""
        return self.promise_ns * PPM // (PPM + self.drift_ppm)

    def called(self, rule: str) -> str:
        """Return what this policy calls a rule of renewed leases."""
        return _OF_GRANTS.get(rule, rule) if Family.GRANT in self.families else rule

    def counted_at_most(self, true_ns: int) -> int:
        """Return what a clock within its bound may count at most while so much true time passes."""
        return -(-true_ns * (PPM + self.drift_ppm) // PPM) + 1
