"""etcd in containers: members with one and the same cluster configuration, asked on their JSON gateway.

Members know their peers by name, and what a name resolves to is the cluster's affair: the peer itself,
or a gate. etcd is a static Go program that reads the clock past any preload, so a clock fault would have
no effect and is refused by name rather than counted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from targets.ask_http import HttpAsker
from targets.clock import Reading
from targets.cluster import NodeStatus, Role
from targets.docker.system import Launch, PlainContainers
from targets.docker.template import Service, Volume
from targets.trueclock import raw_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from targets.cluster import Address

CLIENT_PORT: Final = 2379
PEER_PORT: Final = 2380
DATA: Final = "/var/lib/etcd"
ASK_S: Final = 0.25


class EtcdSystem(PlainContainers):
    """See `targets.docker.system.ContainerSystem`."""

    def __init__(self, nodes: Sequence[str], *, image: str, dockerfile: str | None) -> None:
        """Run an image; without a ``dockerfile`` to make it by it has to be there already."""
        self.services = {node: _service(node, image, dockerfile) for node in nodes}
        self.client_port = CLIENT_PORT
        self.peer_port = PEER_PORT
        self._names: dict[str, str] = {}
        self._askers = {node: HttpAsker() for node in nodes}

    def launch(self, node: str, address: str, peers: Mapping[str, str]) -> Launch:
        """Return a member's command line; every member has the same cluster in it."""
        cluster = ",".join(f"{name}=http://{name}:{PEER_PORT}" for name in self.services)
        command = (
            *("--name", node, "--data-dir", f"{DATA}/data"),
            *("--listen-client-urls", f"http://0.0.0.0:{CLIENT_PORT}"),
            *("--advertise-client-urls", f"http://{node}:{CLIENT_PORT}"),
            *("--listen-peer-urls", f"http://{address}:{PEER_PORT}"),
            *("--initial-advertise-peer-urls", f"http://{node}:{PEER_PORT}"),
            *("--initial-cluster", cluster, "--initial-cluster-state", "new"),
        )
        return Launch(command=command, resolves=dict(peers))

    async def status(self, node: str, address: Address) -> NodeStatus | None:
        """Ask a member what it takes itself for; its clocks are this host's."""
        ask = self._askers[node].ask
        said = await ask(address, "/v3/maintenance/status", within_s=ASK_S)
        if said is None:
            return None
        if "leader" in said and said["leader"] not in self._names:
            listed = await ask(address, "/v3/cluster/member/list", within_s=ASK_S) or {}
            self._names |= {one["ID"]: one["name"] for one in listed.get("members", ()) if "name" in one}
        leader = self._names.get(said.get("leader", "0"))
        return NodeStatus(
            node=node,
            role=Role.LEADER if leader == node else Role.FOLLOWER,
            term=int(said["raftTerm"]),
            leader=leader,
            commit_index=int(said.get("raftIndex", 0)),
            applied_index=int(said.get("raftAppliedIndex", 0)),
            lease_remaining_ns=None,
            own=Reading(time.monotonic_ns(), time.time_ns()),
            true_ns=raw_ns(),
        )

    def close(self) -> None:
        """Drop the connections."""
        for asker in self._askers.values():
            asker.drop()


def _service(node: str, image: str, dockerfile: str | None) -> Service:
    return Service(
        name=node,
        image=image,
        dockerfile=dockerfile,
        ports=(CLIENT_PORT,),
        volumes=(Volume("data", DATA),),
        cap_drop=("ALL",),
        security_opt=("no-new-privileges:true",),
    )
