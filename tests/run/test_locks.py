"""Clients that write under locks: who does what next, and that it all follows from the seed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from checker.events import EventType
from harness.run.locks import Contender, Locks, Reader
from harness.run.slots import PROBED, RETRY_NS, Workload
from targets.clock import MS, SECOND
from targets.session import Completion

if TYPE_CHECKING:
    from targets.session import Call

NODES = ("n1", "n2", "n3")
TTL = SECOND
ONE = 3  # the first contender's slot


def locks(seed: int = 0, *, clients: int = 6) -> Locks:
    workload = Workload(nodes=NODES, clients=clients, keys=2, rate_per_s=0, ttl_ns=TTL)
    return Locks(workload, Random(seed))


class Told:
    """One slot, told how each of its operations ends."""

    def __init__(self, load: Locks, slot: int = ONE) -> None:
        self.load, self.slot, self.now_ns = load, slot, 0

    def ask(self) -> Call:
        self.now_ns = max(self.now_ns, self.load.due_ns(self.slot))
        return self.load.next(self.slot, self.now_ns)[0]

    def end(
        self, call: Call, kind: EventType = EventType.OK, value: Any = None, error: str | None = None
    ) -> None:
        self.now_ns += MS
        self.load.ended(self.slot, call, Completion(kind, value, error), self.now_ns)

    def until(self, f: str) -> Call:
        for _ in range(100):
            call = self.ask()
            if call.f == f:
                return call
            self.end(call, value=7 if call.f == "acquire" else call.value)
        pytest.fail(f"it never came to a {f}")


def test_a_reader_sits_at_every_node_and_the_others_contend() -> None:
    seats = locks().seats
    assert [seat.node for seat in seats if isinstance(seat, Reader)] == list(NODES)
    assert sum(isinstance(seat, Contender) for seat in seats) == 3


def test_what_is_written_shows_the_token_of_the_grant() -> None:
    one = Told(locks())
    acquire = one.ask()
    assert (acquire.f, acquire.value) == ("acquire", ["s1", TTL])
    one.end(acquire, value=41)
    write = one.ask()
    while write.f == "renew":
        one.end(write)
        write = one.ask()
    assert write.fenced
    assert (write.f, write.key, write.value[0]) == ("write", acquire.key, 41)


def test_a_lock_is_given_back_and_the_next_is_taken_by_another_session() -> None:
    one = Told(locks())
    release = one.until("release")
    assert release.value == "s1"
    one.end(release)
    assert one.ask().value == ["s2", TTL]


@pytest.mark.parametrize("error", ["FENCED", "EXPIRED", "NOT_HELD"])
def test_who_is_told_that_it_holds_nothing_starts_anew(error: str) -> None:
    one = Told(locks())
    one.end(one.until("write"), EventType.FAIL, error=error)
    assert one.ask().value == ["s2", TTL]


def test_an_unknown_end_is_left_with_its_session() -> None:
    one = Told(locks())
    one.end(one.until("write"), EventType.INFO, error="timed-out")
    assert one.ask().value == ["s2", TTL]


def test_a_refusal_that_says_nothing_of_the_lock_is_tried_again_elsewhere() -> None:
    load = locks()
    one = Told(load)
    write = one.until("write")
    before = load.seats[ONE].node
    one.end(write, EventType.FAIL, error="NOT_LEADER")
    assert load.due_ns(ONE) >= one.now_ns + RETRY_NS
    assert load.seats[ONE].node != before
    again = one.until("write")
    assert (again.key, again.value[0]) == (write.key, 7)


def test_a_stopped_client_goes_on_with_its_write_and_not_with_a_renewal() -> None:
    """Its own idea of the time stood still: nothing tells it to look first."""
    stopped = 0
    for seed in range(200):
        one = Told(locks(seed))
        acquire = one.ask()
        one.end(acquire, value=7)
        late_ns = one.load.due_ns(ONE) - one.now_ns
        if late_ns >= TTL:
            stopped += 1
            assert late_ns <= 3 * TTL
            assert one.ask().f == "write"
    assert 10 < stopped < 80


def test_probes_hold_no_lock_and_write_where_nobody_has_one() -> None:
    load = locks()
    written = load.probe("write", None)
    assert (written.key, written.fenced) == (PROBED, False)
    assert PROBED not in load.keys
    assert load.probe("read", None).key in load.keys


def test_equal_seeds_draw_the_same() -> None:
    def drawn() -> list[Call]:
        one = Told(locks(5))
        calls = []
        for _ in range(60):
            calls.append(one.ask())
            one.end(calls[-1], value=9 if calls[-1].f == "acquire" else None)
        return calls

    assert drawn() == drawn()
