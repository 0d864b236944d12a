"""What counts as exercised, and what only looks like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.events import EventType, ReadPath, Served
from checker.exercised import count
from checker.operations import Operation
from checker.timeline import MS, build

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.evidence import EvidenceLine

    Draw = Callable[[str], tuple[EvidenceLine, ...]]

ORIGIN = 5 * MS


def op(
    f: str, node: str, call_ms: int, *, back_ms: int | None = None, term: int | None = None,
    path: ReadPath | None = None, outcome: EventType = EventType.OK,
) -> Operation:  # fmt: skip
    """Times are true ones; histories count from the origin."""
    op.index += 1  # type: ignore[attr-defined]
    told = None if term is None and path is None else Served(path=path, term=term)
    return Operation(
        index=op.index,  # type: ignore[attr-defined]
        process=0, f=f, key="x", value=1, outcome=outcome, call_line=1, return_line=2, node=node,
        call_ns=call_ms * MS - ORIGIN, return_ns=(back_ms or call_ms + 1) * MS - ORIGIN, evidence=told,
    )  # fmt: skip


op.index = 0  # type: ignore[attr-defined]

DEPOSED = """
    n1 term=1 |BL . . . . . . . . . . T F .
    n2 term=1 |B . . TL . . . . . . . . . .
"""
"""n1 leads from 10 ms and learns of term 2 at 230 ms; n2 leads term 2 from 70 ms."""


def test_reads_count_by_the_path_that_served_them(draw: Draw) -> None:
    operations = [
        op("read", "n1", 1, path=ReadPath.LEASE),
        op("read", "n1", 2, path=ReadPath.LEASE),
        op("read", "n1", 3, path=ReadPath.READINDEX),
        op("read", "n1", 4, path=ReadPath.LOG),
        op("read", "n1", 5, path=ReadPath.FOLLOWER),
        op("read", "n1", 6, path=ReadPath.LEASE, outcome=EventType.FAIL),
        op("read", "n1", 7),
        op("write", "n1", 8, path=ReadPath.LEASE),
    ]
    assert count(operations, build(draw("n1 |B"))) == {
        "lease-reads": 2,
        "readindex-reads": 1,
        "log-reads": 1,
        "follower-reads": 1,
        "leader-changes": 0,
        "deposed-reads": 0,
        "clock-bend": 0,
        "grants": 0,
        "expiries": 0,
        "refused-tokens": 0,
    }


def deposed(draw: Draw, *operations: Operation) -> int:
    return count(operations, build(draw(DEPOSED), origin_ns=ORIGIN))["deposed-reads"]


def test_a_read_at_a_deposed_leader_counts_after_a_newer_acknowledgement(draw: Draw) -> None:
    acked = op("write", "n2", 90, back_ms=100, term=2)
    inside = [
        op("read", "n1", at, outcome=how) for at, how in ((101, EventType.OK), (229, EventType.FAIL))
    ]
    outside = [op("read", "n1", at) for at in (20, 99, 100, 231)]
    elsewhere = [op("read", "n2", 150), op("read", "n9", 150), op("write", "n1", 150, term=1)]
    assert deposed(draw, acked, *inside, *outside, *elsewhere) == 2


def test_without_a_newer_acknowledged_write_nobody_was_deposed(draw: Draw) -> None:
    read = op("read", "n1", 150)
    assert deposed(draw, read) == 0
    assert deposed(draw, read, op("write", "n2", 90, term=2, outcome=EventType.INFO)) == 0
    assert deposed(draw, read, op("write", "n1", 90, term=1)) == 0
    assert deposed(draw, read, op("read", "n2", 90, term=2)) == 0


def test_a_write_that_tells_no_term_has_that_of_whom_it_was_asked(draw: Draw) -> None:
    assert deposed(draw, op("read", "n1", 150), op("write", "n2", 90)) == 1
    assert deposed(draw, op("read", "n1", 150), op("write", "n2", 50)) == 0
    assert deposed(draw, op("read", "n1", 150), op("write", "n9", 90)) == 0


def test_a_leader_change_needs_another_leader(draw: Draw) -> None:
    assert count((), build(draw(DEPOSED)))["leader-changes"] == 1
    assert count((), build(draw("n1 term=1 |BLTFTL..BTL")))["leader-changes"] == 0


def test_a_bend_is_measured_and_noise_is_none(draw: Draw) -> None:
    def bend(options: str) -> int:
        return count((), build(draw(f"n1 {options} |B{'.' * 300}")))["clock-bend"]

    assert bend("rate=1.2") == 200_000
    assert bend("rate=0.8") == 200_000
    assert bend("wall=1000:-3000") == 3000
    assert bend("rate=1.005") == 0
    assert bend("wall=1000:20") == 0
