"""What a rule is shown: small frozen views, one for each question that the core asks.

A view holds what the right rule needs and what the wrong ones in the catalog would look at instead, so
that a mistake is another function over the same view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from targets.clock import Reading

from .membership import Membership

NOW: Final = 1 << 62


class Bounds(msgspec.Struct, frozen=True, gc=False):
    """What a run declares: promise E, rate bound rho in ppm, margin theta, length of a grant."""

    election_ns: int
    drift_ppm: int
    margin_ns: int
    grant_ns: int = 0


class Ack(msgspec.Struct, frozen=True, gc=False):
    """An acknowledged round, on the clock the lease is measured on, and E."""

    sent_ns: int
    heard_ns: int
    election_ns: int


class Look(msgspec.Struct, frozen=True, gc=False):
    """Two readings of the lease's clock: this step's, and that of the last coarse tick."""

    fresh_ns: int
    sampled_ns: int


class Backing(msgspec.Struct, frozen=True, gc=False):
    """What a leader's lease rests on: per peer the instant that its acknowledgements are worth.

    ``credits`` has the leader itself as `NOW`; ``now`` is the configuration in force, ``first`` the one
    that the log began with. ``sent_ns`` is when the newest round left, answered or not; `NEVER` if that
    is unknown.
    """

    own: str
    credits: Mapping[str, int]
    now: Membership
    first: Membership
    sent_ns: int


class HolderView(msgspec.Struct, frozen=True, gc=False):
    """A node asked to serve from a lease, or about to be no leader any more."""

    leads: bool


class LeaseView(msgspec.Struct, frozen=True, gc=False):
    """A leader asked whether it holds its lease; ``end_ns`` is None where no quorum backs one."""

    read_ns: int
    end_ns: int | None


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """May it serve, and until when it believes so (None: it compares no clock)."""

    granted: bool
    until_ns: int | None


class AgeView(msgspec.Struct, frozen=True, gc=False):
    """A leader about to read by the entry at its commit index, which is young until ``until_ns``."""

    latest_ns: int
    until_ns: int


class GateView(msgspec.Struct, frozen=True, gc=False):
    """A new leader about to commit, asked how early it may be; None where it knows no span.

    ``prior_ns`` is the latest that an entry of an earlier term can have been appended, None if none was;
    ``led_ns`` how long this node has led, on its own clock.
    """

    earliest_ns: int | None
    prior_ns: int | None
    lease_ns: int
    led_ns: int
    drift_ppm: int


class LimboView(msgspec.Struct, frozen=True, gc=False):
    """A read by an inherited lease: whether an entry that may be committed touches its key."""

    touched: bool


class StampView(msgspec.Struct, frozen=True, gc=False):
    """A write about to be answered: its timestamp, and the earliest it can be, None where unknown."""

    earliest_ns: int | None
    stamp_ns: int


class OldLease(msgspec.Struct, frozen=True, gc=False):
    """A new leader asked how long to wait for a lease of which a voter's clock said so much is left."""

    left_ns: int
    drift_ppm: int


class PromiseView(msgspec.Struct, frozen=True, gc=False):
    """A node about to vote for somebody, itself included, on its own monotonic clock."""

    now_ns: int
    until_ns: int


class BootView(msgspec.Struct, frozen=True, gc=False):
    """A node that boots, and how long its promises last."""

    brand_new: bool
    promise_ns: int


class LossView(msgspec.Struct, frozen=True, gc=False):
    """A node that lost a peer's connection: whether its promise was made to that peer."""

    made_to_it: bool


class TransferView(msgspec.Struct, frozen=True, gc=False):
    """A leader that began to hand over, asked for its lease; instants on its monotonic clock.

    ``told_ns`` is when the target was last told to campaign, None if it never was; ``outdated`` whether
    an entry was committed since without which nobody is elected.
    """

    now_ns: int
    under_way: bool
    told_ns: int | None
    outdated: bool
    election_ns: int
    drift_ppm: int


class HandoverView(msgspec.Struct, frozen=True, gc=False):
    """A leader that hands over: for how long already, and E, both on its monotonic clock."""

    under_way_ns: int
    election_ns: int


class ProgressView(msgspec.Struct, frozen=True, gc=False):
    """A node with committed entries to apply: how long ago it last got further, and E."""

    waited_ns: int
    election_ns: int


class Barrier(msgspec.Struct, frozen=True, gc=False):
    """A leader about to sample a read index; ``noop_index`` is the first entry of its own term."""

    commit_index: int
    noop_index: int


class RoundView(msgspec.Struct, frozen=True, gc=False):
    """A leader with a read: the newest round sent, and the newest that a majority has answered."""

    sent: int
    confirmed: int


class AnswerView(msgspec.Struct, frozen=True, gc=False):
    """A read that waits for a majority to answer ``round``, and the newest that one has answered."""

    round: int
    confirmed: int


class BatchView(msgspec.Struct, frozen=True, gc=False):
    """A read that arrives: the index it would take, and that of the first one still waiting, if any."""

    own_index: int
    head_index: int | None


class SightView(msgspec.Struct, frozen=True, gc=False):
    """A read about to look at the state: what is applied, and where the log ends."""

    applied_index: int
    last_index: int


class AppliedView(msgspec.Struct, frozen=True, gc=False):
    """A read about to be answered from the state machine."""

    applied_index: int
    read_index: int


class ClockView(msgspec.Struct, frozen=True, gc=False):
    """Two consecutive readings, and when the node had asked to be woken in between.

    ``slept_ns`` is how long monotonic time stood still meanwhile.
    """

    before: Reading
    now: Reading
    slept_ns: int
    wake_ns: int
    stall_max_ns: int
    step_max_ns: int
    drift_ppm: int


class Anomaly(msgspec.Struct, frozen=True, gc=False):
    """A node's clocks, or its loop, did something that no lease may rest on."""

    kind: str
    size_ns: int
