import pytest

from targets.leasekv.config import ConfigError
from targets.leasekv.container import CLIENT_PORT, PEER_PORT, start_from


def test_the_environment_of_a_compose_service_makes_a_start_file() -> None:
    start = start_from({"LEASEKV_NODE": "n2", "LEASEKV_NODES": "n1,n2,n3"}, spawned_ns=7)
    assert start.config.node == "n2"
    assert start.config.nodes == ("n1", "n2", "n3")
    assert start.config.policy == "lease-renew"
    assert start.place.peers == {"n1": ("n1", PEER_PORT), "n3": ("n3", PEER_PORT)}
    assert start.place.client_address[1] == CLIENT_PORT
    assert start.place.spawned_ns == 7
    assert start.place.parent_pid is None


@pytest.mark.parametrize("said", [{}, {"LEASEKV_NODE": "n1"}, {"LEASEKV_NODES": "n1"}])
def test_what_is_missing_is_named(said: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="needs LEASEKV_NODE and LEASEKV_NODES"):
        start_from(said, spawned_ns=0)


def test_a_node_that_is_not_among_the_nodes_is_refused() -> None:
    with pytest.raises(ConfigError, match="'n9' is not among"):
        start_from({"LEASEKV_NODE": "n9", "LEASEKV_NODES": "n1,n2"}, spawned_ns=0)
