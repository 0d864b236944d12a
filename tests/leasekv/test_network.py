"""What a node's sockets tell its core of the connections themselves."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from targets.leasekv.messages import Code, Op, Request
from targets.leasekv.network import Clients, FromClient, FromPeer
from targets.leasekv.ports import Asked, Input, PeerGone
from targets.leasekv.wire import Hello, encode, response_decoder


class Wire(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: Any) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0


def test_who_mistypes_a_request_is_told_and_can_go_on() -> None:
    fed: list[Input] = []
    transport, client = Wire(), FromClient(Clients(), fed.append)
    client.connection_made(transport)
    mistyped = msgspec.msgpack.encode(["Q", 4, "bogus", "x"])
    client.data_received(len(mistyped).to_bytes(4, "big") + mistyped + encode(Request(5, Op.READ, "x")))
    assert fed == [Asked(1, Request(5, Op.READ, "x"))]
    (answer,) = response_decoder().feed(transport.written)
    assert (answer.id, answer.code) == (4, Code.UNSUPPORTED)
    assert "bogus" in answer.value


def test_a_peer_that_hangs_up_is_gone_and_a_stranger_never_was_there() -> None:
    fed: list[Input] = []
    peer = FromPeer("cluster", ("n2",), fed.append)
    peer.connection_lost(None)
    assert fed == []
    peer.data_received(encode(Hello("cluster", "n2")))
    peer.connection_lost(ConnectionResetError())
    assert fed == [PeerGone("n2")]
