"""The workload: who reads where, what is written, when keys are left."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from checker.events import EventType, ReadPath
from harness.plan.plan import seats_min
from harness.run.final import TRIES, FinalReads
from harness.run.generator import Generator, Kind, seating
from harness.run.keys import UNKNOWN_MAX
from harness.run.slots import RETRY_NS, Workload
from targets.clock import MS, SECOND
from targets.session import Completion

if TYPE_CHECKING:
    from targets.session import Call

NODES = ("n1", "n2", "n3")
OK = EventType.OK


def make(seed: int = 1, **knobs: Any) -> Generator:
    workload = Workload(nodes=NODES, **{"clients": 9, "keys": 2, "rate_per_s": 0, **knobs})
    return Generator(workload, random.Random(seed))


def drawn(generator: Generator, rounds: int) -> list[tuple[int, Call, str]]:
    """Let every seat draw, every operation succeed."""
    calls = []
    for turn in range(rounds):
        for slot in range(len(generator.seats)):
            call, node = generator.next(slot, turn)
            calls.append((slot, call, node))
            generator.ended(slot, call, Completion(OK, call.value), turn)
    return calls


@pytest.mark.parametrize("seed", range(20))
def test_every_node_has_a_reader_that_never_leaves_it(seed: int) -> None:
    generator = make(seed)
    pinned = [slot for slot, seat in enumerate(generator.seats) if seat.kind is Kind.READER]
    assert {generator.seats[slot].node for slot in pinned} == set(NODES)
    for slot in pinned:
        home = generator.seats[slot].node
        call, _ = generator.next(slot, 0)
        generator.ended(slot, call, Completion(EventType.FAIL, error="NOT_LEADER", leader="n2"), 0)
        assert generator.next(slot, RETRY_NS)[1] == home


@pytest.mark.parametrize("clients", range(6, 20))
@pytest.mark.parametrize("seed", range(5))
def test_however_seats_are_dealt_somebody_writes_roams_and_compares(clients: int, seed: int) -> None:
    workload = Workload(nodes=NODES, clients=clients, keys=1, rate_per_s=0)
    dealt = seating(workload, random.Random(seed))
    assert len(dealt) == clients
    assert {kind for kind, _ in dealt} == set(Kind)
    assert seats_min(len(NODES)) == 6


def test_the_density_of_pinned_readers_is_drawn() -> None:
    workload = Workload(nodes=NODES, clients=12, keys=1, rate_per_s=0)
    pinned = {
        sum(kind is Kind.READER for kind, _ in seating(workload, random.Random(seed)))
        for seed in range(20)
    }
    assert pinned == {3, 6}


def test_a_writer_goes_where_the_hint_sends_it_and_else_to_the_next_node() -> None:
    generator = make()
    slot = next(slot for slot, seat in enumerate(generator.seats) if seat.kind is Kind.WRITER)
    call, first = generator.next(slot, 0)
    other = next(node for node in NODES if node != first)
    generator.ended(
        slot, call, Completion(EventType.FAIL, error=f"NOT_LEADER: {other}", leader=other), 0
    )
    call, node = generator.next(slot, 0)
    assert node == other
    generator.ended(slot, call, Completion(EventType.INFO, error="timed-out"), 0)
    assert generator.next(slot, 0)[1] == NODES[(NODES.index(other) + 1) % 3]


def test_a_mismatch_sends_nobody_away() -> None:
    generator = make()
    slot = next(slot for slot, seat in enumerate(generator.seats) if seat.kind is Kind.CAS)
    call, node = generator.next(slot, 0)
    generator.ended(slot, call, Completion(EventType.FAIL, call.value, "MISMATCH"), 5)
    assert generator.due_ns(slot) == 5
    assert generator.next(slot, 5)[1] == node


def test_written_values_are_unique_over_the_whole_run() -> None:
    generator = make(key_operations_max=20)
    calls = [call for _, call, _ in drawn(generator, 200)]
    written = [call.value for call in calls if call.f == "write"]
    written += [call.value[1] for call in calls if call.f == "cas"]
    written.append(generator.probe("write", None).value)
    assert len(set(written)) == len(written) > 100


def test_a_cas_starts_from_the_value_last_seen() -> None:
    generator = make(keys=1)
    slot = next(slot for slot, seat in enumerate(generator.seats) if seat.kind is Kind.CAS)
    call, _ = generator.next(slot, 0)
    assert call.value[0] is None
    generator.ended(slot, call, Completion(OK, call.value), 0)
    assert generator.next(slot, 0)[0].value[0] == call.value[1]


def test_keys_are_left_after_their_operations() -> None:
    generator = make(key_operations_max=50)
    used = Counter(call.key for _, call, _ in drawn(generator, 200))
    assert max(used.values()) == 50
    assert sum(count == 50 for count in used.values()) > 20
    assert len(generator.keys) == len(set(generator.keys))


def test_a_key_is_left_when_too_many_of_its_writes_are_unknown() -> None:
    generator = make(keys=1)
    slot = next(slot for slot, seat in enumerate(generator.seats) if seat.kind is Kind.WRITER)
    for _ in range(UNKNOWN_MAX):
        call, _ = generator.next(slot, 0)
        assert call.key == "k0"
        generator.ended(slot, call, Completion(EventType.INFO, call.value, "timed-out"), 0)
    assert generator.next(slot, 0)[0].key == "k1"


def test_one_read_in_so_many_is_forced_through_readindex() -> None:
    reads = [call for _, call, _ in drawn(make(readindex_one_in=10), 1000) if call.f == "read"]
    forced = sum(call.path is ReadPath.READINDEX for call in reads)
    assert 0.07 < forced / len(reads) < 0.13
    assert all(call.path is None for _, call, _ in drawn(make(), 50))


def test_the_rate_is_kept_and_a_stall_is_not_made_up_for() -> None:
    generator = make(rate_per_s=90)  # nine seats: ten a second each
    generator.start(0)
    times: list[int] = []
    now_ns = 0
    while now_ns < 20 * SECOND:
        now_ns = generator.due_ns(0)
        if len(times) == 50:
            now_ns += 5 * SECOND
        call, _ = generator.next(0, now_ns)
        generator.ended(0, call, Completion(OK, None), now_ns)
        times.append(now_ns)
    gaps = [late - early for early, late in pairwise(times)]
    assert min(gaps) >= 50 * MS
    assert 140 <= len(times) <= 160


def test_a_probe_reads_the_key_last_written() -> None:
    generator = make(keys=5)
    calls = [call for _, call, _ in drawn(generator, 3) if call.f != "read"]
    assert generator.probe("read", None).key == calls[-1].key
    assert generator.probe("read", "k3").key == "k3"


def test_equal_seeds_draw_equally() -> None:
    assert drawn(make(3), 50) == drawn(make(3), 50)
    assert drawn(make(3), 50) != drawn(make(4), 50)


def test_a_final_read_that_fails_is_tried_by_readindex_and_given_up_in_the_end() -> None:
    reads = FinalReads(["k0"], ["n1", "n2"], 0)
    paths, now_ns = [], 0
    while len(reads):
        due_ns = reads.due_ns
        assert due_ns is not None
        now_ns = max(now_ns, due_ns)
        read = reads.take(now_ns)
        assert read is not None
        if read.node == "n1":
            paths.append(read.call.path)
            reads.failed(read, now_ns)
        else:
            reads.heard(read.node)
    assert paths == [None, ReadPath.READINDEX] * (TRIES // 2)
    assert reads.given_up == 1
    assert reads.silent == {"n1"}


def test_a_key_is_unseen_until_some_node_told_its_value() -> None:
    reads = FinalReads(["k0", "k1"], ["n1", "n2"], 0)
    assert list(reads.unseen) == ["k0", "k1"]
    reads.read("k0")
    reads.read("k0")
    assert list(reads.unseen) == ["k1"]
