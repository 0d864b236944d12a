"""Directed links between containers, cut by packet filter inside the node that would receive.

The desired state of every link is kept here, and each node's namespace is told what concerns it; after a
restart, in a new namespace, it is told again. What a link *is* is read from the kernel, not remembered.
A cut has a time-out in the kernel, so that a killed harness leaves nothing for long; while this harness
lives, `keep` renews it. A cut that is found gone when it would be renewed or made again stays open:
somebody else opened the link, nobody knows when, and whoever heals it is to see that.

A cut is made at once, in half a millisecond. To take one away the kernel needs up to 16 ms whatever is
taken away, so what is opened is opened together: at the end of the loop's turn, or when somebody looks.

``Held`` drops segments with data and lets acknowledgements pass: TCP keeps the bytes and sends them
again, so they arrive in order after the link opens (up to a second later, as the sender backs off).
``Delayed`` is no cut: the packets go through a queue (`queues`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from targets.cluster import CLIENTS, Delayed, Dropped, Held, Link, LinkState, Open, Silenced, Unsupported

from . import netns, packets, queues, sockets
from .packets import Hook, PacketCut, Way

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .queued import Direction
    from .system import ContainerSystem

KERNEL_HEALS_S: Final = 60
RENEW_S: Final = 20.0


log = logging.getLogger(__name__)


class PacketLinks:
    """The links of one run.

    Where a node says things only on connections that it dialed, a reset of what it says concerns the
    connections to its peer's own ports; elsewhere every connection between the two.
    """

    def __init__(self, run: str, system: ContainerSystem) -> None:
        self._run = run
        self._nodes = tuple(system.services)
        self._client_port = system.client_port
        self._ports = (system.client_port, system.peer_port) if system.one_way_dials else ()
        self._pids: dict[str, int] = {}
        self._addresses: dict[str, str] = {}
        self._ways: dict[Link, Way] = {}
        self._delays_ns: dict[Link, int] = {}
        self._queues = queues.Queues(run)
        self._told: dict[str, frozenset[PacketCut]] = {}
        self._opening: set[str] = set()
        self._keeper: asyncio.Task[None] | None = None

    def know(self, addresses: Mapping[str, str]) -> None:
        """Learn the addresses of the nodes, and of `CLIENTS`; what is cut follows them."""
        for link in self._delays_ns:
            self._end_delay(link, deliver=True)
        self._addresses = dict(addresses)
        self._tell(*self._pids)
        self._begin_delays(*self._pids)

    def peers(self, node: str) -> dict[str, str]:
        """Return where ``node`` finds its peers: where they are."""
        return {peer: self._addresses[peer] for peer in self._nodes if peer != node}

    def client_address(self, node: str) -> tuple[str, int]:
        """Return where clients dial ``node``: itself. What was opened is open for whoever dials now."""
        self._settle()
        return self._addresses[node], self._client_port

    def attach(self, node: str, pid: int) -> None:
        """Take up a node's namespace, new or known, and make in it what is desired."""
        self._pids[node] = pid
        self._told[node] = frozenset()
        self._run_nft({node: packets.declare(self._run, ports=self._ports)})
        self._tell(node)
        self._begin_delays(node)

    def detach(self, node: str) -> None:
        """Forget a namespace that went with its node; what is desired stays desired."""
        pid = self._pids.pop(node, None)
        self._told.pop(node, None)
        if pid is not None:
            self._queues.leave(pid)

    def set(self, link: Link, state: LinkState) -> None:
        """Cut or delay a link at once, or have it opened in this turn of the loop."""
        match state:
            case Open():
                self._undelay(link, deliver=True)
                self._uncut(link)
            case Held():
                self._cut(link, Way.HOLD)
            case Silenced():
                self._cut(link, Way.HUSH)
            case Dropped():
                self._cut(link, Way.RESET)
                self._abort(_place(link), link)
            case Delayed(delay_ns):
                if (reason := queues.obstacle()) is not None:
                    raise Unsupported(reason)
                self._delays_ns[link] = delay_ns
                self._begin_delays(_place(link))
                self._uncut(link)

    def state(self, link: Link) -> LinkState:
        """Return what the kernel does to the link now; what is desired where the node is gone."""
        cuts = self._read(link)
        if cuts is None:
            late_ns, way = self._delays_ns.get(link), self._ways.get(link)
        else:
            pid, direction = self._pids[_place(link)], self._direction(link)
            late_ns = self._queues.delay_ns(pid, direction)
            way = min((cut.way for cut in cuts), default=None)
        return _as_state(way) if late_ns is None else Delayed(late_ns)

    def keep(self) -> None:
        """Begin to renew cuts before the kernel heals them."""
        self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        """Heal everything and leave no table behind. Idempotent."""
        if self._keeper is not None:
            self._keeper.cancel()
            self._keeper = None
        self._ways.clear()
        self._delays_ns.clear()
        self._queues.close()
        netns.nft(dict.fromkeys(self._pids.values(), packets.remove(self._run)))
        self._pids.clear()
        self._told.clear()

    def _cut(self, link: Link, way: Way) -> None:
        self._ways[link] = way
        self._tell(_place(link))
        self._undelay(link, deliver=False)

    def _uncut(self, link: Link) -> None:
        if self._ways.pop(link, None) is not None:
            if not self._opening:
                asyncio.get_running_loop().call_soon(self._settle)
            self._opening.add(_place(link))

    def _undelay(self, link: Link, *, deliver: bool) -> None:
        if self._delays_ns.pop(link, None) is not None:
            self._end_delay(link, deliver=deliver)

    def _begin_delays(self, *nodes: str) -> None:
        """Delay what is to be late at these nodes, where they are there."""
        for link, delay_ns in self._delays_ns.items():
            pid = self._pids.get(_place(link))
            if pid is not None and _place(link) in nodes:
                try:
                    self._queues.begin(pid, self._direction(link), delay_ns)
                except netns.NamespaceGoneError:
                    continue

    def _end_delay(self, link: Link, *, deliver: bool) -> None:
        pid = self._pids.get(_place(link))
        if pid is not None:
            self._queues.end(pid, self._direction(link), deliver=deliver)

    def _settle(self) -> None:
        """Open what is to be opened."""
        if self._opening:
            self._tell(*self._opening)

    def _tell(self, *nodes: str) -> None:
        """Make what is desired of these nodes' links, by the cheapest transaction there is."""
        scripts, before = {}, {}
        for node in nodes:
            told = before[node] = self._told.get(node, frozenset())
            wanted = self._wanted(node)
            if not wanted >= told:
                self._give_up(node, told)
                wanted = self._wanted(node)
            if node in self._told and wanted != told:
                added = wanted - told if wanted > told else wanted
                make = packets.add if wanted > told else packets.replace
                scripts[node] = make(self._run, added, timeout_s=KERNEL_HEALS_S)
                self._told[node] = wanted
        self._opening.difference_update(nodes)
        self._run_nft(scripts, before)

    def _wanted(self, node: str) -> frozenset[PacketCut]:
        ways = self._ways.items()
        return frozenset(cut for link, way in ways for cut in self._cuts(node, link, way))

    def _give_up(self, node: str, told: frozenset[PacketCut]) -> None:
        """Want no longer cut what the kernel was told to cut and does not: somebody else opened it."""
        if node not in self._pids or not told:
            return
        with contextlib.suppress(netns.NamespaceGoneError):
            gone = told - set(self._listed(node))
            for link, way in list(self._ways.items()):
                if gone.intersection(self._cuts(node, link, way)):
                    log.warning("event=cut-gone link=%s->%s", link.source, link.target)
                    del self._ways[link]

    def _run_nft(
        self, scripts: Mapping[str, str], before: Mapping[str, frozenset[PacketCut]] | None = None
    ) -> None:
        """Run a transaction in each node's namespace; one that is gone is forgotten.

        Where it is refused somebody may have flushed the table: it is made anew, with what was not in
        force ``before``.
        """
        try:
            gone = netns.nft({self._pids[node]: script for node, script in scripts.items()})
        except netns.NamespaceError:
            for node in scripts:
                self._give_up(node, (before or {}).get(node, frozenset()))
                self._told[node] = self._wanted(node)
            gone = netns.nft({self._pids[node]: self._whole(node) for node in scripts})
        for node in [node for node, pid in self._pids.items() if pid in gone]:
            self.detach(node)

    def _whole(self, node: str) -> str:
        """Return the transaction that makes a node's table, whatever there is of it."""
        cuts = self._told.get(node, frozenset())
        declared = packets.declare(self._run, ports=self._ports)
        return declared + packets.add(self._run, cuts, timeout_s=KERNEL_HEALS_S)

    def _read(self, link: Link) -> tuple[PacketCut, ...] | None:
        """Return what the kernel has of a link's cut, None where there is no namespace to ask."""
        self._settle()
        node = _place(link)
        if node not in self._pids:
            return None
        try:
            cuts = self._listed(node)
        except netns.NamespaceGoneError:
            return None
        return tuple(cut for cut in cuts if cut in self._cuts(node, link, cut.way))

    def _listed(self, node: str) -> tuple[PacketCut, ...]:
        listing = netns.nft_list(self._pids[node], packets.table(self._run))
        return () if listing is None else packets.read(listing)

    def _abort(self, node: str, link: Link) -> None:
        """Reset what runs over a dropped link now: the filter only answers what still comes."""
        pid = self._pids.get(node)
        if pid is None:
            return
        peer = self._addresses[link.source if node == link.target else link.target]
        ours = self._ports

        def wanted(connection: sockets.Connection) -> bool:
            return connection.peer == peer and (not ours or connection.local_port in ours)

        with contextlib.suppress(netns.NamespaceGoneError):
            netns.enter(pid, lambda: sockets.abort(wanted))

    def _cuts(self, node: str, link: Link, way: Way) -> list[PacketCut]:
        if _place(link) != node:
            return []
        hook, peer = self._direction(link)
        return [PacketCut(hook, way, peer)]

    def _direction(self, link: Link) -> Direction:
        """Return what a link is at the node where it is cut."""
        leaving = _place(link) == link.source
        other = link.target if leaving else link.source
        return (Hook.LEAVING if leaving else Hook.ARRIVING), self._addresses[other]

    def renew(self) -> None:
        """Have the kernel wait anew before it heals what is cut."""
        before = {node: cuts for node, cuts in self._told.items() if cuts}
        for node, cuts in before.items():
            self._give_up(node, cuts)
            if node in self._told:
                self._told[node] = self._wanted(node)
        kept = {node: self._told[node] for node in before if node in self._told}
        self._run_nft(
            {
                node: packets.replace(self._run, cuts, timeout_s=KERNEL_HEALS_S)
                for node, cuts in kept.items()
            },
            kept,
        )

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                self.renew()
            except netns.NamespaceError as error:
                log.warning("event=not-renewed error=%r", str(error))


def _place(link: Link) -> str:
    """Return the node in whose namespace a link is cut: the receiver's, or the only one there is."""
    return link.source if link.target == CLIENTS else link.target


def _as_state(way: Way | None) -> LinkState:
    match way:
        case None:
            return Open()
        case Way.RESET:
            return Dropped()
        case Way.HOLD:
            return Held()
        case Way.HUSH:
            return Silenced()
