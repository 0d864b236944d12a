"""Own clocks laid on the true one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from checker.evidence import Booted, EvidenceLine, Refused
from checker.timeline import Leadership, build

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[str], tuple[EvidenceLine, ...]]


def lines(*stamps: tuple[int, int, int]) -> list[EvidenceLine]:
    """``(own, before, after)`` a line, the first one a boot."""
    return [
        EvidenceLine("n1", own, own, (before, after), Booted(1, 1) if place == 0 else Refused(1, "X"))
        for place, (own, before, after) in enumerate(stamps)
    ]


def test_an_own_reading_is_reached_between_the_stamps_around_it() -> None:
    timeline = build(lines((70, 1, 2), (80, 5, 6), (95, 20, 21)))["n1"]
    boot = timeline.boots[0]
    assert timeline.reached(90, boot) == (5, 21)
    assert timeline.reached(80, boot) == (1, 6)
    assert timeline.reached(60, boot) == (None, 2)
    assert timeline.reached(96, boot) == (20, None)


def test_a_clock_that_steps_back_reached_a_reading_the_first_time() -> None:
    timeline = build(lines((70, 1, 2), (80, 5, 6), (76, 7, 8), (90, 20, 21)))["n1"]
    assert timeline.reached(78, timeline.boots[0]) == (1, 6)
    assert timeline.reached(85, timeline.boots[0]) == (7, 21)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30
    ),
    st.data(),
)
def test_the_true_instant_of_an_own_reading_is_never_missed(
    steps: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """The clock is drawn: between two lines it counts on by any amount, bent or standing still."""
    true = own = 0
    first_at: dict[int, int] = {}
    stamped: list[tuple[int, int, int]] = []
    for length, before, after in steps:
        for _ in range(length):
            true += 1
            ticks = data.draw(st.sampled_from((0, 1, 1, 2)))
            for reading in range(own + 1, own + ticks + 1):
                first_at[reading] = true
            own += ticks
        stamped.append((own, true - before, true + after))
    timeline = build(lines(*stamped))["n1"]
    for reading, instant in first_at.items():
        earliest, latest = timeline.reached(reading, timeline.boots[0])
        assert earliest is None or earliest <= instant
        assert latest is None or instant <= latest


def test_boots_and_leaderships_are_told_apart(draw: Draw) -> None:
    timeline = build(draw("n1 term=1 |BL..TFTL..B.L"))["n1"]
    assert [(boot.first, boot.last) for boot in timeline.boots] == [(0, 9), (10, 12)]
    assert timeline.leaderships == (
        Leadership("n1", 1, 1, 4),
        Leadership("n1", 3, 7, 9),
        Leadership("n1", 3, 12, 12),
    )
    assert timeline.boot_at(9) is timeline.boots[0]
    assert timeline.boot_at(10) is timeline.boots[1]


def test_times_are_told_from_the_origin(draw: Draw) -> None:
    assert build(draw("n1 |B"), origin_ns=2_000_000_000).at(3_500_000_000) == "1.500 s"
