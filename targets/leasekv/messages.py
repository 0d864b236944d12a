"""The wire vocabulary of leasekv: what peers say to each other, what clients ask and hear.

Durations travel, instants never: a node's clock reading means nothing to another node. Heartbeats
and appends are one message, `Append`, with a ``round`` number that its leader made: unique for
(term, peer), echoed by the answer, so that the leader can tell *when it had sent* what was
acknowledged.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from checker.events import ReadPath, Served

from .membership import Membership

Key = str | int | None  # hashable on every replica; None is a no-op's


class Op(StrEnum):
    """What a client can ask of a key, and what a log entry can do to it.

    ``ACQUIRE`` a lock for ``[session, ttl_ns]``, ``RENEW`` a session and ``RELEASE`` what it holds;
    ``STORE`` ``[token, anything]`` behind the key's fence, which reads as it was stored. Leaders alone
    write ``EXPIRE``, ``NOOP`` and ``CONFIG``.
    """

    READ = "read"
    WRITE = "write"
    CAS = "cas"
    DELETE = "delete"
    ACQUIRE = "acquire"
    RENEW = "renew"
    RELEASE = "release"
    STORE = "store"
    EXPIRE = "expire"
    NOOP = "noop"
    CONFIG = "config"


class Code(StrEnum):
    """Why a request was not answered with a value.

    Definite codes are said only before anything was appended, or of what was applied to no effect: the
    operation did not happen. ``FENCED`` comes with the greatest token accepted, ``EXPIRED`` means that
    the session has ended, ``NOT_HELD`` that it does not hold the lock.
    """

    NOT_LEADER = "NOT_LEADER"
    NOT_READY = "NOT_READY"
    LEASE_EXPIRED = "LEASE_EXPIRED"
    NO_QUORUM = "NO_QUORUM"
    APPLY_TIMEOUT = "APPLY_TIMEOUT"
    OVERLOADED = "OVERLOADED"
    UNSUPPORTED = "UNSUPPORTED"
    MISMATCH = "MISMATCH"
    FENCED = "FENCED"
    EXPIRED = "EXPIRED"
    NOT_HELD = "NOT_HELD"
    UNCERTAIN = "UNCERTAIN"

    @property
    def definite(self) -> bool:
        """Whether the operation certainly did not take effect."""
        return self is not Code.UNCERTAIN


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One log entry: index from 1, the term it was appended in, and what it does.

    Its leader appended it between ``earliest_ns`` and ``latest_ns`` of true time; None where it knew no
    span.
    """

    index: int
    term: int
    op: Op
    key: Key = None
    value: Any = None
    earliest_ns: int | None = None
    latest_ns: int | None = None


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """All that the entries up to ``index`` have done, the last of them appended in ``term``.

    ``membership`` was in force there, ``stamped_ns`` is the latest that any of them can have been
    appended; what ``machine`` holds is the state machine's own affair.
    """

    index: int
    term: int
    membership: Membership
    stamped_ns: int | None
    machine: Any


class RequestVote(msgspec.Struct, frozen=True, array_like=True, tag="V"):
    """Ask for a vote; with ``pre`` only whether it would be given (nothing is remembered).

    ``token_term`` is the term whose leader told the candidate to campaign; None if nobody did.
    """

    term: int
    pre: bool
    last_index: int
    last_term: int
    token_term: int | None = None


class VoteReply(msgspec.Struct, frozen=True, array_like=True, tag="v"):
    """Answer a vote: ``term`` is the asked term when granted, else the voter's own.

    ``lease_ns`` is how long, on the voter's clock, another leader may still serve from a lease.
    """

    term: int
    pre: bool
    granted: bool
    reason: str | None = None
    lease_ns: int = 0


class Append(msgspec.Struct, frozen=True, array_like=True, tag="A"):
    """Heartbeat and log replication in one. ``told_ns`` is what the rules say of the sender's clock."""

    term: int
    round: int
    prev_index: int
    prev_term: int
    entries: tuple[Entry, ...]
    commit_index: int
    told_ns: int | None = None


class AppendReply(msgspec.Struct, frozen=True, array_like=True, tag="a"):
    """Answer an Append: up to where the logs agree, or where to look for the agreement."""

    term: int
    round: int
    ok: bool
    match_index: int
    conflict_index: int = 0


class Install(msgspec.Struct, frozen=True, array_like=True, tag="S"):
    """A round with what the receiver lacks and the log no longer has; answered like an Append."""

    term: int
    round: int
    snapshot: Snapshot


class LeaseRequest(msgspec.Struct, frozen=True, array_like=True, tag="L"):
    """A leader asks for a one-shot grant; everybody knows how long that is."""

    term: int
    seq: int


class LeaseGrant(msgspec.Struct, frozen=True, array_like=True, tag="l"):
    """The grant; who does not grant says nothing."""

    term: int
    seq: int


class TimeoutNow(msgspec.Struct, frozen=True, array_like=True, tag="T"):
    """A leader tells its successor to campaign at once, if its log still ends like that."""

    term: int
    last_index: int
    last_term: int


class IndexRequest(msgspec.Struct, frozen=True, array_like=True, tag="I"):
    """A follower asks its leader for a read index; ``ticket`` is fresh for every try."""

    term: int
    ticket: int


class IndexReply(msgspec.Struct, frozen=True, array_like=True, tag="i"):
    """The leader's answer: an index confirmed by a quorum, or a refusal."""

    term: int
    ticket: int
    index: int | None
    code: Code | None = None


PeerMessage = (
    RequestVote
    | VoteReply
    | Append
    | AppendReply
    | Install
    | LeaseRequest
    | LeaseGrant
    | TimeoutNow
    | IndexRequest
    | IndexReply
)


class Request(msgspec.Struct, frozen=True, array_like=True, tag="Q"):
    """What a client asks. ``path`` forces the way a read is served; None leaves it to the policy."""

    id: int
    op: Op
    key: Key
    value: Any = None
    path: ReadPath | None = None


class Response(msgspec.Struct, frozen=True, array_like=True, tag="R"):
    """What a client hears: a value (``code`` None) or a code, and who may be the leader."""

    id: int
    code: Code | None = None
    value: Any = None
    leader: str | None = None
    evidence: Served | None = None
