"""The small pure parts against dumb second implementations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from leasekv_lone import entries

from targets.leasekv.core.log import Log
from targets.leasekv.core.outbox import Outbox
from targets.leasekv.membership import backed_by
from targets.leasekv.messages import AppendReply, Entry, Op

TERMS = st.lists(st.integers(1, 4), max_size=8).map(sorted)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.data())
def test_a_majority_backs_the_largest_value_that_enough_of_them_reach(
    values: list[int], data: st.DataObject
) -> None:
    needed = data.draw(st.integers(1, len(values)))
    dumb = max(v for v in values if sum(other >= v for other in values) >= needed)
    assert backed_by(values, needed) == dumb


@given(TERMS, TERMS, st.integers(0, 8))
def test_merging_takes_a_leaders_entries_and_keeps_what_does_not_conflict(
    mine: list[int], leaders: list[int], start: int
) -> None:
    start = min(start, len(mine), len(leaders))
    if mine[:start] != leaders[:start]:
        return  # a leader's entries follow on an agreed one
    log = Log(entries(*mine))
    news = log.merge(entries(*leaders)[start:])
    expected = mine
    if mine[: len(leaders)] != leaders[: len(mine)] or len(leaders) > len(mine):
        expected = leaders
    assert log.slice(1, 99) == entries(*expected)
    assert (log.last_index, log.last_term) == (len(expected), expected[-1] if expected else 0)
    agreed = next((i for i, (a, b) in enumerate(zip(mine, expected, strict=False)) if a != b), len(mine))
    assert tuple(news) == entries(*expected)[agreed:]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), max_size=12), st.data())
def test_durable_is_the_prefix_of_this_log_that_the_disk_holds(
    appends: list[tuple[int, int]], data: st.DataObject
) -> None:
    log = Log(())
    disk: list[Entry] = []
    writing: list[tuple[int, tuple[Entry, ...]]] = []
    for seq, (back, count) in enumerate(appends, start=1):
        first = max(1, log.last_index + 1 - back)
        new = tuple(Entry(first + i, seq, Op.NOOP) for i in range(count))
        log.merge(new)
        log.writing(seq, first, first + count - 1)
        writing.append((seq, new))
        for _ in range(data.draw(st.integers(0, len(writing)))):
            done, written = writing.pop(0)
            disk[written[0].index - 1 :] = written
            log.persisted(done)
        here = log.slice(1, 99)
        held = next((i for i, (a, b) in enumerate(zip(here, disk, strict=False)) if a != b), None)
        assert log.durable_index == (min(len(here), len(disk)) if held is None else held)


def test_a_conflict_skips_the_whole_term() -> None:
    log = Log(entries(1, 1, 2, 2, 2, 3))
    assert [log.conflict_before(i) for i in (9, 6, 5, 3, 2)] == [7, 6, 3, 3, 1]


def test_a_damaged_order_of_restored_entries_is_refused() -> None:
    with pytest.raises(ValueError, match="entry number 1 says it is 2"):
        Log((Entry(2, 1, Op.NOOP),))


def test_what_waits_for_the_disk_is_said_in_order_and_the_oldest_is_lost_beyond_the_bound() -> None:
    out = Outbox(held_max=2)
    for round_ in (1, 2, 3):
        out.send_once_durable("n2", AppendReply(1, round_, True, 0), seq=round_)
    assert out.flush().messages == ()
    out.durable(3)
    assert [
        message.round for _, message in out.flush().messages if isinstance(message, AppendReply)
    ] == [2, 3]


def test_a_step_without_effects_says_nothing() -> None:
    out = Outbox(held_max=1)
    assert out.flush() is out.flush()
