"""Rates of a few tries: what is said of them, and when they are enough."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.campaign.rate import Known, Question, Rate


@pytest.mark.parametrize(
    ("shown", "tries", "low", "high"),
    [  # Wilson's interval, as tables have it
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (8, 10, 0.4902, 0.9433),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_interval_is_wilsons(shown: int, tries: int, low: float, high: float) -> None:
    assert Rate(shown, tries).interval == pytest.approx((low, high), abs=5e-5)


@given(tries=st.integers(1, 200), data=st.data())
def test_the_share_lies_in_its_interval(tries: int, data: st.DataObject) -> None:
    rate = Rate(data.draw(st.integers(0, tries)), tries)
    low, high = rate.interval
    assert rate.share is not None
    assert 0 <= low <= rate.share <= high <= 1


def test_a_rate_reads_as_a_sentence() -> None:
    assert str(Rate(9, 10)) == "9 of 10: 90 % (95 % interval 60 to 98 %)"
    assert str(Rate()) == "not tried"


@pytest.mark.parametrize(
    ("tries", "known"),
    [
        ("", Known.OPEN),
        ("++", Known.OPEN),
        ("+++", Known.USUALLY),
        ("-", Known.OPEN),
        ("--", Known.HARDLY),
        ("+-+", Known.OPEN),
        ("+-+++", Known.USUALLY),
        ("+-+-", Known.OPEN),
        ("+-+---", Known.HARDLY),
        ("-+-++-+-++", Known.HARDLY),  # undecided at the end: nothing is left out
    ],
)
def test_a_question_ends_as_soon_as_it_is_answered(tries: str, known: Known) -> None:
    rate = Rate()
    for each in tries:
        assert Question().answer(rate) is Known.OPEN
        rate = rate.and_then(showed=each == "+")
    assert Question().answer(rate) is known


@pytest.mark.parametrize(
    ("share", "right"), [(0.95, Known.USUALLY), (0.8, Known.USUALLY), (0.1, Known.HARDLY)]
)
def test_it_is_rarely_wrong_and_takes_few_tries(share: float, right: Known) -> None:
    rng = random.Random(f"rates/{share}")
    asked, wrong, total = 2000, 0, 0
    for _ in range(asked):
        rate = Rate()
        while (known := Question().answer(rate)) is Known.OPEN:
            rate = rate.and_then(showed=rng.random() < share)
        wrong += known is not right
        total += rate.tries
    assert wrong <= 0.12 * asked
    assert total <= 5 * asked
