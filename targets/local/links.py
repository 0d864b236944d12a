"""All directed links of one cluster, each through a gate of its own.

``n1`` dials ``n2`` at the gate of ``Link("n1", "n2")``. What n2 says on that connection is held and
delayed as its own link is; where only the dialer speaks, it says nothing there but that it is gone.
Clients dial a node at its client gate, where requests run in ``Link(CLIENTS, node)`` and answers in
``Link(node, CLIENTS)``.

A dropped link resets the connections it carries. With ``one_way_dials`` that is the one its *source*
dialed, and the other direction stays as it is; else every connection between the two. A client's
connection carries both directions, so either of them resets it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.cluster import CLIENTS, Link, LinkState
from targets.host.gate import Gate
from targets.host.lanes import Lane

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from targets.cluster import Address


class Links:
    """The lanes and gates between ``nodes`` and towards their clients. Needs a running loop."""

    def __init__(
        self,
        nodes: Sequence[str],
        *,
        one_way_dials: bool,
        peer_addresses: Mapping[str, Address],
        client_addresses: Mapping[str, Address],
    ) -> None:
        pairs = [(source, target) for source in nodes for target in nodes if source != target]
        pairs += [pair for node in nodes for pair in ((CLIENTS, node), (node, CLIENTS))]
        self._lanes = {Link(source, target): Lane() for source, target in pairs}
        self._gates: dict[Link, Gate] = {}
        for node in nodes:
            asked, answered = self._lanes[Link(CLIENTS, node)], self._lanes[Link(node, CLIENTS)]
            self._gates[Link(CLIENTS, node)] = Gate(
                client_addresses[node], forward=asked, backward=answered, resets_with=(asked, answered)
            )
            for peer in nodes:
                if peer != node:
                    there, back = self._lanes[Link(peer, node)], self._lanes[Link(node, peer)]
                    self._gates[Link(peer, node)] = Gate(
                        peer_addresses[node],
                        forward=there,
                        backward=back,
                        resets_with=(there,) if one_way_dials else (there, back),
                    )

    def client_address(self, node: str) -> Address:
        """Return where clients dial ``node``."""
        return self._gates[Link(CLIENTS, node)].address

    def peer_addresses(self, node: str) -> dict[str, Address]:
        """Return where ``node`` dials each of its peers."""
        return {link.target: gate.address for link, gate in self._gates.items() if link.source == node}

    def set_up(self, node: str, *, up: bool) -> None:
        """Let dialers of ``node`` in, or have them refused because it is down."""
        for link, gate in self._gates.items():
            if link.target == node:
                gate.set_up(up=up)

    def turn(self, link: Link, state: LinkState) -> None:
        """Put a link into a state, at once."""
        self._lane(link).turn(state)

    def state(self, link: Link) -> LinkState:
        """Read a link's state back."""
        return self._lane(link).state

    def _lane(self, link: Link) -> Lane:
        lane = self._lanes.get(link)
        if lane is None:
            raise ValueError(f"there is no link from {link.source!r} to {link.target!r}")
        return lane

    def close(self) -> None:
        """Reset every connection and give every port back."""
        for gate in self._gates.values():
            gate.close()
