"""A gate: the listening end of one proxied address, and the connections that run through it.

A connection through a gate is a `Relay`: the end accepted, the end dialed, and a pipe each way, each in
the lane of its direction. When a lane that the gate obeys is dropped, or its node is down, its relays
are reset and it stops listening: a dialer is *refused* before it has sent a byte, a definite answer.

The port stays ours meanwhile: a second socket is bound to it and never listens. SO_REUSEPORT lets the
two be side by side, and a port that is bound is given to nobody who asks for a free one.

Connections end whole: a sender that only shuts its writing half down counts as gone.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Final

from targets.cluster import Dropped, TargetError

from .lanes import END, Lane, Pipe

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from targets.cluster import Address

NO_SILENCE: Final = "links run through gates, which acknowledge what they keep"
HOST: Final = "127.0.0.1"
BACKLOG: Final = 512
RELAYS_MAX: Final = 4096

_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: on, for no time


class Port:
    """A port of loopback, reserved until it is closed, whether or not somebody listens on it."""

    def __init__(self) -> None:
        self._socket = self._bound(0)
        self.address: Address = (HOST, self._socket.getsockname()[1])

    def listener(self) -> socket.socket:
        """Return a new socket that listens here."""
        listener = self._bound(self.address[1])
        try:
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            raise _taken(self.address, error) from error
        return listener

    @staticmethod
    def _bound(number: int) -> socket.socket:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setblocking(False)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            bound.bind((HOST, number))
        except OSError as error:
            bound.close()
            raise _taken((HOST, number), error) from error
        return bound

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()


def _taken(address: Address, error: OSError) -> TargetError:
    host, port = address
    if port == 0:
        return TargetError(f"no port of {host} is free: {error.strerror}; see who holds them (ss -tan)")
    return TargetError(
        f"{host}:{port} cannot be listened on: {error.strerror}; see who has it (ss -tlnp), or run again"
    )


class _End(asyncio.Protocol):
    """One socket of a relay: what it reads goes into ``out``, what comes out of ``back`` it writes."""

    def __init__(self, relay: Relay, *, out: Pipe, back: Pipe) -> None:
        self._relay = relay
        self._out = out
        self._back = back
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self._relay.over:
            self.reset()
        else:
            self._back.write_to(transport)
            self._out.read_from(transport)

    def data_received(self, data: bytes) -> None:
        self._out.take(data)

    def eof_received(self) -> bool:
        self._out.take(END)
        return True

    def pause_writing(self) -> None:
        self._back.block(full=True)

    def resume_writing(self) -> None:
        self._back.block(full=False)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.transport = None
        self._back.lose()
        self._out.take(END)
        self._relay.left()

    def reset(self) -> None:
        """Send RST rather than FIN; whatever was not delivered is lost."""
        if self.transport is not None:
            held: socket.socket = self.transport.get_extra_info("socket")
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.transport.abort()


class Relay:
    """One connection through a gate, from the accept until both ends are gone."""

    def __init__(self, gate: Gate, loop: asyncio.AbstractEventLoop) -> None:
        self._gate = gate
        self._loop = loop
        self._forward = Pipe(gate.forward, loop, self._dial)
        self._backward = Pipe(gate.backward, loop)
        self._dialed = _End(self, out=self._backward, back=self._forward)
        self.accepted = _End(self, out=self._forward, back=self._backward)
        self.over = False

    def _dial(self) -> None:
        self._gate.run(self._dialing())

    async def _dialing(self) -> None:
        try:
            await self._loop.create_connection(lambda: self._dialed, *self._gate.target)
        except OSError:
            self.reset()

    def left(self) -> None:
        """End once both ends are gone; what is kept for an end not dialed yet keeps the relay."""
        if self.accepted.transport is None and self._dialed.transport is None and self._forward.idle:
            self._end()

    def reset(self) -> None:
        """Reset both ends and lose what is in flight."""
        self._end()
        self.accepted.reset()
        self._dialed.reset()

    def _end(self) -> None:
        self.over = True
        self._forward.close()
        self._backward.close()
        self._gate.relays.discard(self)


class Gate:
    """Listens on ``port`` and relays to ``target``: ``forward`` bytes there, ``backward`` bytes back.

    ``resets_with`` are the lanes whose being dropped resets this gate's connections.
    """

    def __init__(
        self,
        target: Address,
        *,
        forward: Lane,
        backward: Lane,
        resets_with: Sequence[Lane],
        port: Port | None = None,
    ) -> None:
        self.target = target
        self.forward = forward
        self.backward = backward
        self.relays: set[Relay] = set()
        self._resets_with = resets_with
        self._port = Port() if port is None else port
        self._listener: socket.socket | None = None
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[object]] = set()
        self._up = False
        for lane in resets_with:
            lane.obedient.append(self)

    @property
    def address(self) -> Address:
        """Return where to dial instead of the target."""
        return self._port.address

    def move(self, port: Port) -> None:
        """Listen on another port from now on: the one there was went with its namespace."""
        self._refuse()
        self._port.close()
        self._port = port
        self.obey()

    def set_up(self, *, up: bool) -> None:
        """Hear whether there is a node behind it."""
        self._up = up
        self.obey()

    def obey(self) -> None:
        """Listen, or reset and refuse."""
        dropped = any(isinstance(lane.state, Dropped) for lane in self._resets_with)
        if dropped:
            for relay in tuple(self.relays):
                relay.reset()
        if self._up and not dropped:
            self._listen()
        else:
            self._refuse()

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = self._port.listener()
            self._loop.add_reader(self._listener, self._accept, self._listener)

    def _refuse(self) -> None:
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(BACKLOG):
            try:
                accepted, _address = listener.accept()
            except OSError:
                return  # none left; or none can be had, and it is asked again
            if len(self.relays) < RELAYS_MAX:
                self._relay(accepted)
            else:
                accepted.close()

    def _relay(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        relay = Relay(self, self._loop)
        self.relays.add(relay)
        task = self.run(self._loop.connect_accepted_socket(lambda: relay.accepted, accepted))

        def close(taken_up: asyncio.Task[object]) -> None:
            if taken_up.cancelled():  # before its first step perhaps, when the socket is nobody's yet
                accepted.close()

        task.add_done_callback(close)

    def run(self, work: Coroutine[object, object, object]) -> asyncio.Task[object]:
        """Run something that ends by itself."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def close(self) -> None:
        """Reset everything and give the port back. Idempotent."""
        for lane in self._resets_with:
            if self in lane.obedient:
                lane.obedient.remove(self)
        for relay in tuple(self.relays):
            relay.reset()
        self._refuse()
        for task in tuple(self._tasks):
            task.cancel()
        self._port.close()
