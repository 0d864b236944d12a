"""What a node's sockets tell its core of the connections themselves."""

from __future__ import annotations

from targets.leasekv.network import FromPeer
from targets.leasekv.ports import Input, PeerGone
from targets.leasekv.wire import Hello, encode


def test_a_peer_that_hangs_up_is_gone_and_a_stranger_never_was_there() -> None:
    fed: list[Input] = []
    peer = FromPeer("cluster", ("n2",), fed.append)
    peer.connection_lost(None)
    assert fed == []
    peer.data_received(encode(Hello("cluster", "n2")))
    peer.connection_lost(ConnectionResetError())
    assert fed == [PeerGone("n2")]
