from pathlib import Path

import pytest
import yaml

from targets.docker.template import TemplateError, Volume, parse

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"

ONE = """
services:
  n1:
    image: lantern-leasekv
"""


def test_our_compose_file_defines_five_nodes_alike_but_for_their_names() -> None:
    services = parse(COMPOSE.read_text())
    assert list(services) == ["n1", "n2", "n3", "n4", "n5"]
    first = services["n1"]
    assert first.dockerfile == "targets/leasekv/Dockerfile"
    assert first.cap_drop == ("ALL",)
    assert first.read_only
    assert first.memory_bytes == 512 << 20
    assert first.volumes == (Volume("n1", "/var/lib/leasekv"),)
    for name, service in services.items():
        assert service.environment == {"LEASEKV_NODE": name, "LEASEKV_NODES": "n1,n2,n3,n4,n5"}
        assert service.log_options["max-size"] == "10m"


@pytest.mark.parametrize(
    ("said", "driver", "options"),
    [
        ("", "json-file", {"max-size": "10m", "max-file": "2"}),
        ("    logging: {options: {max-size: 1m}}", "json-file", {"max-size": "1m"}),
        ("    logging: {driver: local}", "local", {}),  # which has a limit of its own
    ],
)
def test_a_log_has_a_limit_whether_the_file_says_one_or_none(
    said: str, driver: str, options: dict[str, str]
) -> None:
    service = parse(ONE + said)["n1"]
    assert (service.log_driver, service.log_options) == (driver, options)


def test_no_service_asks_for_privileges() -> None:
    for service in yaml.safe_load(COMPOSE.read_text())["services"].values():
        assert not {"privileged", "cap_add", "network_mode", "pid", "userns_mode", "devices"} & set(
            service
        )


def test_ports_are_published_on_loopback_only() -> None:
    for service in yaml.safe_load(COMPOSE.read_text())["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


@pytest.mark.parametrize("key", ["privileged: true", "sysctls: {}", "network_mode: host", "user: '0'"])
def test_a_key_that_the_harness_would_drop_is_refused_by_name(key: str) -> None:
    with pytest.raises(TemplateError, match=f"service n1: '{key.split(':', maxsplit=1)[0]}'"):
        parse(ONE + f"    {key}\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("command: sleep 5", "shell"),
        ("logging:", "logging None is not understood"),
        ("logging: {driver: [1]}", "log_driver"),
        ("logging: {driver: json-file}", "logging has no max-size: one node could fill the disk"),
        ("logging: {options: {max-file: 3}}", "logging has no max-size"),
        ("environment: [A]", r"environment \['A'\] is not understood"),
        ("ports: 7000", "ports 7000 is not understood"),
        ("volumes:", "volumes None is not understood"),
        ("read_only: perhaps", "read_only"),
        ("pids_limit: many", "pids_limit"),
        ("build: .", "build must be"),
        ("build: {context: ., dockerfile: /etc/passwd}", "build must be"),
        ("volumes: ['/etc:/etc']", "no host path"),
        ("mem_limit: much", "size"),
    ],
)
def test_what_cannot_be_made_is_refused(line: str, said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        parse(ONE + f"    {line}\n")


@pytest.mark.parametrize("text", ["[", "services: {}", "x: 1", "services: {n1: 3}"])
def test_what_is_no_compose_file_is_refused(text: str) -> None:
    with pytest.raises(TemplateError):
        parse(text)
