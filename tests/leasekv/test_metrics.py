"""A node's metrics as Prometheus gets them: their names, their text, and who is answered."""

from __future__ import annotations

import asyncio
import math
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from targets.cluster import Role, Roster
from targets.leasekv import metrics_http
from targets.leasekv.buckets import Buckets
from targets.leasekv.core import CoreFigures, CoreStatus
from targets.leasekv.messages import Code
from targets.leasekv.metrics import FAILURES, REVOCATIONS, Sample, exposition
from targets.leasekv.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

STATUS = CoreStatus(Role.LEADER, 7, "n1", 500, 490, 250_000_000, 1, Roster(("n1", "n2", "n3")), None)


def text(status: CoreStatus = STATUS, **figures: object) -> str:
    said: dict[str, object] = {
        "promise_remaining_ns": 0,
        "uncertain_ns": None,
        "rejected": {},
        "waited_s": Buckets(),
    }
    tally = Tally("n1", kind="renew")
    tally.revocations.update({"stall": 2, "wall-backward": 1, "boottime-gap": 1, "term": 1})
    return exposition(
        Sample(tally, status, CoreFigures(**{**said, **figures}), rate_ratio=1.01, policy="lease-renew")  # type: ignore[arg-type]
    )


def values(told: str) -> dict[str, float]:
    return {
        sample.name + "".join(f"{{{word}}}" for word in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(told)
        for sample in family.samples
    }


def test_gauges_are_in_base_units_and_read_when_asked() -> None:
    told = values(text(promise_remaining_ns=400_000_000, uncertain_ns=5_000_000))
    assert told["leasekv_lease_remaining_seconds"] == 0.25
    assert (told["leasekv_lease_valid"], told["leasekv_is_leader"], told["leasekv_term"]) == (1, 1, 7)
    assert told["leasekv_apply_lag_entries"] == 10
    assert told["leasekv_promise_remaining_seconds"] == 0.4
    assert told["leasekv_clock_uncertainty_seconds"] == 0.005
    assert told["leasekv_clock_rate_ratio"] == 1.01


def test_without_a_lease_it_shows_none_and_unsynced_no_uncertainty() -> None:
    status = CoreStatus(Role.FOLLOWER, 7, "n2", 5, 5, None, 1, Roster(("n1",)), None)
    told = values(text(status))
    assert (told["leasekv_lease_remaining_seconds"], told["leasekv_lease_valid"]) == (0, 0)
    assert not any(name.startswith("leasekv_clock_uncertainty") for name in told)


def test_reasons_have_the_words_of_the_field() -> None:
    told = values(text(rejected={Code.NO_QUORUM: 3, Code.NOT_LEADER: 1}))
    name = "leasekv_lease_revocations_total"
    assert {
        word: told[f"{name}{{{word}}}"] for word in ("pause", "clock", "term_change", "expired")
    } == {
        "pause": 2,
        "clock": 2,
        "term_change": 1,
        "expired": 0,
    }
    assert told["leasekv_reads_total{rejected}"] == 4
    assert told["leasekv_read_rejections_total{no_quorum}"] == 3


def test_every_reason_that_a_node_may_state_has_its_word() -> None:
    core = Path(metrics_http.__file__).parent / "core"
    sources = "".join(file.read_text() for file in core.glob("*.py"))
    stated = set(re.findall(r'reason="([^"]+)"|Revoked\(state.term, "([^"]+)"\)', sources))
    reasons = {one or other for one, other in stated}
    reasons |= set(re.findall(r'Anomaly\(\s*"([^"]+)"', (core.parent / "rules.py").read_text()))
    assert len(reasons) > 6
    assert reasons <= set(REVOCATIONS)
    assert set(REVOCATIONS) <= set(FAILURES)


def test_histograms_are_cumulative_and_end_in_infinity() -> None:
    waited = Buckets((0.1, 1.0))
    for value in (0.05, 0.5, 9.0):
        waited.add(value)
    families = {family.name: family for family in text_string_to_metric_families(text(waited_s=waited))}
    samples = families["leasekv_apply_wait_seconds"].samples
    buckets = [(float(sample.labels["le"]), sample.value) for sample in samples if "le" in sample.labels]
    assert buckets == [(0.1, 1), (1.0, 2), (math.inf, 3)]
    assert all(family.documentation for family in families.values())


# Who is answered.


def asked(*requests: bytes, answer: Callable[[], str] = lambda: "leasekv_term 1\n") -> list[bytes]:
    """Return what the endpoint answers to each request, to its end."""

    async def work() -> list[bytes]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = probe.getsockname()
        server = await metrics_http.serve(address, answer, name="n1")
        told = []
        for request in requests:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request)
            try:
                told.append(await asyncio.wait_for(reader.read(), 10))
            except ConnectionResetError:
                told.append(b"")
            writer.transport.abort()
        server.close()
        await server.wait_closed()
        return told

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("request_line", "host", "code"),
    [
        ("GET /metrics", "127.0.0.1:7201", 200),
        ("GET /metrics", "LOCALHOST", 200),
        ("GET /metrics", "[::1]:9", 200),
        ("GET /metrics", "[::1]", 200),
        ("GET /metrics?x=1", "n1:7002", 200),
        ("GET /metrics", "evil.example:7201", 421),
        ("GET /metrics", "", 421),
        ("GET /", "n1", 404),
        ("GET /metrics/../x", "n1", 404),
        ("POST /metrics", "n1", 405),
        ("DELETE /metrics", "n1", 405),
    ],
)
def test_one_path_is_answered_to_whoever_knows_the_name(request_line: str, host: str, code: int) -> None:
    (told,) = asked(f"{request_line} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert told.startswith(f"HTTP/1.1 {code} ".encode())
    assert (b"leasekv_term 1\n" in told) is (code == 200)
    assert b"connection: close" in told


def test_garbage_and_endless_headers_are_hung_up_on() -> None:
    assert asked(b"\x16\x03\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000) == [b"", b""]


def test_who_says_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_http, "IDLE_S", 0.05)
    assert asked(b"GET /met") == [b""]
