"""What happened on one node, laid on the true clock.

Every line carries a reading of the node's own clocks and two true stamps around it. That is all that
is known: the reading was taken somewhere in the closed interval ``[before, after]``. Own clocks may
run at a bent rate, step (the wall clock does, and a faked monotonic clock by a few milliseconds), stand
still, and start anew with every boot. So nothing is interpolated; what is said of the instant at which
a clock showed something is an interval that certainly holds it:

    own      70        80           95
    true   [1  2]    [5  6]      [20  21]

The clock reached 90 no earlier than 5 (it still showed 80 at some instant from 5 on) and no later
than 21. A stop of the process is just a long gap between lines.

A boot ends with its last line: a killed node says nothing more, so nothing is claimed after it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeVar

from checker.evidence import Booted, EvidenceLine, OwnClock, RoleChanged, TermChanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.evidence import Fact

MS: Final = 1_000_000
SECOND: Final = 1_000_000_000
LEADER: Final = "leader"

FactT = TypeVar("FactT", bound="Fact")


@dataclass(frozen=True, slots=True)
class Boot:
    """One life of a node: the places of its first and last line, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Leadership:
    """A stretch of lines in which a node took itself for the leader of ``term``.

    ``first`` is the line that says so and ``last`` the last line at which it still did: the line that
    ends it, or the last one before a kill.
    """

    node: str
    term: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """One node's lines in the order they were written, and what can be looked up in them."""

    node: str
    lines: tuple[EvidenceLine, ...]
    boots: tuple[Boot, ...]
    leaderships: tuple[Leadership, ...]
    before_ns: list[int] = field(repr=False)
    after_ns: list[int] = field(repr=False)
    places: Mapping[type, list[int]] = field(repr=False)

    def facts(self, kind: type[FactT]) -> Iterator[tuple[int, FactT]]:
        """Yield the facts of one kind, each with the place of its line."""
        for place in self.places.get(kind, ()):
            what = self.lines[place].what
            assert isinstance(what, kind)
            yield place, what

    def turns(self, *kinds: type[Fact]) -> list[int]:
        """Return the places of the lines of these kinds, in order."""
        return sorted(place for kind in kinds for place in self.places.get(kind, ()))

    def showing(self, place: int, clock: OwnClock) -> int:
        """Return what ``clock`` showed at a line; of an interval clock, the true time it surrounds."""
        line = self.lines[place]
        match clock:
            case OwnClock.MONOTONIC:
                return line.own_ns
            case OwnClock.WALL:
                return line.wall_ns
            case OwnClock.INTERVAL:
                return line.true_ns[0]

    def boot_at(self, place: int) -> Boot:
        """Return the boot that a line belongs to."""
        index = bisect_right(self.boots, place, key=lambda boot: boot.first) - 1
        return self.boots[index]

    def reached(self, own_ns: int, boot: Boot) -> tuple[int | None, int | None]:
        """Return no-earlier-than and no-later-than for the monotonic clock first reaching ``own_ns``.

        Either is None where the boot's lines do not reach that far.
        """
        lines = self.lines[boot.first : boot.last + 1]
        highest = list(accumulate((line.own_ns for line in lines), max))
        place = boot.first + bisect_left(highest, own_ns)
        return (
            self.before_ns[place - 1] if place > boot.first else None,
            self.after_ns[place] if place <= boot.last else None,
        )


@dataclass(frozen=True, slots=True)
class Timelines(Mapping[str, Timeline]):
    """Every node's timeline by name, in the order of names. ``origin_ns`` is the history's."""

    nodes: Mapping[str, Timeline]
    origin_ns: int = 0

    def __getitem__(self, node: str) -> Timeline:
        return self.nodes[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def at(self, true_ns: int) -> str:
        """Return an instant as people read it: seconds from the run's origin."""
        return f"{(true_ns - self.origin_ns) / SECOND:.3f} s"


def ms(length_ns: int) -> str:
    """Return a length as people read it: milliseconds."""
    return f"{length_ns / MS:.3f} ms"


def build(lines: Iterable[EvidenceLine], *, origin_ns: int = 0) -> Timelines:
    """Return the timelines of all nodes; lines of one node must come in the order of its file."""
    by_node: defaultdict[str, list[EvidenceLine]] = defaultdict(list)
    for line in lines:
        by_node[line.node].append(line)
    return Timelines(
        {node: _timeline(node, tuple(by_node[node])) for node in sorted(by_node)}, origin_ns
    )


def _timeline(node: str, lines: tuple[EvidenceLine, ...]) -> Timeline:
    places: defaultdict[type, list[int]] = defaultdict(list)
    for place, line in enumerate(lines):
        places[type(line.what)].append(place)
    starts = sorted({0, *places.get(Booted, ())})
    boots = tuple(
        Boot(first, end - 1) for first, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    )
    return Timeline(
        node=node,
        lines=lines,
        boots=boots,
        leaderships=tuple(_leaderships(node, lines, places)),
        before_ns=[line.true_ns[0] for line in lines],
        after_ns=[line.true_ns[1] for line in lines],
        places=dict(places),
    )


def _leaderships(
    node: str, lines: tuple[EvidenceLine, ...], places: Mapping[type, list[int]]
) -> Iterator[Leadership]:
    since: tuple[int, int] | None = None
    turns = sorted(
        place for kind in (Booted, RoleChanged, TermChanged) for place in places.get(kind, ())
    )
    for place in turns:
        what = lines[place].what
        leads = isinstance(what, RoleChanged) and what.role == LEADER
        if since is not None:
            first, term = since
            same = isinstance(what, RoleChanged | TermChanged) and what.term == term
            if same and (leads or isinstance(what, TermChanged)):
                continue
            yield Leadership(node, term, first, place - isinstance(what, Booted))
            since = None
        if isinstance(what, RoleChanged) and leads:
            since = (place, what.term)
    if since is not None:
        yield Leadership(node, since[1], since[0], len(lines) - 1)
