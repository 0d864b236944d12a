"""Sockets of a node: peers that dial in, peers dialed, clients. No decision is taken here.

Each node dials every peer, and what it says travels on that connection only: a directed link is one TCP
connection, so one direction can be cut and the other left alone. Messages may be lost, so a peer that
cannot be reached costs a bounded queue whose oldest frames go first: the newest term and the newest
heartbeat are worth more than the ones before.

**Silence.** Nothing comes back on an outgoing connection, so a black hole on the way is noticed by the
kernel alone: TCP_USER_TIMEOUT ends a connection whose bytes stay unacknowledged, and a fresh one does
not wait for the old one's back-off after a heal.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from typing import TYPE_CHECKING, Final

from .messages import Code, Response
from .ports import Asked, ClientGone, PeerGone, Received
from .wire import Hello, Misasked, WireError, encode, peer_decoder, request_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from targets.cluster import Address

    from .messages import PeerMessage
    from .ports import Input

log: Final = logging.getLogger(__name__)

QUEUE_MAX: Final = 512  # frames kept for a peer that cannot be reached
UNSENT_MAX: Final = 1 << 20  # bytes asyncio may hold for a peer before frames are queued here
UNREAD_MAX: Final = 4 << 20  # bytes a client may leave unread before it is dropped
CLIENTS_MAX: Final = 4096
DIAL_S: Final = 0.3
BACKOFF_S: Final = 0.05
SILENCE_MS: Final = 2_000


class Peer(asyncio.Protocol):
    """The outgoing connection to one peer, dialed again for as long as the node lives."""

    def __init__(self, name: str, address: Address, hello: bytes) -> None:
        self.name = name
        self._address = address
        self._hello = hello
        self._queue: deque[bytes] = deque(maxlen=QUEUE_MAX)
        self._transport: asyncio.Transport | None = None
        self._blocked = False
        self._lost = asyncio.Event()

    async def keep_dialing(self) -> None:
        """Dial, wait until the connection is lost, dial again."""
        loop = asyncio.get_running_loop()
        host, port = self._address
        told = False
        while True:
            self._lost.clear()
            try:
                async with asyncio.timeout(DIAL_S):
                    await loop.create_connection(lambda: self, host, port)
            except (OSError, TimeoutError) as error:
                if not told:
                    log.info("event=unreachable peer=%s error=%s", self.name, type(error).__name__)
                told = True
            else:
                log.info("event=dialed peer=%s", self.name)
                told = False
                await self._lost.wait()
            await asyncio.sleep(BACKOFF_S)

    def send(self, data: bytes) -> None:
        """Send one frame now, or queue it."""
        if self._transport is None or self._blocked:
            self._queue.append(data)
        else:
            self._transport.write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello, then what was queued."""
        assert isinstance(transport, asyncio.Transport)
        link: socket.socket = transport.get_extra_info("socket")
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_MS)
        transport.set_write_buffer_limits(high=UNSENT_MAX)
        self._transport = transport
        self._blocked = False
        transport.write(self._hello)
        self._drain()

    def pause_writing(self) -> None:
        """Queue from now on: the peer does not read."""
        self._blocked = True

    def resume_writing(self) -> None:
        """Send what was queued."""
        self._blocked = False
        self._drain()

    def _drain(self) -> None:
        while self._queue and self._transport is not None and not self._blocked:
            self._transport.write(self._queue.popleft())

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the dialer."""
        log.info("event=lost peer=%s error=%s", self.name, type(exc).__name__ if exc else "closed")
        self._transport = None
        self._lost.set()


class FromPeer(asyncio.Protocol):
    """A peer's connection to us: a hello, then messages, each stepped as it is read."""

    def __init__(self, cluster: str, names: Sequence[str], feed: Callable[[Input], None]) -> None:
        self._cluster = cluster
        self._names = names
        self._feed = feed
        self._decoder = peer_decoder()
        self._peer: str | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, to drop strangers."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Step every message in it."""
        try:
            messages = self._decoder.feed(data)
        except WireError as error:
            self._drop(str(error))
            return
        for message in messages:
            if isinstance(message, Hello):
                known = message.cluster == self._cluster and message.node in self._names
                if self._peer is not None or not known:
                    self._drop(f"a hello of {message.node!r}, cluster {message.cluster!r}")
                    return
                self._peer = message.node
            elif self._peer is None:
                self._drop("a message before the hello")
                return
            else:
                self._feed(Received(self._peer, message))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell that whoever spoke on it is gone."""
        del exc
        if self._peer is not None:
            self._feed(PeerGone(self._peer))

    def _drop(self, why: str) -> None:
        log.warning("event=dropped from=%s why=%r", self._peer or "stranger", why)
        if self._transport is not None:
            self._transport.abort()


class FromClient(asyncio.Protocol):
    """A client's connection: requests, each stepped as it is read."""

    def __init__(self, clients: Clients, feed: Callable[[Input], None]) -> None:
        self._clients = clients
        self._feed = feed
        self._decoder = request_decoder()
        self._transport: asyncio.Transport | None = None
        self._id = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a number."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._id = self._clients.add(transport)

    def data_received(self, data: bytes) -> None:
        """Step every request in it."""
        try:
            requests = self._decoder.feed(data)
        except WireError as error:
            log.warning("event=dropped client=%d why=%r", self._id, str(error))
            if self._transport is not None:
                self._transport.abort()
            return
        for request in requests:
            if isinstance(request, Misasked):
                answer = Response(request.id, Code.UNSUPPORTED, request.why)
                self._clients.send(self._id, encode(answer))
            else:
                self._feed(Asked(self._id, request))

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the number up."""
        del exc
        if self._clients.remove(self._id):
            self._feed(ClientGone(self._id))


class Clients:
    """Who is connected; numbers are never used again, so an answer owed to one goes to no other."""

    def __init__(self) -> None:
        self._transports: dict[int, asyncio.Transport] = {}
        self._last = 0

    def add(self, transport: asyncio.Transport) -> int:
        """Return the number of a new client; beyond the bound it is dropped."""
        self._last += 1
        if len(self._transports) >= CLIENTS_MAX:
            transport.abort()
        else:
            self._transports[self._last] = transport
        return self._last

    def remove(self, client: int) -> bool:
        """Forget a client; return whether it was known."""
        return self._transports.pop(client, None) is not None

    def send(self, client: int, data: bytes) -> None:
        """Send to a client that is still there and still reads."""
        transport = self._transports.get(client)
        if transport is None:
            return
        transport.write(data)
        if transport.get_write_buffer_size() > UNREAD_MAX:
            transport.abort()


class Sockets:
    """All of a node's sockets; implements `targets.leasekv.driver.Network`."""

    def __init__(self, cluster: str, node: str, peers: Mapping[str, Address]) -> None:
        hello = encode(Hello(cluster, node))
        self._cluster = cluster
        self._peers = {name: Peer(name, address, hello) for name, address in peers.items()}
        self._clients = Clients()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(
        self, feed: Callable[[Input], None], *, peer_address: Address, client_address: Address
    ) -> None:
        """Listen on both addresses and begin to dial the peers.

        The ports are shared with whoever reserves them for this node while it is down.
        """
        loop = asyncio.get_running_loop()
        names = tuple(self._peers)
        for factory, address in (
            (lambda: FromPeer(self._cluster, names, feed), peer_address),
            (lambda: FromClient(self._clients, feed), client_address),
        ):
            await loop.create_server(factory, *address, reuse_port=True, backlog=512)
        self._tasks = [loop.create_task(peer.keep_dialing()) for peer in self._peers.values()]
        for task in self._tasks:
            task.add_done_callback(_raise)

    def send(self, messages: Sequence[tuple[str, PeerMessage]]) -> None:
        """Send to peers, one write a peer."""
        frames: dict[str, list[bytes]] = {}
        for peer, message in messages:
            frames.setdefault(peer, []).append(encode(message))
        for peer, parts in frames.items():
            self._peers[peer].send(parts[0] if len(parts) == 1 else b"".join(parts))

    def reply(self, replies: Sequence[tuple[int, Response]]) -> None:
        """Answer clients."""
        for client, response in replies:
            self._clients.send(client, encode(response))


def _raise(task: asyncio.Task[None]) -> None:
    """Let a dialer's bug reach the loop's exception handler, which ends the node."""
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
