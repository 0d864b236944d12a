"""A leasekv cluster in virtual time: nodes, links, the clients' connections, and the primitives.

The primitives are those of `targets.cluster.Cluster` by name and meaning. They are plain calls: in
virtual time nothing has to be waited for.

A client's *connection* is a number. Its end with the client is told what happens to it by the callback
given to `dial`; its end with the node is the handle that the core knows the client by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import (
    CLIENTS,
    ClockBend,
    Dropped,
    Link,
    LinkState,
    NodeStatus,
    Primitive,
    ProcessState,
    Role,
    Roster,
    Silenced,
    Unsupported,
)
from targets.leasekv.ports import (
    Asked,
    CampaignNow,
    ClientGone,
    HandOver,
    Order,
    PeerGone,
    Received,
    Reconfigure,
    SetApplyDelay,
)
from targets.session import Answered, Closed, Opened, Refused, SessionInput
from targets.system import NO_TIME_SERVICE

from .clock import NodeClock
from .disk import SimDisk
from .draws import Draws
from .network import SimNetwork
from .node import Listeners, SimNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.evidence import EvidenceLine
    from targets.leasekv.config import NodeConfig
    from targets.leasekv.messages import Request, Response
    from targets.leasekv.ports import Ready

    from .heap import Heap
    from .node import Watch
    from .weather import Weather

    Told = Callable[[SessionInput], None]

OPERATOR: Final = "operator"
EPOCH_NS: Final = 1_700_000_000_000_000_000
"""About when wall clocks begin."""

NO_PACKETS: Final = "messages are simulated, packets and their acknowledgements are not"
NO_FULL_DISK: Final = "the simulator's disks have all the room there is"


class Connection:
    """One connection of a client; ``told`` None once its client has left."""

    __slots__ = ("node", "number", "open", "told")

    def __init__(self, number: int, node: str, told: Told) -> None:
        self.number = number
        self.node = node
        self.told: Told | None = told
        self.open = False


class SimCluster:
    """See the module. ``config`` is any node's; the others are like it. ``watch`` sees every step."""

    def __init__(
        self, config: NodeConfig, weather: Weather, heap: Heap, *, watch: Watch | None = None
    ) -> None:
        self.nodes = config.nodes
        self._config = config
        self._change = 0
        self._heap = heap
        self._watch = watch
        self._network = SimNetwork(heap, self.nodes, weather, seed=config.seed)
        self._connections: dict[int, Connection] = {}
        self._last_connection = 0
        self._nodes = {name: self._make(config, weather, name) for name in self.nodes}

    def _make(self, config: NodeConfig, weather: Weather, name: str) -> SimNode:
        draws = Draws(config.seed, f"clock/{name}")
        clock = NodeClock(
            draws.between(0, 10**12),
            EPOCH_NS + draws.between(-weather.skew_max_ns, weather.skew_max_ns),
            rate_ppm=draws.between(-weather.rate_max_ppm, weather.rate_max_ppm),
        )
        return SimNode(
            msgspec.structs.replace(config, node=name),
            self._heap,
            clock=clock,
            disk=SimDisk(weather, Draws(config.seed, f"disk/{name}")),
            weather=weather,
            draws=Draws(config.seed, f"node/{name}"),
            listeners=Listeners(self._let_out, self._ended, self._watch),
        )

    def evidence(self) -> dict[str, list[EvidenceLine]]:
        """Return what every node wrote, in the order of the nodes."""
        return {name: node.lines for name, node in self._nodes.items()}

    def look(self, node: str) -> SimNode:
        """Look into a node, as nothing outside a simulator can; raise ``ValueError`` for no node."""
        found = self._nodes.get(node)
        if found is None:
            raise ValueError(f"there is no node {node!r}, only {', '.join(self.nodes)}")
        return found

    def last_words(self) -> dict[str, str]:
        """Return why nodes ended that ended by themselves."""
        return {
            name: node.last_words for name, node in self._nodes.items() if node.last_words is not None
        }

    def supports(self, primitive: Primitive) -> str | None:
        """Everything can be done here but for what is about packets, a disk's size, or nobody."""
        match primitive:
            case Primitive.SILENCE:
                return NO_PACKETS
            case Primitive.DISK_ROOM:
                return NO_FULL_DISK
            case Primitive.TIME_SERVICE if not self._config.synced:
                return NO_TIME_SERVICE
            case _:
                return None

    # Nodes.

    def start(self) -> None:
        """Boot every node."""
        for node in self._nodes.values():
            node.boot()

    def state(self, node: str) -> ProcessState:
        """Return what a node does."""
        return self.look(node).process

    def status(self, node: str) -> NodeStatus | None:
        """Ask a node; None if it cannot answer."""
        return self.look(node).status()

    def pause(self, node: str) -> None:
        """Freeze a node; raise `Unsupported` if it is gone."""
        if self.state(node) is ProcessState.GONE:
            raise Unsupported(f"{node} is gone and cannot be paused")
        self.look(node).pause()

    def suspend(self, node: str) -> None:
        """Suspend a node's host; raise `Unsupported` if the node is gone."""
        if self.state(node) is ProcessState.GONE:
            raise Unsupported(f"{node} is gone and cannot be suspended")
        self.look(node).suspend()

    def resume(self, node: str) -> None:
        """Let a frozen node go on."""
        self.look(node).resume()

    def kill(self, node: str) -> None:
        """End a node; its clients' connections are reset."""
        if self.state(node) is ProcessState.GONE:
            return
        self.look(node).kill()
        self._left(node)

    def _ended(self, node: SimNode) -> None:
        self._left(node.name)

    def _left(self, node: str) -> None:
        """Close what a node's process had open: its peers and its clients hear of it."""
        for peer in self.nodes:
            if peer != node:
                self._network.hang_up(node, peer, self._nodes[peer].feed, node, PeerGone(node))
        self._reset(node)

    def restart(self, node: str) -> None:
        """Start a node that was killed, with the data it has."""
        if self.state(node) is ProcessState.GONE:
            self.look(node).boot()

    def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend a node's clocks from now on."""
        found = self.look(node)
        found.clock.bend(self._heap.now_ns, rate_ppm=bend.rate_ppm, wall_offset_ns=bend.wall_offset_ns)
        found.rearm()

    def campaign(self, node: str) -> None:
        """Ask a node to campaign now; raise `Unsupported` if it cannot hear."""
        self._order(node, CampaignNow())

    def hand_over(self, node: str, target: str) -> None:
        """Ask a node to hand leadership over; raise `Unsupported` if it cannot hear."""
        self._order(node, HandOver(target))

    def reconfigure(self, node: str, members: Roster) -> None:
        """Ask a node that leads for other voters; raise `Unsupported` if it cannot hear."""
        self._change += 1
        self._order(node, Reconfigure(members.voters, members.learners))

    def restore_members(self) -> None:
        """Have whoever leads go back to the first voters, from now on until it is so."""
        self._change += 1
        self._restore(self._change)

    def _restore(self, change: int) -> None:
        """Ask again, unless a change that was asked for later has its way."""
        if change != self._change:
            return
        first = Roster(self._config.membership.voters)
        told = [status for node in self.nodes if (status := self.status(node)) is not None]
        leads = [status for status in told if status.role is Role.LEADER]
        leader = max(leads, key=lambda status: status.term, default=None)
        if leader is None or leader.members != first:
            self._heap.at(self._heap.now_ns + self._config.heartbeat_ns, self._restore, change)
            if leader is not None:
                self._order(leader.node, Reconfigure(first.voters))

    def set_time_service(self, node: str, *, heard: bool) -> None:
        """Let a node hear its time service or not."""
        self.look(node).set_time_service(heard=heard)

    def _order(self, node: str, order: Order) -> None:
        found = self.look(node)
        if not found.running:
            raise Unsupported(f"{node} is {found.process.value} and cannot be asked")
        found.feed(OPERATOR, order)

    def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Make a node apply late."""
        self.look(node).feed(OPERATOR, SetApplyDelay(delay_ns))

    def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Make a node's syncs late, from the next one on; taken back, one that is stuck ends."""
        self.look(node).set_sync_delay(delay_ns)

    # Links.

    def set_link(self, link: Link, state: LinkState) -> None:
        """Put a directed link into a state at once; raise `Unsupported` for what is about packets."""
        if isinstance(state, Silenced):
            raise Unsupported(NO_PACKETS)
        before = self._network.state(link)
        self._network.set(link, state)
        if not isinstance(state, Dropped):
            return
        if CLIENTS in (link.source, link.target):
            self._reset(link.target if link.source == CLIENTS else link.source)
        elif not isinstance(before, Dropped):
            told = self._nodes[link.target].feed
            self._heap.at(self._heap.now_ns + 1, told, link.source, PeerGone(link.source))

    def link_state(self, link: Link) -> LinkState:
        """Return the state of a link."""
        return self._network.state(link)

    # Clients.

    def dial(self, node: str, told: Told) -> int:
        """Open a connection to a node; ``told`` hears what becomes of it, never within this call."""
        self._last_connection += 1
        connection = Connection(self._last_connection, node, told)
        self._connections[connection.number] = connection
        refused = self._network.refuses(CLIENTS, node) or self._network.refuses(node, CLIENTS)
        if refused or self.state(node) is ProcessState.GONE:
            self._heap.at(self._heap.now_ns + 1, self._refused, connection)
        else:  # the kernel accepts, whatever the node or its links do
            self._heap.at(self._heap.now_ns + 1, self._opened, connection)
        return connection.number

    def _opened(self, connection: Connection) -> None:
        if connection.told is not None:
            connection.open = True
            connection.told(Opened())

    def _refused(self, connection: Connection) -> None:
        self._connections.pop(connection.number, None)
        if connection.told is not None:
            connection.told(Refused("connection refused"))

    def ask(self, number: int, request: Request) -> None:
        """Send a request on an open connection."""
        connection = self._connections.get(number)
        if connection is None:
            return
        node = connection.node
        if self._network.breaks(CLIENTS, node):
            self._break(connection)
            return
        self._network.send(CLIENTS, node, self._asked, connection, Asked(number, request))

    def _asked(self, connection: Connection, event: Asked) -> None:
        if connection.open:
            self._nodes[connection.node].feed(connection.number, event)

    def hang_up(self, number: int) -> None:
        """Leave a connection: nothing that still arrives on it is heard."""
        connection = self._connections.pop(number, None)
        if connection is not None:
            connection.told = None
            node = connection.node
            self._network.send(CLIENTS, node, self._gone, node, number)

    def _gone(self, node: str, number: int) -> None:
        self._nodes[node].feed(number, ClientGone(number))

    def _answered(self, number: int, event: Answered) -> None:
        connection = self._connections.get(number)
        if connection is not None and connection.open and connection.told is not None:
            connection.told(event)

    def _reset(self, node: str) -> None:
        """Break every connection to a node."""
        for connection in [each for each in self._connections.values() if each.node == node]:
            self._break(connection)

    def _break(self, connection: Connection) -> None:
        """Reset a connection: what is on its way is lost, both ends hear of it soon."""
        if not connection.open:
            return  # it is still being opened, and will be
        connection.open = False
        self._connections.pop(connection.number, None)
        now_ns = self._heap.now_ns
        self._heap.at(now_ns + 1, self._closed, connection)
        self._heap.at(now_ns + 1, self._gone, connection.node, connection.number)

    def _closed(self, connection: Connection) -> None:
        if connection.told is not None:
            connection.told(Closed("connection reset by peer"))

    # What nodes say.

    def _let_out(self, node: SimNode, ready: Ready) -> None:
        name = node.name
        send = self._network.send
        for peer, message in ready.messages:
            send(name, peer, self._nodes[peer].feed, name, Received(name, message))
        for number, response in ready.replies:
            self._reply(name, number, response)

    def _reply(self, name: str, number: int, response: Response) -> None:
        connection = self._connections.get(number)
        if connection is None:
            return
        if self._network.breaks(name, CLIENTS):
            self._break(connection)
        else:
            self._network.send(name, CLIENTS, self._answered, number, Answered(response))
