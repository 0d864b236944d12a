"""Directed links between containers through gates: a proxy for each way that one node dials another.

For any system, with one and the same configuration on every member: each node finds its peers at
addresses of its *own* loopback, and there, inside its namespace, listens this harness. What it accepts
it dials on to the peer's real address. A connection carries both directions, each in the lane of its
link, so a direction is held byte for byte whichever side dialed, as etcd's streams need it. Delays are
exact and need no queueing discipline of the kernel; a hold keeps what is in flight for however long.

A node listens for its peers on its own address only, or there would be no room beside it.
Namespaces go with their nodes: after a restart the gates listen in the new one.
"""

from __future__ import annotations

import functools
import socket
from typing import TYPE_CHECKING, Final

from targets.cluster import CLIENTS, Link, LinkState, Silenced, Unsupported
from targets.host.gate import NO_SILENCE, Gate, Port
from targets.host.lanes import Lane

from . import netns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .system import ContainerSystem

SUBNET: Final = "127.77.0."
FIRST_HOST: Final = 1


class NamespacePort(Port):
    """A port of an address inside the namespace of ``pid``."""

    def __init__(self, pid: int, address: tuple[str, int]) -> None:
        self.address = address
        self._pid = pid

    def listener(self) -> socket.socket:
        """Return a socket that listens there; it stays there when the thread that made it has left."""
        return netns.enter(self._pid, functools.partial(_listen, self.address))

    def close(self) -> None:
        """Nothing is reserved: nobody else is in there."""


def _listen(address: tuple[str, int]) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setblocking(False)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(512)
    except OSError:
        listener.close()
        raise
    return listener


class GateLinks:
    """The links of one run through gates; see `targets.docker.links` for the other way."""

    def __init__(self, system: ContainerSystem) -> None:
        self._nodes = tuple(system.services)
        ends = [*self._nodes, CLIENTS]
        self._client_port = system.client_port
        self._peer_port = system.peer_port
        self._one_way_dials = system.one_way_dials
        self._lanes = {Link(a, b): Lane() for a in ends for b in ends if a != b}
        self._gates: dict[Link, Gate] = {}
        self._addresses: dict[str, str] = {}
        self._there: set[str] = set()

    def know(self, addresses: Mapping[str, str]) -> None:
        """Learn where the nodes really are, and let their clients on this host in."""
        self._addresses = {node: addresses[node] for node in self._nodes}
        for node in self._nodes:
            self._open(Link(CLIENTS, node), Port())

    def peers(self, node: str) -> dict[str, str]:
        """Return where ``node`` has to find its peers: at gates of its own loopback."""
        return {peer: _inside(i) for i, peer in enumerate(self._nodes) if peer != node}

    def client_address(self, node: str) -> tuple[str, int]:
        """Return where clients dial ``node`` on this host."""
        return self._gates[Link(CLIENTS, node)].address

    def attach(self, node: str, pid: int) -> None:
        """Take up a node's namespace: its gates towards its peers listen there from now on."""
        for peer, address in self.peers(node).items():
            self._open(Link(node, peer), NamespacePort(pid, (address, self._peer_port)))
        self._there.add(node)
        self._obey()

    def detach(self, node: str) -> None:
        """Have dialers of a node that is gone refused."""
        self._there.discard(node)
        self._obey()

    def _obey(self) -> None:
        """Listen where there is somebody at both ends."""
        for link, gate in self._gates.items():
            gate.set_up(up={link.source, link.target} <= {*self._there, CLIENTS})

    def _open(self, link: Link, port: Port) -> None:
        gate = self._gates.get(link)
        if gate is not None:
            gate.set_up(up=False)
            gate.move(port)
            return
        there, back = self._lanes[link], self._lanes[Link(link.target, link.source)]
        of_clients = link.source == CLIENTS
        target = (self._addresses[link.target], self._client_port if of_clients else self._peer_port)
        resets_with = (there,) if self._one_way_dials and not of_clients else (there, back)
        gate = Gate(target, forward=there, backward=back, resets_with=resets_with, port=port)
        self._gates[link] = gate

    def set(self, link: Link, state: LinkState) -> None:
        """Put a link into a state, at once."""
        if isinstance(state, Silenced):
            raise Unsupported(NO_SILENCE)
        self._lanes[link].turn(state)

    def state(self, link: Link) -> LinkState:
        """Return the state of a link."""
        return self._lanes[link].state

    def keep(self) -> None:
        """Nothing is to be renewed."""

    async def close(self) -> None:
        """Take the gates down, with every connection through them. Idempotent."""
        for gate in self._gates.values():
            gate.close()
        self._gates.clear()


def _inside(i: int) -> str:
    return f"{SUBNET}{FIRST_HOST + i}"
