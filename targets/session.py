"""A client, as a state machine: the seam between a target's client and the harness.

A `Session` belongs to one process, has at most one operation in flight and talks to one node at a
time. It owns no socket and no clock: a driver carries its effects out and tells it what came of them.

Outcomes follow one rule: *fail* only if the operation certainly did not happen. Refused before a byte
was sent is definite; a reply never received is indefinite, reads excepted (a read that failed has no
effect). In doubt an operation is *info*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from checker.events import EventType, ReadPath, Served

if TYPE_CHECKING:
    from collections.abc import Sequence


class Call(msgspec.Struct, frozen=True):
    """One operation to invoke. ``path`` forces how a read is served; None leaves it to the policy.

    ``fenced``: a write of ``[token, anything]`` that is to be refused if the token is no longer the
    newest.
    """

    f: str
    key: Any
    value: Any = None
    path: ReadPath | None = None
    fenced: bool = False


class Completion(msgspec.Struct, frozen=True):
    """How a call ended.

    ``leader`` is a hint of the target's, ``unexpected`` an answer that no target of this kind should
    give: the run is then a harness failure, whatever the history says.
    """

    type: EventType
    value: Any = None
    error: str | None = None
    evidence: Served | None = None
    leader: str | None = None
    unexpected: str | None = None


# What a driver tells a session.


class Opened(msgspec.Struct, frozen=True):
    """The connection asked for is open."""


class Refused(msgspec.Struct, frozen=True):
    """The connection could not be opened: nothing was sent."""

    reason: str


class Closed(msgspec.Struct, frozen=True):
    """The connection is gone; whatever was in flight may or may not have arrived."""

    reason: str


class Answered(msgspec.Struct, frozen=True):
    """A whole message came in (decoded by the target's codec; None if it could not be decoded)."""

    message: Any


class DeadlinePassed(msgspec.Struct, frozen=True):
    """The harness's clock reached ``session.wake_ns``."""


SessionInput = Opened | Refused | Closed | Answered | DeadlinePassed

# What a session wants done.


class Open(msgspec.Struct, frozen=True):
    """Dial ``node``; answer with `Opened` or `Refused`."""

    node: str


class Transmit(msgspec.Struct, frozen=True):
    """Send a message on the open connection (encoded by the target's codec)."""

    message: Any


class Close(msgspec.Struct, frozen=True):
    """Drop the connection at once; nothing that still arrives on it may be delivered."""


class Done(msgspec.Struct, frozen=True):
    """The operation in flight ended."""

    completion: Completion


SessionEffect = Open | Transmit | Close | Done


class Session(Protocol):
    """One process's client of one target."""

    @property
    def wake_ns(self) -> int | None:
        """When to feed `DeadlinePassed` (harness clock), None when nothing is awaited."""

    def invoke(self, call: Call, node: str, now_ns: int) -> tuple[SessionEffect, ...]:
        """Start an operation at ``node``; the previous one has ended."""

    def step(self, event: SessionInput, now_ns: int) -> tuple[SessionEffect, ...]:
        """Take what happened. A late answer to an operation that has ended is dropped here."""


class Reader(Protocol):
    """Bytes of one connection in, messages out."""

    def feed(self, data: bytes) -> Sequence[Any]:
        """Return the whole messages; None stands for bytes that are none, and nothing can follow it."""


class Client(Protocol):
    """What a target gives the harness to be its client: sessions, and a codec for their messages."""

    def session(self) -> Session:
        """Return the client of a new process."""

    def reader(self) -> Reader:
        """Return what reads a new connection."""

    def encode(self, message: Any) -> bytes:
        """Return the bytes of one message."""
