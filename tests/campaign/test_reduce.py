"""The smallest part of a list that still does it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.campaign.reduce import reduced


@given(st.sets(st.integers(0, 40)), st.integers(1, 41))
def test_exactly_what_is_needed_is_left(needed: set[int], many: int) -> None:
    needed = {each for each in needed if each < many}
    items = tuple(range(many))
    assert reduced(items, lambda part: needed <= set(part)) == tuple(sorted(needed))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_no_single_one_of_the_rest_can_be_left_out(items: list[int]) -> None:
    total = sum(items)

    def still(part: tuple[int, ...]) -> bool:
        return sum(part) * 2 >= total > 0

    if not still(tuple(items)):
        return
    rest = reduced(tuple(items), still)
    assert still(rest)
    assert not any(still(rest[:place] + rest[place + 1 :]) for place in range(len(rest)))
