"""What `holdings` calls certain, against a world in which every instant is known.

A node is played instant by instant: its clock runs at a bent rate or is set back, its lease is renewed
(also silently), lost, revoked, its flag is cached or its belief open-ended. It writes down only some of
this, with loose stamps. The dumb oracle looks at every instant; where something changes, both what was
and what comes of it hold at that instant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from checker.evidence import (
    Booted,
    Checked,
    EvidenceLine,
    Fact,
    OwnClock,
    Refused,
    Revoked,
    RoleChanged,
    TermChanged,
)
from checker.oracles.holdings import holdings
from checker.oracles.lease_overlap import overlaps
from checker.timeline import build

TICKS = 160
KINDS = ("fresh", "cached", "open")


@dataclass
class Node:
    """``until`` is on ``clock``; ``sample`` is the reading a cached answer rests on, with its boot."""

    name: str
    kind: str
    clock: OwnClock
    rng: Random
    sparse: int
    loose: int
    rate: float = 1.0
    mono: float = 0.0
    wall: float = 500.0
    term: int = 1
    until: int | None = None
    sample: int = 0
    flag: bool = False
    lines: list[EvidenceLine] = field(default_factory=list)
    served: list[bool] = field(default_factory=list)
    left_serving: list[bool] = field(default_factory=list)
    spoken_for: int = 0

    def shows(self) -> int:
        return int(self.mono if self.clock is OwnClock.MONOTONIC else self.wall)

    def would_serve(self) -> bool:
        match self.kind:
            case "open":
                return self.flag
            case "cached":
                return self.until is not None and self.sample < self.until
            case _:
                return self.until is not None and self.shows() < self.until

    def write(self, at: int, fact: Fact) -> None:
        """A line's stamps are as loose as possible without meeting those of other instants."""
        before = max(at - self.rng.randint(0, self.loose), self.spoken_for)
        self.spoken_for = at
        stamps = (before, at)
        self.lines.append(EvidenceLine(self.name, int(self.mono), int(self.wall), stamps, fact))

    def play(self, at: int) -> None:
        rng = self.rng
        until_now = self.would_serve()
        if self.kind == "cached" and rng.random() < 0.2:
            self.sample = self.shows()
        match rng.randrange(self.sparse * 6):
            case 0:
                # A lease never shrinks without a word.
                self.until, self.flag = max(self.until or 0, self.shows() + rng.randint(5, 40)), True
            case 1 if self.until is not None:
                self.until += rng.randint(0, 20)
            case 2:
                self.until, self.flag = None, False
                self.write(at, Revoked(self.term, "term"))
            case 3:
                self.until, self.flag = None, False
                self.term += 1
                self.write(at, TermChanged(self.term))
                self.write(at, RoleChanged(self.term, rng.choice(("leader", "follower"))))
            case 4 if rng.random() < 0.3:
                self.until, self.flag, self.mono = None, False, float(rng.randint(0, 50))
                self.sample = self.shows()
                self.write(at, Booted(2, self.term))
            case 5 if self.clock is OwnClock.WALL:
                self.wall -= rng.randint(1, 100)
            case 6 | 7 | 8 | 9:
                self.check(at)
            case 10 | 11:
                self.write(at, Refused(self.term, "MISMATCH"))
            case _:
                pass
        self.left_serving.append(self.would_serve())
        self.served.append(until_now or self.would_serve())

    def check(self, at: int) -> None:
        granted = self.would_serve()
        read = self.sample if self.kind == "cached" else self.shows()
        until = None if self.kind == "open" else (self.until if self.until is not None else read)
        self.write(at, Checked(self.term, granted, self.clock, read, until))

    def run_clocks(self) -> None:
        if self.rng.random() < 0.05:
            self.rate = self.rng.choice((0.0, 0.5, 1.0, 1.5, 2.0))
        self.mono += self.rate
        self.wall += self.rate


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    rng = Random(draw(st.integers(0, 1 << 32)))
    played = [
        Node(
            name,
            kind=(kind := draw(st.sampled_from(KINDS))),
            clock=OwnClock.MONOTONIC if kind == "cached" else draw(st.sampled_from(OwnClock)),
            rng=rng,
            sparse=draw(st.integers(2, 6)),
            loose=draw(st.integers(0, 3)),
        )
        for name in ("n1", "n2")
    ]
    for at in range(TICKS):
        for node in played:
            node.play(at)
            node.run_clocks()
    return played


@settings(max_examples=300, deadline=None)
@given(nodes())
def test_a_node_would_serve_at_every_instant_that_is_called_certain(played: list[Node]) -> None:
    for node in played:
        for timeline in build(node.lines).values():
            for hold in holdings(timeline):
                instants = node.served[hold.start_ns : hold.end_ns + 1]
                assert (any if hold.point else all)(instants), hold


@settings(max_examples=300, deadline=None)
@given(nodes())
def test_an_overlap_is_one_at_some_instant(played: list[Node]) -> None:
    timelines = build([line for node in played for line in node.lines])
    one, other = (holdings(timelines[n]) if n in timelines else [] for n in ("n1", "n2"))
    both = [a and b for a, b in zip(played[0].served, played[1].served, strict=True)]
    for overlap in overlaps(one, other):
        assert any(both[overlap.start_ns : overlap.end_ns + 1]), overlap
    brute = {(id(a), id(b)) for a in one for b in other if list(overlaps([a], [b]))}
    assert brute == {_pair(overlap.first, overlap.second) for overlap in overlaps(one, other)}


def _pair(first: object, second: object) -> tuple[int, int]:
    node = getattr(first, "node")  # noqa: B009
    return (id(first), id(second)) if node == "n1" else (id(second), id(first))


@settings(deadline=None)
@given(st.integers(0, 1 << 32))
def test_nothing_is_missed_where_every_instant_is_written_down(seed: int) -> None:
    rng = Random(seed)
    node = Node("n1", kind="fresh", clock=OwnClock.MONOTONIC, rng=rng, sparse=3, loose=0)
    for at in range(TICKS):
        node.play(at)
        node.check(at)
        node.run_clocks()
    held = {
        instant
        for hold in holdings(build(node.lines)["n1"])
        for instant in range(hold.start_ns, hold.end_ns + 1)
    }
    assert held >= {instant for instant in range(TICKS) if node.left_serving[instant]}


def cached(at: int, own: int, read: int, until: int) -> EvidenceLine:
    check = Checked(1, True, OwnClock.MONOTONIC, read, until)
    return EvidenceLine("n1", own, own, (at, at), check)


def test_a_tick_at_the_last_answers_own_reading_may_have_come_after_it() -> None:
    """In between, a tick at 73 may have found the lease over at 72, until it was renewed to 114."""
    after = holdings(build([cached(125, 73, 59, 72), cached(131, 76, 73, 114)])["n1"])
    assert [(hold.start_ns, hold.end_ns) for hold in after] == [(125, 125), (131, 131)]
    before = holdings(build([cached(125, 73, 59, 72), cached(131, 76, 72, 114)])["n1"])
    assert [(hold.start_ns, hold.end_ns) for hold in before] == [(125, 131)]
    same = holdings(build([cached(125, 73, 73, 80), cached(131, 90, 73, 80)])["n1"])
    assert [(hold.start_ns, hold.end_ns) for hold in same] == [(125, 131)]
