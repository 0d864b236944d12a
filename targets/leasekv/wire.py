"""Frames: how leasekv messages become bytes and come back.

A frame is four bytes of length, big-endian, and that many bytes of msgpack. A longer frame than its
kind may be is refused before anything of it is kept, so a stranger on the port cannot make a node
swell. A request is bounded so far below `FRAME_MAX` that one append's worth of them still fits.

Two unions travel, never on one connection. A node dials each of its peers and the connection carries
only what the dialer says: first `Hello`, then `PeerMessage`s; the answers travel on the peer's own
connection. Clients send `Request`s and hear `Response`s.

A `Decoder` is fed bytes as they come and gives whole messages; it holds no socket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from .messages import PeerMessage, Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME_MAX: Final = 32 * 1024 * 1024
REQUEST_MAX: Final = 64 * 1024
HEAD: Final = 4

T = TypeVar("T")


class WireError(Exception):
    """The bytes are no frames of ours: the connection cannot be used any further."""


class Hello(msgspec.Struct, frozen=True, array_like=True, tag="H"):
    """Who dials. ``cluster`` keeps a node of another run, on a port used again, from being heard."""

    cluster: str
    node: str


class Misasked(msgspec.Struct, frozen=True):
    """What has a request's head and is none: the id that it is answered under, and what is wrong."""

    id: int
    why: str


Message = Hello | PeerMessage | Request | Response

_encoder: Final = msgspec.msgpack.Encoder()
_peers: Final = msgspec.msgpack.Decoder(Hello | PeerMessage)
_requests: Final = msgspec.msgpack.Decoder(Request)
_responses: Final = msgspec.msgpack.Decoder(Response)


def encode(message: Message) -> bytes:
    """Return the frame of one message; refuse one that no decoder would take."""
    body = _encoder.encode(message)
    if len(body) > FRAME_MAX:
        raise WireError(f"a message of {len(body)} bytes is over the bound of {FRAME_MAX}")
    return len(body).to_bytes(HEAD, "big") + body


class Decoder(Generic[T]):
    """Bytes in, messages out; what is incomplete is kept for the next `feed`."""

    def __init__(self, decode: Callable[[bytes], T], *, size_max: int = FRAME_MAX) -> None:
        self._decode = decode
        self._size_max = size_max
        self._kept = b""

    def feed(self, data: bytes) -> list[T]:
        """Return the messages completed by ``data``, in order; raise `WireError` on any other bytes.

        Messages in front of a bad frame are lost with it: the connection is to be dropped anyway.
        """
        if self._kept:
            data = self._kept + data
        end = len(data)
        at = 0
        messages = []
        while end - at >= HEAD:
            size = int.from_bytes(data[at : at + HEAD], "big")
            if size > self._size_max:
                raise WireError(f"a frame of {size} bytes is over the bound of {self._size_max}")
            upto = at + HEAD + size
            if upto > end:
                break
            try:
                messages.append(self._decode(data[at + HEAD : upto]))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise WireError(f"a frame that is no message: {error}") from error
            at = upto
        self._kept = data[at:]
        return messages


def peer_decoder() -> Decoder[Hello | PeerMessage]:
    """Return a decoder of what a peer says."""
    return Decoder(_peers.decode)


def request_decoder() -> Decoder[Request | Misasked]:
    """Return a decoder of what a client asks: people type requests, too, and mistype them."""
    return Decoder(_request, size_max=REQUEST_MAX)


def response_decoder() -> Decoder[Response]:
    """Return a decoder of what a client hears."""
    return Decoder(_responses.decode)


def _request(body: bytes) -> Request | Misasked:
    try:
        return _requests.decode(body)
    except msgspec.ValidationError as error:
        match msgspec.msgpack.decode(body):
            case ["Q", number, *_] if type(number) is int:
                return Misasked(number, str(error))
            case _:
                raise
