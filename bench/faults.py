"""How soon a fault takes hold after it was asked for, on containers or on processes: medians of many.

    python bench/faults.py [--on docker|local] [--times 21]

* cut: from the call to the last segment that still arrived, on a stream of one every 0.2 ms between two
  nodes' namespaces (on processes: until the call came back, for the gate is this very process);
* pause: from the call until every thread of the node is stopped;
* clock: from the call until the node itself, asked, shows what its clock was told to do;
* step: how far the node's monotonic clock jumps as its rate changes, against the true clock. The
  two readings lie a millisecond apart, so a change of rate in between explains some microseconds.

Exits with 1 if a median is over its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from targets.cluster import ClockBend, ClockMode, Held, Link, Open
from targets.docker import netns
from targets.docker.cluster import DockerCluster
from targets.leasekv import processes
from targets.leasekv.config import NodeConfig
from targets.leasekv.containers import leasekv_cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from targets.cluster import Cluster, NodeStatus

NODES = ("n1", "n2", "n3")
RATES_PPM = (200_000, -200_000, 100_000, 0)
LIMITS_MS = {"cut": 20.0, "pause": 2.0, "clock": 20.0, "step": 10.0}
PORT = 7999
GAP_S = 0.0002


class Stream:
    """Segments from one node's namespace to another's, each stamped as it arrives."""

    def __init__(self, cluster: DockerCluster, source: str, sink: str) -> None:
        pids = {node: cluster.container(node).pid or 0 for node in (source, sink)}
        address = cluster.links.peers(source)[sink]
        self._listener = netns.enter(pids[sink], lambda: socket.create_server((address, PORT)))
        self._sender = netns.enter(pids[source], lambda: socket.create_connection((address, PORT), 2))
        self._receiver, _ = self._listener.accept()
        self._sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.last_s = 0.0
        self._live = True
        self._threads = [threading.Thread(target=work) for work in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _send(self) -> None:
        while self._live:
            self._sender.send(b".")
            time.sleep(GAP_S)

    def _receive(self) -> None:
        while self._receiver.recv(65536):
            self.last_s = time.perf_counter()

    def close(self) -> None:
        """End it."""
        self._live = False
        self._threads[0].join()
        self._sender.close()
        self._threads[1].join()
        for end in (self._receiver, self._listener):
            end.close()


async def cuts(cluster: Cluster, times: int) -> list[float]:
    """Return how long cuts took, in milliseconds."""
    link, took = Link("n1", "n2"), []
    stream = Stream(cluster, "n1", "n2") if isinstance(cluster, DockerCluster) else None
    for _ in range(times):
        await asyncio.sleep(0.3)
        begun = time.perf_counter()
        cluster.set_link(link, Held())
        ended = time.perf_counter()
        await asyncio.sleep(0.1)
        took.append(((max(ended, stream.last_s) if stream else ended) - begun) * 1e3)
        cluster.set_link(link, Open())
        cluster.link_state(link)
    await asyncio.sleep(1.5)
    if stream is not None:
        stream.close()
    return took


async def pauses(cluster: Cluster, times: int) -> list[float]:
    """Return how long pauses took, in milliseconds."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        await cluster.pause("n2")
        took.append((time.perf_counter() - begun) * 1e3)
        await cluster.resume("n2")
        await asyncio.sleep(0.05)
    return took


async def bends(cluster: Cluster, times: int) -> tuple[list[float], list[float]]:
    """Return how long changes of rate took, and how far they stepped, in milliseconds."""
    took, steps = [], []
    for number in range(times):
        before = await status_of(cluster)
        begun = time.perf_counter()
        await cluster.bend_clock("n3", ClockBend(rate_ppm=RATES_PPM[number % len(RATES_PPM)]))
        took.append((time.perf_counter() - begun) * 1e3)
        after = await status_of(cluster)
        own_ns, true_ns = after.own.mono_ns - before.own.mono_ns, after.true_ns - before.true_ns
        steps.append(abs(own_ns - true_ns) / 1e6)
        await asyncio.sleep(0.1)
    return took, steps


async def status_of(cluster: Cluster) -> NodeStatus:
    """Ask the node whose clock is bent."""
    status = await cluster.status("n3")
    assert status is not None, "n3 does not answer"
    return status


async def measure(on: str, times: int, run_dir: Path) -> dict[str, list[float]]:
    """Return the milliseconds of every fault."""
    config = NodeConfig(node="n1", nodes=NODES)
    make = leasekv_cluster if on == "docker" else processes.leasekv_cluster
    cluster: Cluster = make(config, run_dir, clock=ClockMode.RATE)
    await cluster.start()
    try:
        cut = await cuts(cluster, times)
        pause = await pauses(cluster, times)
        clock, step = await bends(cluster, times)
    finally:
        await cluster.stop()
    return {"cut": cut, "pause": pause, "clock": clock, "step": step}


def over(took_ms: Mapping[str, Sequence[float]]) -> set[str]:
    """Return the faults whose median is over its limit."""
    return {name for name, took in took_ms.items() if statistics.median(took) > LIMITS_MS[name]}


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="Exits with 1 if a median is over its limit.",
    )
    parser.add_argument("--on", choices=["docker", "local"], default="docker")
    parser.add_argument("--times", type=int, default=21)
    arguments = parser.parse_args()
    if arguments.times < 1:
        parser.error(f"--times {arguments.times}: there is no median of none")
    with tempfile.TemporaryDirectory() as place:
        found = asyncio.run(measure(arguments.on, arguments.times, Path(place) / "bench"))
    late = over(found)
    print(f"{'fault':<8}{'median':>10}{'worst':>10}{'limit':>10}   ms, {arguments.times} times")
    for name, took_ms in found.items():
        median, mark = statistics.median(took_ms), "   OVER" if name in late else ""
        print(f"{name:<8}{median:>10.3f}{max(took_ms):>10.3f}{LIMITS_MS[name]:>10.1f}{mark}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
