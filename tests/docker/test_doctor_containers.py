import subprocess
from typing import Any

import pytest
from docker_proxy import Proxy

from harness.cli import container_probes
from harness.cli.probes import Standing, tried
from targets.cluster import TargetError
from targets.docker import netns, queues


@pytest.mark.usefixtures("engine")
def test_a_host_with_an_engine_and_root_can_do_everything() -> None:
    findings = {name: tried(name, probe) for name, probe in container_probes.PROBES.items()}
    assert [name for name, one in findings.items() if one.standing is Standing.BROKEN] == []
    assert findings["cuts"].standing is Standing.OK
    assert findings["full-disk"].standing is Standing.OK
    assert "ENOSPC" in findings["full-disk"].reason


@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.usefixtures("collected")
def test_without_an_engine_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/at/all.sock")
    found = tried("engine", container_probes.engine)
    assert found.standing is Standing.BROKEN
    assert found.remedy is not None


def test_a_packet_filter_that_refuses_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise TargetError("the packet filter refused: no such thing")

    monkeypatch.setattr(netns, "obstacle", lambda: None)
    monkeypatch.setattr(netns, "try_out", refuse)
    found = container_probes.cuts()
    assert found.standing is Standing.LIMITED
    assert "refused" in found.reason


@pytest.mark.parametrize("able", [True, False])
def test_what_delays_links_and_why_is_said(monkeypatch: pytest.MonkeyPatch, *, able: bool) -> None:
    monkeypatch.setattr(netns, "obstacle", lambda: None)
    monkeypatch.setattr(queues, "obstacle", lambda: None if able else "no such target")
    script = "true" if able else "echo Error: Specified qdisc kind is unknown. >&2; exit 2"
    real = subprocess.run

    def run(command: list[str], **options: Any) -> Any:
        assert command[0] == "unshare", "this host's own devices are left alone"
        return real(["sh", "-c", script], **options)

    monkeypatch.setattr(subprocess, "run", run)
    found = container_probes.delays()
    assert found.standing is (Standing.OK if able else Standing.LIMITED)
    assert "gates delay the links of clusters made here" in found.reason
    assert ("packet queues (NFQUEUE)" in found.reason) is able
    assert ("not delayed: no such target" in found.reason) is not able
    assert ("has no netem (Error: Specified qdisc kind is unknown.)" in found.reason) is not able
    assert (found.remedy is None) is able


def test_without_root_nothing_is_delayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netns, "obstacle", lambda: "it needs root")
    found = container_probes.delays()
    assert (found.standing, found.remedy) == (Standing.LIMITED, "run as root")
    assert found.reason.endswith("it needs root")


def test_where_nothing_can_be_mounted_no_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(container_probes, "Disk", refuse)
    found = container_probes.full_disk()
    assert found.standing is Standing.LIMITED
    assert "Operation not permitted" in found.reason


@pytest.mark.usefixtures("engine")
def test_an_engine_reached_by_tcp_may_be_far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy()
    monkeypatch.setenv("DOCKER_HOST", proxy.host)
    try:
        found = container_probes.engine()
    finally:
        proxy.stop()
    assert found.standing is Standing.LIMITED
    assert "at 127.0.0.1: if that is another machine" in found.reason
