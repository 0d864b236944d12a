"""A cut that traffic can go round is not made, and says why. No engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from targets.attach.client import load
from targets.attach.cluster import AttachedCluster
from targets.cluster import Primitive
from targets.docker.container import Container

EXAMPLE = Path(__file__).parents[2] / "docs/examples/etcd_client.py"


def cluster_in(tmp_path: Path, *networks: dict[str, Any]) -> AttachedCluster:
    """Return a cluster of containers that are in these networks, as the engine describes them."""
    cluster = AttachedCluster(load(EXAMPLE), "linearizable", tmp_path / "r", count=len(networks))
    for node, said in zip(cluster.nodes, networks, strict=True):
        container: Any = Container(None, node, "id")  # type: ignore[arg-type]
        container._seen = {"State": {"Running": False}, "NetworkSettings": {"Networks": said}}
        cluster._containers[node] = container
    return cluster


def at(address: str, six: str = "") -> dict[str, str]:
    return {"IPAddress": address, "Gateway": "10.0.0.1", "GlobalIPv6Address": six}


@pytest.mark.parametrize("primitive", [Primitive.LINKS, Primitive.CLIENT_LINKS, Primitive.SILENCE])
def test_links_over_two_networks_or_over_ipv6_are_not_said_to_be_cut(
    tmp_path: Path, primitive: Primitive
) -> None:
    two = cluster_in(
        tmp_path,
        {"back": at("10.0.0.2"), "front": at("10.0.1.2")},
        {"front": at("10.0.1.3"), "back": at("10.0.0.3")},
    )
    assert two.supports(primitive) == (
        "the containers share the networks back, front, and a cut is of one"
    )
    six = cluster_in(tmp_path, {"back": at("10.0.0.2")}, {"back": at("10.0.0.3", "fd00::3")})
    assert six.supports(primitive) == "the containers have IPv6 addresses, and a cut is of IPv4"


def test_a_network_of_one_container_alone_is_no_way_round(tmp_path: Path) -> None:
    cluster = cluster_in(
        tmp_path, {"back": at("10.0.0.2"), "web": at("10.0.1.2")}, {"back": at("10.0.0.3")}
    )
    assert cluster._way_round() is None
    assert cluster.supports(Primitive.PAUSE) is None
