"""Evidence drawn in plain text: a row a node, a column an instant.

    # What is claimed.
    column=10 bracket=1
    n1 term=1 lease=60          |B L c  c  .      x
    n2 term=1 lease=60 rate=0.8 |B        T L c .
    ----
    holds n1/1 41..69
    ...

Column k is true time k * column, in ms; a line is stamped ``[t, t + bracket]`` and its own clocks show
rate * t. A row's options: ``term`` it starts in, ``lease`` in ms of its own clock, ``rate``, ``wall``
(``80:-3000`` steps the wall clock by -3000 ms at 80 ms), ``for`` (whom ``v`` votes for), ``bracket``.
Characters:

    B boot    L F leader, follower    T a term higher     . some line that says nothing of a lease
    c granted check    w the same on the wall clock    o open-ended    x refused    r revoked
    ~ a tick (no line)    k granted check judged at the last tick
    z slept for 10 ms    m other members    s round sent    1-9 that node acknowledged the last round
    p promise to n1    v V vote, pre-vote granted    y vote granted for a transfer token
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checker.evidence import (
    Booted,
    Checked,
    Configured,
    EvidenceLine,
    Fact,
    OwnClock,
    Promised,
    Refused,
    Revoked,
    RoleChanged,
    RoundAcked,
    RoundSent,
    Slept,
    TermChanged,
    Voted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MS = 1_000_000


@dataclass(frozen=True)
class Drawing:
    """A drawing read: its lines, and what the file expects of them."""

    name: str
    lines: tuple[EvidenceLine, ...]
    expected: tuple[str, ...]


def read_drawing(path: Path) -> Drawing:
    """Read one file."""
    drawn, expected = path.read_text().split("\n----\n")
    rows = [row for row in drawn.splitlines() if row and not row.startswith("#")]
    scale = _options(rows[0].split())
    lines = tuple(line for row in rows[1:] for line in _Row(row, scale).lines())
    return Drawing(path.stem, lines, tuple(line for line in expected.splitlines() if line))


def _options(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


class _Row:
    def __init__(self, row: str, scale: dict[str, str]) -> None:
        head, self.cells = row.split("|", 1)
        self.node, *words = head.split()
        options = _options(words)
        self.column_ns = int(scale["column"]) * MS
        self.bracket_ns = int(options.get("bracket", scale.get("bracket", "0"))) * MS
        self.term = int(options.get("term", "1"))
        self.lease_ns = int(options.get("lease", "0")) * MS
        self.rate = float(options.get("rate", "1"))
        self.votes_for = options.get("for", self.node)
        at, _, by = options.get("wall", "0:0").partition(":")
        self.step = (int(at) * MS, int(by) * MS)
        self.round = 0
        self.tick_ns = 0

    def lines(self) -> list[EvidenceLine]:
        found = []
        for column, cell in enumerate(self.cells):
            true_ns = column * self.column_ns
            own_ns = round(true_ns * self.rate)
            wall_ns = own_ns + (self.step[1] if true_ns >= self.step[0] else 0)
            if cell == "~":
                self.tick_ns = own_ns
            elif cell != " ":
                fact = self._fact(cell, own_ns, wall_ns)
                stamps = (true_ns, true_ns + self.bracket_ns)
                found.append(EvidenceLine(self.node, own_ns, wall_ns, stamps, fact))
        return found

    def _fact(self, cell: str, own_ns: int, wall_ns: int) -> Fact:  # noqa: C901, PLR0911, PLR0912
        granted = (self.term, True)
        match cell:
            case "B":
                return Booted(1, self.term)
            case "L" | "F":
                return RoleChanged(self.term, "leader" if cell == "L" else "follower")
            case "T":
                self.term += 1
                return TermChanged(self.term)
            case ".":
                return Refused(self.term, "MISMATCH")
            case "c":
                return Checked(*granted, OwnClock.MONOTONIC, own_ns, own_ns + self.lease_ns)
            case "w":
                return Checked(*granted, OwnClock.WALL, wall_ns, wall_ns + self.lease_ns)
            case "o":
                return Checked(*granted, OwnClock.MONOTONIC, own_ns, None)
            case "k":
                return Checked(*granted, OwnClock.MONOTONIC, self.tick_ns, self.tick_ns + self.lease_ns)
            case "x":
                return Checked(self.term, False, OwnClock.MONOTONIC, own_ns, own_ns)
            case "z":
                return Slept(self.term, 10 * MS)
            case "r":
                return Revoked(self.term, "term")
            case "m":
                return Configured(self.term, 2, ("n1", "n2"), ("n2", "n3"), ())
            case "s":
                self.round += 1
                return RoundSent(self.term, self.round)
            case "p":
                return Promised(self.term, "n1", 1, own_ns + self.lease_ns)
            case "v" | "V" | "y":
                kind = {"pre": cell == "V", "token": cell == "y"}
                return Voted(self.term, self.votes_for, granted=True, reason=None, **kind)
            case _ if cell.isdigit():
                return RoundAcked(self.term, self.round, f"n{cell}")
        raise AssertionError(cell)


@pytest.fixture
def draw() -> Callable[[str], tuple[EvidenceLine, ...]]:
    """Read the rows of a drawing that stands in a test: 10 ms a column, stamps exact."""

    def read(rows: str) -> tuple[EvidenceLine, ...]:
        kept = [row.strip() for row in rows.splitlines() if row.strip()]
        return tuple(line for row in kept for line in _Row(row, {"column": "10"}).lines())

    return read


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give every drawing to every test that asks for one."""
    if "drawing" in metafunc.fixturenames:
        paths = sorted((Path(__file__).parent / "testdata").glob("*.txt"))
        metafunc.parametrize(
            "drawing", [read_drawing(path) for path in paths], ids=[path.stem for path in paths]
        )
