"""The admin socket: how a tester asks a node about itself and turns its knobs.

A unix socket of mode 0600 in a private directory, one JSON object a line each way, answered in order.
`Ask` is everything that can be asked; a line that is none of it is answered with `Denied` and the
connection stays. The socket is served by the node's own loop: a node that is stopped does not answer.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import NodeStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINE_MAX: Final = 4096


class Status(msgspec.Struct, frozen=True, tag="status", tag_field="do"):
    """How is it? Answered with a `NodeStatus`."""


class Metrics(msgspec.Struct, frozen=True, tag="metrics", tag_field="do"):
    """What has it counted? Answered with `Scraped`."""


class Campaign(msgspec.Struct, frozen=True, tag="campaign", tag_field="do"):
    """Campaign now, through the vote rules."""


class HandOver(msgspec.Struct, frozen=True, tag="hand-over", tag_field="do"):
    """Transfer leadership to ``target``, if this node leads."""

    target: str


class Reconfigure(msgspec.Struct, frozen=True, tag="reconfigure", tag_field="do"):
    """Go over to these voters and learners, if this node leads."""

    voters: tuple[str, ...]
    learners: tuple[str, ...] = ()


class SetApplyDelay(msgspec.Struct, frozen=True, tag="set-apply-delay", tag_field="do"):
    """Apply entries this late from now on."""

    delay_ns: int


class SetSyncDelay(msgspec.Struct, frozen=True, tag="set-sync-delay", tag_field="do"):
    """Let every sync take this much longer from now on."""

    delay_ns: int


class SetDiskRoom(msgspec.Struct, frozen=True, tag="set-disk-room", tag_field="do"):
    """Have only this much room on the disk from now on; None is all there is."""

    room_bytes: int | None


class SetTimeService(msgspec.Struct, frozen=True, tag="set-time-service", tag_field="do"):
    """Hear the time service from now on, or do not."""

    heard: bool


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="is"):
    """The node did what was asked, or has begun to."""


class Told(msgspec.Struct, frozen=True, tag="status", tag_field="is"):
    """The node's status."""

    status: NodeStatus


class Scraped(msgspec.Struct, frozen=True, tag="metrics", tag_field="is"):
    """The node's metrics, in Prometheus' text format."""

    text: str


class Denied(msgspec.Struct, frozen=True, tag="denied", tag_field="is"):
    """That cannot be asked."""

    why: str


Knob = SetApplyDelay | SetSyncDelay | SetDiskRoom | SetTimeService
Ask = Status | Metrics | Campaign | HandOver | Reconfigure | Knob
Answer = Done | Told | Scraped | Denied

_encoder: Final = msgspec.json.Encoder()
_asks: Final = msgspec.json.Decoder(Ask)
_answers: Final = msgspec.json.Decoder(Answer)


def encode(message: Ask | Answer) -> bytes:
    """Return one line."""
    return _encoder.encode(message) + b"\n"


def decode_answer(line: bytes) -> Answer:
    """Read a node's line; raise `msgspec.DecodeError` if it is none."""
    return _answers.decode(line)


class AdminConnection(asyncio.Protocol):
    """One tester's connection."""

    def __init__(self, answer: Callable[[Ask], Answer]) -> None:
        self._answer = answer
        self._kept = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole line."""
        assert self._transport is not None
        *lines, self._kept = (self._kept + data).split(b"\n")
        for line in lines:
            try:
                answer = self._answer(_asks.decode(line))
            except msgspec.DecodeError as error:
                answer = Denied(str(error))
            self._transport.write(encode(answer))
        if len(self._kept) > LINE_MAX:
            self._transport.abort()


async def serve(path: Path, answer: Callable[[Ask], Answer]) -> None:
    """Listen on ``path``, which nobody but this user may open; an old socket there is replaced."""
    loop = asyncio.get_running_loop()
    await loop.create_unix_server(lambda: AdminConnection(answer), sock=_bound(path))


def _bound(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    masked = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(masked)
    return listener
