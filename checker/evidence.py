"""What a node knew: rule-neutral facts, the same whatever its policy or its mistake.

A node writes one fact a line into ``evidence/<node>.jsonl``. It never says which rule it keeps or
breaks; it says what it read, what it believed and what it did, and the oracles judge that against
the policy that was *declared*. `Revoked` is written before its effect.

Clocks. Every line carries a pair of stamps: ``own_ns`` (the node's monotonic clock) and ``wall_ns``
(its wall clock), which the nemesis may bend, and ``true_ns`` = ``[before, after]``, two readings of
CLOCK_MONOTONIC_RAW past any fake, taken around them. The own reading happened somewhere in that
closed interval, so consecutive pairs map one clock onto the other. All facts of one step carry the
stamps of the reading that step worked with: a check that rests on an older reading shows by its
``read_ns``, and a node stopped in the middle of a step does not look like one that cached an answer.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

EVIDENCE_SCHEMA: Final = 1


class OwnClock(StrEnum):
    """Which of its own clocks a node measured a lease on.

    *interval* is a span that a time service keeps: a lease is judged at its latest end, a promise at
    its earliest.
    """

    MONOTONIC = "monotonic"
    WALL = "wall"
    INTERVAL = "interval"


class Booted(msgspec.Struct, frozen=True, tag="boot", tag_field="fact"):
    """The process started; whatever it believed before is gone."""

    boot: int
    term: int


class Checked(msgspec.Struct, frozen=True, tag="check", tag_field="fact"):
    """The node asked itself whether it holds a lease, and what it answered.

    ``read_ns`` is the reading of ``clock`` that the answer rests on, ``until_ns`` the instant on that
    clock at which the node believed the lease to end; None is open-ended (it compares no clock).
    """

    term: int
    granted: bool
    clock: OwnClock
    read_ns: int
    until_ns: int | None


class ServedRead(msgspec.Struct, frozen=True, tag="serve", tag_field="fact", omit_defaults=True):
    """A read was answered with a value.

    ``arrived_ns`` is when the request came, on the monotonic clock; ``round`` the first round whose
    acknowledgement it waited for, ``ticket`` that under which it asked its leader for an index, as far
    as it did; ``seen_index`` the last entry of the log that the value may come from. Evidence of older
    nodes has none of the four.
    """

    term: int
    path: str
    key: Any
    read_index: int
    applied_index: int
    arrived_ns: int | None = None
    round: int | None = None
    ticket: int | None = None
    seen_index: int | None = None


class IndexTold(msgspec.Struct, frozen=True, tag="index", tag_field="fact"):
    """A node told ``peer`` up to where the read under its ``ticket`` must see, or why it cannot tell.

    ``read_index`` is None where ``code`` says why. The request came at ``arrived_ns`` of the monotonic
    clock and waited for ``round``, as far as it did.
    """

    term: int
    peer: str
    ticket: int
    read_index: int | None
    code: str | None
    arrived_ns: int
    round: int | None


class Refused(msgspec.Struct, frozen=True, tag="refuse", tag_field="fact"):
    """A request was answered with an error code."""

    term: int
    code: str


class Promised(msgspec.Struct, frozen=True, tag="promise", tag_field="fact"):
    """The node promised ``holder`` silence until ``until_ns`` on ``clock``."""

    term: int
    holder: str
    round: int
    until_ns: int
    clock: OwnClock = OwnClock.MONOTONIC


class Voted(msgspec.Struct, frozen=True, tag="vote", tag_field="fact"):
    """A vote (or a pre-vote) was answered; ``reason`` says why it was refused.

    ``token``: the candidate showed a transfer token, its leader's word that it may be elected now.
    ``bound_until_ns`` is when the voter took its own promise to end, on its monotonic clock; evidence of
    older nodes does not tell. ``left_ns`` is how long, by that clock, it takes others' leases to last.
    """

    term: int
    candidate: str
    pre: bool
    granted: bool
    reason: str | None
    token: bool = False
    bound_until_ns: int | None = None
    left_ns: int = 0


class TermChanged(msgspec.Struct, frozen=True, tag="term", tag_field="fact"):
    """The node moved to a higher term."""

    term: int


class RoleChanged(msgspec.Struct, frozen=True, tag="role", tag_field="fact"):
    """The node became follower, candidate or leader in ``term``."""

    term: int
    role: str


class RoundSent(msgspec.Struct, frozen=True, tag="round_sent", tag_field="fact"):
    """A leader sent heartbeat round ``round`` to every peer."""

    term: int
    round: int


class RoundAcked(msgspec.Struct, frozen=True, tag="round_acked", tag_field="fact"):
    """A leader heard ``peer`` acknowledge ``round``."""

    term: int
    round: int
    peer: str


class GrantAsked(msgspec.Struct, frozen=True, tag="grant_asked", tag_field="fact"):
    """A leader asked everybody for a lease of its own, under ``seq``."""

    term: int
    seq: int


class GrantAcked(msgspec.Struct, frozen=True, tag="grant_acked", tag_field="fact"):
    """A leader heard ``peer`` grant what it asked for under ``seq``."""

    term: int
    seq: int
    peer: str


class Appended(msgspec.Struct, frozen=True, tag="append", tag_field="fact"):
    """A leader that is told the time appended the entry at ``index``, then: in this span of true time.

    ``key`` is what the entry is about, None if nothing.
    """

    term: int
    index: int
    key: Any
    earliest_ns: int
    latest_ns: int


class Dated(msgspec.Struct, frozen=True, tag="dated", tag_field="fact"):
    """A client was told that its entry at ``index`` is done, and that this is its timestamp."""

    term: int
    index: int
    stamp_ns: int


class Applied(msgspec.Struct, frozen=True, tag="apply", tag_field="fact"):
    """The state machine has applied every entry up to ``index``, whose entry has ``entry_term``.

    A node that writes this for the first and the last entry of each term, too, tells the term of all.
    """

    term: int
    index: int
    entry_term: int


class SessionBegan(msgspec.Struct, frozen=True, tag="session", tag_field="fact"):
    """The entry at ``index``, of ``term``, was applied, and with it this session lives."""

    term: int
    index: int
    session: str


class SessionEnded(msgspec.Struct, frozen=True, tag="session_end", tag_field="fact"):
    """With the entry at ``index`` a session is over: it gave back what it held, or it ``expired``."""

    term: int
    index: int
    session: str
    expired: bool


class Granted(msgspec.Struct, frozen=True, tag="grant", tag_field="fact"):
    """The entry at ``index`` gave ``session`` the lock called ``key``, under ``token``."""

    term: int
    index: int
    key: Any
    session: str
    token: int


class Stored(msgspec.Struct, frozen=True, tag="store", tag_field="fact"):
    """The storage has accepted what the entry at ``index`` writes to ``key`` under ``token``."""

    term: int
    index: int
    key: Any
    token: int


class Revoked(msgspec.Struct, frozen=True, tag="revoke", tag_field="fact"):
    """The node dropped its lease: step-down, clock anomaly, transfer."""

    term: int
    reason: str


class Transferred(msgspec.Struct, frozen=True, tag="transfer", tag_field="fact"):
    """A leader handing over to ``target``: ``stage`` is started, told (to campaign now) or given-up."""

    term: int
    target: str
    stage: str


class Configured(msgspec.Struct, frozen=True, tag="config", tag_field="fact"):
    """The node's log now ends with this configuration, at ``index``; ``incoming`` while it is joint."""

    term: int
    index: int
    voters: tuple[str, ...]
    incoming: tuple[str, ...]
    learners: tuple[str, ...]


class Synced(msgspec.Struct, frozen=True, tag="sync", tag_field="fact"):
    """The node's time service told it that the true time was in this span, both ends included.

    ``read_ns`` is what its monotonic clock showed then; evidence of older nodes does not tell.
    """

    term: int
    earliest_ns: int
    latest_ns: int
    read_ns: int | None = None


class Slept(msgspec.Struct, frozen=True, tag="sleep", tag_field="fact"):
    """Since the step before, boot time went on for ``size_ns`` longer than monotonic time did."""

    term: int
    size_ns: int


class ClockAnomaly(msgspec.Struct, frozen=True, tag="anomaly", tag_field="fact"):
    """The node noticed a stall or a step of its own clocks, of about ``size_ns``."""

    term: int
    kind: str
    size_ns: int


Fact = (
    Booted
    | Checked
    | ServedRead
    | IndexTold
    | Refused
    | Promised
    | Voted
    | TermChanged
    | RoleChanged
    | RoundSent
    | RoundAcked
    | GrantAsked
    | GrantAcked
    | Appended
    | Dated
    | Applied
    | SessionBegan
    | SessionEnded
    | Granted
    | Stored
    | Revoked
    | Transferred
    | Configured
    | Synced
    | Slept
    | ClockAnomaly
)


class EvidenceLine(msgspec.Struct, frozen=True):
    """A fact with its stamps: node, own and wall clock, and the true clock before and after."""

    node: str
    own_ns: int
    wall_ns: int
    true_ns: tuple[int, int]
    what: Fact
