"""How stale a read is said to be: never more than it was, whatever else in the history is false.

The histories are made from an order of writes that is known, with an instant for each. Reads are put in
that tell of any value, gone, standing or to come, so that several of a history are false at once.
"""

from __future__ import annotations

import itertools
import random
from typing import Any, NamedTuple

import pytest

from checker import CasRegister, History, Staleness, check
from checker.conventions import Ties
from checker.explain.staleness import stalest
from checker.pairing import Line, pair
from checker.shares import Shares
from checker.testing import drawn

MS = 1_000_000


class Change(NamedTuple):
    """What really happened: from ``at`` on the register held ``value``."""

    at: int
    value: int | None


class Made(NamedTuple):
    """A history and the order that it was made from."""

    history: History
    order: list[Change]


class Draft:
    """A history being made up: operations with times, no two of them at one stamp."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Line]] = []
        self._processes = itertools.count()
        self._stamps = set[int]()

    def stamp(self, near: int) -> int:
        """Return a stamp of its own at or right after ``near``."""
        stamp = next(at for at in itertools.count(near * 1000) if at not in self._stamps)
        self._stamps.add(stamp)
        return stamp

    def add(self, f: str, value: Any, call: int, back: int | None) -> None:
        """Add an operation; nobody saw the end of one without ``back``."""
        process = next(self._processes)
        asked = None if f == "read" else value
        for kind, told, near in (("invoke", asked, call), ("ok", value, back)):
            if near is not None:
                at = self.stamp(near)
                line = Line(process=process, type=kind, f=f, key="x", value=told, time_ns=at)
                self.events.append((at, line))

    def history(self) -> History:
        """Return it."""
        events = sorted(self.events, key=lambda event: event[0])
        return pair([(n, line) for n, (_, line) in enumerate(events, 1)], name="made")


def made(dice: random.Random) -> Made:
    """Return a history of one register whose changes are known, with reads of any value."""
    draft = Draft()
    order = [Change(-(10**9), None)]
    values: list[int | None] = [None]
    wide = dice.choice((2, 10, 40))
    unknown, swapped, lost = (dice.choice((0.0, 0.2, 0.5)) for _ in range(3))
    at = 50

    def early() -> int:
        return at - dice.randint(1, wide)

    def late() -> int | None:
        return None if dice.random() < unknown else at + dice.randint(1, wide)

    for value in range(1, dice.randint(2, 8)):
        at += dice.randint(1, 12)
        if dice.random() < lost:  # nobody knows, and it never happened
            never, old = 100 + value, dice.choice(values)
            f, told = dice.choice((("write", never), ("cas", [old, never])))
            draft.add(f, told, early(), None)
            values.append(never)
        swap = dice.random() < swapped
        draft.add(
            "cas" if swap else "write", [order[-1].value, value] if swap else value, early(), late()
        )
        order.append(Change(draft.stamp(at), value))
        values.append(value)
        if dice.random() < swapped / 2:  # as good as a read, and true
            draft.add("cas", [value, value], early(), at + 1)
    for _ in range(dice.randint(1, 6)):
        call = dice.randint(40, at + 60)
        draft.add("read", dice.choice(values), call, call + dice.randint(1, wide))
    return Made(draft.history(), order)


def truth(order: list[Change], value: Any, call: int) -> tuple[int, int]:
    """Return how long ``value`` had been gone at ``call``, and how many times it was overwritten."""
    places = [place for place, change in enumerate(order) if change.value == value]
    if not places:
        return 0, 0
    after = [change.at for change in order[places[0] + 1 :] if change.at < call]
    return (call - after[0], len(after)) if after else (0, 0)


def told(history: History) -> list[Staleness | None]:
    """Return what is said of each read."""
    (share,) = Shares(history, CasRegister(history.conventions), None, history.spans(Ties.CONCURRENT))
    lowered, positions = share.lowered()
    operations = [history[position] for position in positions]
    return [
        stalest(lowered, [(at, op)], in_ns=True) for at, op in enumerate(operations) if op.f == "read"
    ]


@pytest.mark.parametrize("seed", range(8))
def test_at_least_is_never_more_than_the_truth(seed: int) -> None:
    dice = random.Random(f"staleness/{seed}")
    said = 0
    for number in range(300):
        history, order = made(dice)
        report = check(history, model="cas-register")
        proved = report.violation.staleness if report.violation is not None else None
        for found in (*told(history), proved):
            if found is None:
                continue
            said += 1
            stale_ns, versions = truth(order, found.read.value, found.read.call_ns)
            assert found.stale_ns is not None
            where = f"seed {seed}, history {number}, {found.read}"
            assert 0 < found.stale_ns <= stale_ns, where
            assert 0 < found.versions <= versions, where
    assert said > 100, "what is certain is said"


def one(text: str) -> tuple[int | None, int] | None:
    """Return what is said of the last read of a drawing, whose columns are times."""
    found = told(drawn(text))[-1]
    return None if found is None else (found.stale_ns, found.versions)


def test_another_stale_read_is_no_evidence() -> None:
    """Writes 1 and 2 overlap: a stale read of 1 once made 2 look overwritten long before the cas."""
    text = """
    0 |---w 1---|
    1 |---w 2---|
    2             |-r 2-|
    3                     |-r 1-|          |-r 2-|
    4                                                |-cas 2 3-|
    5                                                            |-r 2-|
    """
    assert one(text) == (2, 1)


def test_a_write_that_returned_counts_from_its_return() -> None:
    assert one("0 |-w 1-| |-w 2-| |-w 3-| |-r 1-|") == (10, 2)


def test_a_cas_counts_although_it_overlaps_the_write_of_its_old_value() -> None:
    text = """
    0 |--------w 1------------|
    1   |-cas 1 2-|
    2               |-r 1-|
    """
    assert one(text) == (2, 1)


def test_an_unknown_write_counts_from_the_return_of_the_cas_that_took_its_value() -> None:
    text = """
    0 |-w 1-| |-w 2->
    1               |-cas 2 3-|
    2                           |-r 1-|
    """
    assert one(text) == (2, 2)


def test_an_unknown_write_that_only_reads_tell_of_may_never_have_been() -> None:
    text = """
    0 |-w 1-| |-w 2->
    1              |-r 2-|
    2                      |-r 1-|
    """
    assert one(text) is None


def test_writes_that_overlap_overwrite_each_other_in_an_order_nobody_knows() -> None:
    text = """
    0 |---w 1---|
    1 |---w 2---|
    2             |-r 2-| |-r 1-|
    """
    assert one(text) is None


def test_of_writes_that_fit_no_order_nothing_is_said() -> None:
    text = """
    0 |-w 1-| |-cas 1 2-| |-cas 1 3-| |-r 1-|
    """
    assert one(text) is None
