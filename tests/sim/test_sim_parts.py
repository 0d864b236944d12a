"""The simulator's parts, one by one."""

from __future__ import annotations

import random
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.run import means_heap
from nemesis.faults import Campaign, Cut, Flight, Standing
from targets.clock import FOREVER_NS, MS
from targets.cluster import CLIENTS, Delayed, Dropped, Held, Link, Open, Unsupported
from targets.leasekv.config import NodeConfig
from targets.leasekv.messages import Entry, Op
from targets.leasekv.ports import HardState, Persist
from targets.leasekv.wal import Damaged
from targets.sim.clock import NodeClock
from targets.sim.cluster import SimCluster
from targets.sim.disk import SimDisk
from targets.sim.draws import Draws
from targets.sim.guard import Escaped, sealed
from targets.sim.heap import Heap
from targets.sim.network import SimNetwork
from targets.sim.weather import STILL, Weather

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets.leasekv.ports import Input, Ready
    from targets.sim.node import SimNode


def test_what_is_due_at_one_instant_happens_in_the_order_it_was_asked_for() -> None:
    heap, seen = Heap(), list[str]()
    for name in ("b", "a", "c"):
        heap.at(5, seen.append, name)
    heap.at(4, seen.append, "first")
    heap.run_until(5)
    assert seen == ["first", "b", "a", "c"]


@given(st.integers(-900_000, 900_000), st.integers(0, 10**12), st.integers(0, 10**12))
def test_a_clock_shows_a_reading_no_earlier_than_it_says_it_will(
    rate_ppm: int, true_ns: int, ahead_ns: int
) -> None:
    clock = NodeClock(17, 1_000)
    clock.bend(true_ns, rate_ppm=rate_ppm, wall_offset_ns=0)
    wanted_ns = clock.read(true_ns).mono_ns + ahead_ns
    at_ns = clock.true_at(wanted_ns)
    assert clock.read(at_ns).mono_ns >= wanted_ns
    assert at_ns == true_ns or clock.read(at_ns - 1).mono_ns < wanted_ns


def test_a_bend_is_continuous_in_monotonic_time_and_a_step_in_wall_time() -> None:
    clock = NodeClock(100, 1_000_000)
    before = clock.read(50)
    clock.bend(50, rate_ppm=200_000, wall_offset_ns=-7_000)
    after = clock.read(50)
    assert (after.mono_ns, after.wall_ns - before.wall_ns) == (before.mono_ns, -7_000)
    clock.bend(50, rate_ppm=0, wall_offset_ns=0)
    assert clock.read(50) == before


def test_a_clock_that_stands_still_never_gets_anywhere() -> None:
    clock = NodeClock(0, 0)
    clock.bend(10, rate_ppm=-1_000_000, wall_offset_ns=0)
    assert clock.read(10**15) == clock.read(10)
    assert clock.true_at(11) == FOREVER_NS


def test_boot_time_and_wall_time_go_on_while_a_suspended_host_counts_no_monotonic_time() -> None:
    clock = NodeClock(100, 1_000)
    clock.suspend(50)
    asleep = clock.read(80)
    assert (asleep.mono_ns, asleep.wall_ns, asleep.boot_ns) == (150, 1_080, 180)
    assert clock.true_at(151) == FOREVER_NS
    clock.wake(90)
    awake = clock.read(100)
    assert (awake.mono_ns, awake.wall_ns, awake.boot_ns) == (160, 1_100, 200)
    assert clock.true_at(161) == 101


def record(seq: int, index: int) -> Persist:
    return Persist(seq, HardState(seq, None), (Entry(index, 1, Op.WRITE, "k", index),))


def test_a_kill_loses_what_was_not_synced_and_nothing_else() -> None:
    disk = SimDisk(STILL, Draws(0, "disk"))
    assert disk.start_boot().boot == 1
    assert disk.take(record(1, 1))
    disk.start_sync(0)
    assert not disk.take(record(2, 2))
    assert disk.end_sync() == 1
    disk.start_sync(0)
    disk.take(record(3, 3))
    disk.crash()
    restored = disk.start_boot()
    assert (restored.boot, restored.hard.term, len(restored.entries)) == (2, 1, 1)


def killed_while_syncing(seed: int) -> SimDisk:
    """Return a disk with one synced record, killed while it syncs a second and a third waits."""
    disk = SimDisk(Weather(torn=True), Draws(seed, "disk"))
    disk.start_boot()
    for seq in (1, 2):
        disk.take(record(seq, seq))
        disk.start_sync(0)
        if seq == 1:
            disk.end_sync()
    disk.take(record(3, 3))
    disk.crash()
    return disk


def test_a_torn_write_leaves_nothing_the_beginning_or_all_of_its_record() -> None:
    bare = len(killed_while_syncing_nothing().at_rest)
    lengths, left = set(), set()
    for seed in range(60):
        disk = killed_while_syncing(seed)
        lengths.add(len(disk.at_rest) - bare)
        restored = disk.start_boot()
        assert [entry.index for entry in restored.entries] == list(range(1, restored.hard.term + 1))
        left.add(restored.hard.term)
    assert left == {1, 2}  # a beginning is cut off, what only waited is lost
    assert len(lengths) > 10


def killed_while_syncing_nothing() -> SimDisk:
    """Return a disk with one synced record, killed while it is idle."""
    disk = SimDisk(STILL, Draws(0, "disk"))
    disk.start_boot()
    disk.take(record(1, 1))
    disk.start_sync(0)
    disk.end_sync()
    disk.crash()
    return disk


def test_a_damaged_middle_is_refused_as_by_a_node() -> None:
    disk = killed_while_syncing_nothing()
    disk.at_rest[-1] ^= 1
    with pytest.raises(Damaged, match="does not match its checksum"):
        disk.start_boot()


def test_a_slow_sync_is_slow_from_the_next_one_on_and_a_stuck_one_ends_with_the_fault() -> None:
    disk = SimDisk(STILL, Draws(0, "disk"))
    disk.take(record(1, 1))
    disk.start_sync(0)
    quick_ns = disk.ends_ns
    disk.set_delay(10**9)
    assert disk.ends_ns == quick_ns
    disk.end_sync()
    disk.take(record(2, 2))
    disk.start_sync(0)
    assert disk.ends_ns == quick_ns + 10**9
    disk.set_delay(0)
    assert disk.ends_ns == quick_ns


def sent(
    weather: Weather, act: Callable[[SimNetwork, Heap], None], *, source: str = "n1", many: int = 50
) -> list[int]:
    """Send numbers over one link, a millisecond apart; ``act`` happens in the middle."""
    heap, heard = Heap(), list[int]()
    network = SimNetwork(heap, ("n1", "n2"), weather, seed=1)
    for number in range(many):
        heap.at(number * MS, network.send, source, "n2", heard.append, number)
    heap.at(many * MS // 2, act, network, heap)
    heap.run_until(10**12)
    return heard


def test_a_quiet_link_delivers_everything_in_order() -> None:
    wild = Weather(latency_max_ns=20 * MS, tail_ppm=100_000, tail_max_ns=50 * MS)
    assert sent(wild, lambda *_: None) == list(range(50))


def test_a_held_link_delivers_everything_in_order_once_it_opens() -> None:
    def hold(network: SimNetwork, heap: Heap) -> None:
        network.set(Link("n1", "n2"), Held())
        heap.at(10**9, network.set, Link("n1", "n2"), Open())

    assert sent(STILL, hold) == list(range(50))


def test_a_dropped_link_loses_what_is_on_its_way_as_well() -> None:
    def drop(network: SimNetwork, heap: Heap) -> None:
        network.set(Link("n1", "n2"), Dropped())
        heap.at(heap.now_ns + 10 * MS, network.set, Link("n1", "n2"), Open())

    heard = sent(Weather(latency_min_ns=3 * MS, latency_max_ns=3 * MS), drop)
    assert heard == [*range(22), *range(36, 50)]


def test_a_delay_keeps_the_order_when_it_ends() -> None:
    def slow(network: SimNetwork, heap: Heap) -> None:
        network.set(Link("n1", "n2"), Delayed(20 * MS))
        heap.at(heap.now_ns + 3 * MS, network.set, Link("n1", "n2"), Open())

    assert sent(STILL, slow) == list(range(50))


def test_the_weather_loses_doubles_and_reorders_messages_of_nodes_but_not_of_clients() -> None:
    wild = Weather(latency_max_ns=5 * MS, loss_ppm=100_000, duplicate_ppm=200_000, reorder_ppm=200_000)
    heard = sent(wild, lambda *_: None, many=300)
    assert set(heard) < set(range(300))
    assert len(heard) > len(set(heard))
    assert heard != sorted(heard)
    assert sent(wild, lambda *_: None, source=CLIENTS, many=300) == list(range(300))


def test_a_generator_is_named_and_draws_the_closed_interval() -> None:
    one, other = Draws(1, "a"), Draws(1, "b")
    drawn = [one.between(3, 5) for _ in range(200)]
    assert set(drawn) == {3, 4, 5}
    assert drawn != [other.between(3, 5) for _ in range(200)]
    again = Draws(1, "a")
    assert drawn == [again.between(3, 5) for _ in range(200)]


def test_every_step_is_shown_with_the_core_as_it_left_it() -> None:
    shown: list[tuple[str, str, int]] = []

    def watch(node: SimNode, event: Input, _ready: Ready) -> None:
        assert node.core is not None
        shown.append((node.name, type(event).__name__, node.core.wake_ns))

    heap = Heap()
    cluster = SimCluster(NodeConfig(node="n1", nodes=("n1",)), STILL, heap, watch=watch)
    cluster.start()
    heap.run_until(3 * 10**9)
    assert {name for name, _, _ in shown} == {"n1"}
    assert {event for _, event, _ in shown} == {"TimerDue", "Persisted"}
    core = cluster.look("n1").core
    assert core is not None
    assert shown[-1][2] == core.wake_ns
    cluster.kill("n1")
    assert cluster.look("n1").core is None


def test_what_cannot_be_done_to_a_node_is_skipped_and_a_link_of_the_clients_is_cut() -> None:
    cluster = SimCluster(NodeConfig(node="n1", nodes=("n1",)), STILL, Heap())
    cluster.start()
    cluster.pause("n1")
    with pytest.raises(Unsupported, match="n1 is stopped"):
        cluster.campaign("n1")
    outcome = means_heap.inject(cluster, Campaign(("n1",)))
    assert (outcome.standing, outcome.reason) == (Standing.SKIPPED, "n1 is stopped")
    clients = Link(CLIENTS, "n1")
    assert means_heap.inject(cluster, Cut((clients,), Flight.DROP)).standing is Standing.INSTALLED
    assert cluster.link_state(clients) == Dropped()
    cluster.kill("n1")
    with pytest.raises(Unsupported, match="n1 is gone"):
        cluster.pause("n1")


@pytest.mark.parametrize(
    "escape",
    [
        lambda: time.sleep(0),
        lambda: time.monotonic(),  # noqa: PLW0108 - looked up when it is called
        lambda: random.random(),  # noqa: PLW0108
        lambda: Path("/etc/hostname").read_text(),
        lambda: socket.socket().close(),
        lambda: threading.Thread(target=print).start(),
    ],
    ids=["sleep", "clock", "random", "file", "socket", "thread"],
)
def test_the_real_world_is_kept_out(escape: Callable[[], object]) -> None:
    with pytest.raises(Escaped, match="inside the simulator"), sealed():
        escape()
    assert time.monotonic() > 0  # and let in again
