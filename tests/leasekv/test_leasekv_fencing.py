"""The lock service and the storage: traces, properties against what is obviously right, clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim_lab import E, Lab

from checker.evidence import Fact, Granted, Refused, SessionBegan, SessionEnded, Stored
from targets.leasekv.config import Limits
from targets.leasekv.core.machine.machine import Machine
from targets.leasekv.fencing import RIGHT, Fencing
from targets.leasekv.messages import Code, Entry, Op, Response

TTL = 3 * E


@dataclass
class Bench:
    """A machine fed by hand; answers by the index of the entry that asked."""

    fencing: Fencing = RIGHT
    index: int = 0
    answers: dict[int, tuple[Code | None, Any]] = field(default_factory=dict)
    told: list[Fact] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.machine = Machine(self.fencing)

    def apply(self, op: Op, key: Any = None, value: Any = None) -> int:
        self.index += 1
        for index, code, said in self.machine.apply(Entry(self.index, 1, op, key, value)):
            assert index not in self.answers, "an entry is answered once"
            self.answers[index] = (code, said)
        self.told += self.machine.told()
        return self.index

    def acquire(self, session: str, name: str = "a") -> int:
        return self.apply(Op.ACQUIRE, name, [session, TTL])

    def release(self, session: str, name: str = "a") -> int:
        return self.apply(Op.RELEASE, name, session)

    def expire(self, session: str, renewed: int) -> int:
        return self.apply(Op.EXPIRE, None, [session, renewed])

    def store(self, token: Any, what: int = 0, key: str = "a") -> tuple[Code | None, Any]:
        return self.answers[self.apply(Op.STORE, key, [token, what])]

    def restart(self) -> None:
        """Become what a snapshot that went over the wire makes of a new machine."""
        kept = msgspec.msgpack.decode(msgspec.msgpack.encode(self.machine.snapshot()))
        self.machine = Machine(self.fencing)
        self.machine.restore(kept)

    def tokens(self, name: str = "a") -> list[int]:
        return [each.token for each in self.told if isinstance(each, Granted) and each.key == name]


def test_a_free_lock_is_granted_under_the_index_of_the_acquisition() -> None:
    bench = Bench()
    bench.acquire("s0", "other")
    assert bench.answers[bench.acquire("s1")] == (None, 2)


def test_who_waits_is_answered_by_the_release_and_under_its_index() -> None:
    bench = Bench()
    bench.acquire("s1")
    waits = bench.acquire("s2")
    assert waits not in bench.answers
    freed = bench.release("s1")
    assert bench.answers[freed] == (None, None)
    assert bench.answers[waits] == (None, freed)


def test_a_holder_that_asks_again_keeps_its_token() -> None:
    bench = Bench()
    first, again = bench.acquire("s1"), bench.acquire("s1")
    assert bench.answers[again] == bench.answers[first] == (None, first)


def test_a_session_that_was_renewed_does_not_expire() -> None:
    bench = Bench()
    asked = bench.acquire("s1")
    renewed = bench.apply(Op.RENEW, None, "s1")
    bench.expire("s1", asked)
    assert "s1" in bench.machine.locks.sessions
    bench.expire("s1", renewed)
    assert "s1" not in bench.machine.locks.sessions
    assert bench.answers[bench.apply(Op.RENEW, None, "s1")] == (Code.EXPIRED, None)
    assert bench.answers[bench.release("s1")] == (Code.NOT_HELD, None)


def test_an_expiry_passes_the_lock_on() -> None:
    bench = Bench()
    asked = bench.acquire("s1")
    waits = bench.acquire("s2")
    over = bench.expire("s1", asked)
    assert bench.answers[waits] == (None, over)


def test_who_expired_while_it_waited_gets_no_lock() -> None:
    bench = Bench()
    bench.acquire("s1")
    dead, alive = bench.acquire("s2"), bench.acquire("s3")
    bench.expire("s2", dead)
    freed = bench.release("s1")
    assert bench.answers[dead] == (Code.EXPIRED, None)
    assert bench.answers[alive] == (None, freed)


def test_a_session_ends_with_the_last_that_it_gives_back() -> None:
    bench = Bench()
    bench.acquire("s1", "a")
    bench.acquire("s1", "b")
    bench.release("s1", "a")
    assert not [each for each in bench.told if isinstance(each, SessionEnded)]
    ended = bench.release("s1", "b")
    assert SessionEnded(1, ended, "s1", expired=False) in bench.told


def test_a_lock_made_anew_goes_on_with_its_tokens() -> None:
    bench = Bench()
    for session in ("s1", "s2", "s3"):
        bench.acquire(session)
        bench.release(session)
        bench.restart()
    assert bench.tokens() == sorted(set(bench.tokens()))


def test_a_fence_takes_the_newest_holder_and_none_before_it() -> None:
    bench = Bench()
    assert bench.store(5) == (None, None)
    assert bench.store(5) == (None, None)
    assert bench.store(9) == (None, None)
    assert bench.store(8) == (Code.FENCED, 9)
    assert bench.store(3, key="another") == (None, None)
    assert bench.machine.read("a") == [9, 0]


@pytest.mark.parametrize("op", [Op.WRITE, Op.CAS, Op.DELETE])
def test_what_shows_no_token_is_refused_where_there_is_a_fence(op: Op) -> None:
    bench = Bench()
    bench.store(5)
    assert bench.answers[bench.apply(op, "a", [[5, 0], 1])] == (Code.FENCED, 5)
    assert bench.machine.read("a") == [5, 0]


def test_a_fence_outlives_a_snapshot() -> None:
    bench = Bench()
    bench.store(9)
    bench.restart()
    assert bench.store(8) == (Code.FENCED, 9)


def test_what_is_to_come_is_seen_as_it_will_be_applied_and_changes_nothing() -> None:
    bench = Bench()
    bench.store(5)
    coming = [Entry(2, 1, Op.STORE, "a", [9, 1]), Entry(3, 1, Op.STORE, "a", [8, 2])]
    assert bench.machine.foresee("a", coming) == [9, 1]
    assert bench.machine.read("a") == [5, 0]
    assert not [each for each in bench.machine.told() if isinstance(each, Stored)]


SESSIONS = st.sampled_from(["s1", "s2", "s3", "s4"])
NAMES = st.sampled_from(["a", "b"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 60) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
STEPS = st.one_of(
    st.tuples(st.just(Op.ACQUIRE), NAMES, SESSIONS.map(lambda each: [each, TTL])),
    st.tuples(st.just(Op.RELEASE), NAMES, SESSIONS),
    st.tuples(st.just(Op.RENEW), st.none(), SESSIONS),
    st.tuples(st.just(Op.EXPIRE), st.none(), st.tuples(SESSIONS, st.integers(0, 60)).map(list)),
    st.tuples(st.just(Op.STORE), NAMES, st.tuples(st.integers(0, 60), st.integers(-9, 9)).map(list)),
    st.tuples(st.sampled_from(list(Op)), st.none() | NAMES, JUNK),
    st.just((None, None, None)),  # a restart from a snapshot
)


@given(st.lists(STEPS, max_size=60))
def test_whatever_is_applied_tokens_grow_holders_live_and_fences_hold(
    steps: list[tuple[Op | None, Any, Any]],
) -> None:
    bench = Bench()
    for op, key, value in steps:
        if op is None:
            bench.restart()
        else:
            bench.apply(op, key, value)
    alive: set[str] = set()
    newest: dict[Any, int] = {}
    granted: dict[Any, int] = {}
    for fact in bench.told:
        match fact:
            case SessionBegan(session=session):
                assert session not in alive
                alive.add(session)
            case SessionEnded(session=session):
                alive.remove(session)
            case Granted(key=key, session=session, token=token):
                assert session in alive
                assert token > granted.get(key, 0)
                granted[key] = token
            case Stored(key=key, token=token):
                assert token >= newest.get(key, 0)
                newest[key] = token
            case Refused(code=code):
                assert code == Code.FENCED
            case other:
                pytest.fail(f"a machine tells nothing like {other}")


# Clusters.


def ask(lab: Lab, node: str, op: Op, key: Any, value: Any) -> Response:
    return lab.wait(lab.ask(node, op, key, value=value))


def test_a_leader_ends_a_session_that_nobody_renews() -> None:
    lab = Lab()
    leader = lab.elect()
    assert ask(lab, leader, Op.ACQUIRE, "a", ["s1", TTL]).code is None
    waits = lab.ask(leader, Op.ACQUIRE, "a", value=["s2", 100 * TTL])
    lab.run_for(TTL // 2)
    assert waits.response is None
    granted = lab.wait(waits)
    assert granted.code is None
    assert ask(lab, leader, Op.RENEW, None, "s1").code is Code.EXPIRED


def test_a_session_that_is_renewed_lives_on_under_a_new_leader() -> None:
    lab = Lab()
    old = lab.elect()
    token = ask(lab, old, Op.ACQUIRE, "a", ["s1", TTL]).value
    lab.isolate(old)
    lab.run_until(lambda: lab.leader() not in {None, old})
    new = lab.leader()
    assert new is not None
    lab.run_for(E // 2)
    assert ask(lab, new, Op.RENEW, None, "s1").code is None
    assert ask(lab, new, Op.ACQUIRE, "a", ["s1", TTL]).value == token


def test_a_fence_outlives_compaction_and_the_restart_of_everybody() -> None:
    lab = Lab(limits=Limits(compact_entries=5, trail_entries=2))
    leader = lab.elect()
    assert ask(lab, leader, Op.STORE, "a", [9, 1]).code is None
    for value in range(20):
        assert ask(lab, leader, Op.WRITE, "b", value).code is None
    for name in lab.nodes:
        lab.cluster.kill(name)
    for name in lab.nodes:
        lab.cluster.restart(name)
    leader = lab.elect()
    refused = ask(lab, leader, Op.STORE, "a", [8, 2])
    assert (refused.code, refused.value) == (Code.FENCED, 9)
