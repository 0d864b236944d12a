"""Histories that go by once: what is counted and kept, against a dumb count; and evidence made thin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_drawn import EVENTS, MS, STALE, event

from checker import evidence_lines
from checker.evidence import EvidenceLine, Promised, Voted
from harness.report.rows import rows_of
from harness.report.skim import skim
from harness.report.tally import BINS_MAX, Tally, rank
from harness.report.thin import SAMPLED_LINES, thinned

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = EVENTS[0]


def test_what_touches_the_stretch_is_kept_and_everything_is_counted() -> None:
    seen = skim(EVENTS, (99 * MS, 127 * MS))
    assert [(str(each), each.outcome, each.path, each.node) for each in seen.kept] == [
        ("write 2", "ok", "write", "n2"),
        ("write 3", "info", "write", "n2"),
        ("read -> 1", "ok", "lease", "n1"),
    ]
    assert (seen.operations, seen.touching, seen.span_ns) == (4, 3, (30 * MS, 160 * MS))
    assert [(each.path, each.count, each.max_ns) for each in seen.tally.spent()] == [
        ("lease", 1, 5 * MS),
        ("write", 2, 5 * MS),
    ]
    assert seen.tally.failed == {16: 1}


def test_of_too_many_the_nearest_are_kept() -> None:
    lines = [HEAD]
    for n in range(100):
        lines += [
            event(2 * n, n, 0, "invoke", "write", n),
            event(2 * n + 1, n + 0.5, 0, "ok", "write", n),
        ]
    seen = skim(lines, (0, 100 * MS), kept_max=5)
    assert [each.value for each in seen.kept] == [48, 49, 50, 51, 52] or [
        each.value for each in seen.kept
    ] == [47, 48, 49, 50, 51]
    assert (seen.touching, seen.operations) == (100, 100)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\x00\xff",
        b'{"time_ns": NaN}',
        b'{"time_ns": -1, "process": 0, "type": "ok", "f": "read"}',
        b'{"time_ns": 99999999999999999999, "process": 0, "type": "ok", "f": "read"}',
        b'{"time_ns": 1, "process": [], "type": "ok", "f": "read"}',
        b"[" * 100_000,
    ],
)
def test_a_line_that_cannot_be_read_is_counted_and_stops_nothing(bad: bytes) -> None:
    seen = skim([HEAD, bad + b"\n", *EVENTS[1:]], None)
    assert (seen.operations, seen.unread) == (4, bool(bad))


def test_a_completion_of_nothing_and_one_before_its_call_are_passed_over() -> None:
    lines = [HEAD, event(0, 5, 0, "ok", "read", 1), event(1, 9, 1, "invoke", "read", None)]
    lines.append(event(2, 4, 1, "ok", "read", 1))
    assert skim(lines, (0, 10 * MS)).operations == 0


@given(st.lists(st.tuples(st.integers(0, 10**11), st.integers(0, 10**9), st.sampled_from("ab"))))
def test_bins_hold_every_operation_however_wide_they_become(ended: list[tuple[int, int, str]]) -> None:
    tally = Tally()
    for at_ns, spent_ns, path in ended:
        tally.ok(path, at_ns, spent_ns)
        tally.not_ok(at_ns)
    assert sum(tally.failed.values()) == len(ended)
    assert max(tally.failed, default=0) < BINS_MAX
    for path, bins in tally.bins.items():
        every = sorted(spent for _, spent, each in ended if each == path)
        assert sorted(spent for each in bins.values() for spent in each) == every
        for place, spent in bins.items():
            there = [s for at, s, each in ended if each == path and at // tally.width_ns == place]
            assert sorted(spent) == sorted(there)
    for told in tally.spent():
        every = sorted(spent for _, spent, each in ended if each == told.path)
        assert (told.count, told.max_ns, told.p50_ns) == (len(every), every[-1], _dumb(every, 0.50))
        assert told.p99_ns == _dumb(every, 0.99)


def _dumb(ordered: Sequence[int], share: float) -> int:
    """Return the least value that so many of all are no greater than."""
    return next(v for v in ordered if sum(each <= v for each in ordered) >= share * len(ordered) - 1e-9)


def test_a_percentile_is_one_of_the_values() -> None:
    assert [rank([1, 2, 3, 4], percent) for percent in (1, 25, 26, 50, 99, 100)] == [1, 1, 2, 2, 4, 4]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20))), st.integers(1, 4))
def test_rows_overlap_only_when_there_are_no_more(starts: list[tuple[int, int]], rows_max: int) -> None:
    spans = sorted((start, start + length) for start, length in starts)
    rows = rows_of(spans, rows_max=rows_max)
    assert all(0 <= row < rows_max for row in rows)
    deepest = max((sum(a <= at < b for a, b in spans) for at, _ in spans), default=0)
    if deepest <= rows_max:
        for (one, row), (other, same) in zip(
            zip(spans, rows, strict=True), [*zip(spans, rows, strict=True)][1:], strict=False
        ):
            assert row != same or one[1] <= other[0]


def test_thin_evidence_keeps_the_stretch_and_whatever_is_rare() -> None:
    renewed = [_promise(at) for at in range(3 * SAMPLED_LINES)]
    rare = EvidenceLine("n1", 7, 7, (7, 7), Voted(1, "n1", False, True, None))
    lines = sorted([*renewed, rare], key=lambda each: each.true_ns)
    data = evidence_lines.header("n1") + evidence_lines.encode(lines)
    kept = evidence_lines.read(thinned(data, (20_000, 20_100)))
    stamps = [each.true_ns[0] for each in kept]
    assert rare in kept
    assert stamps == sorted(stamps)
    assert [at for at in stamps if 20_000 <= at < 20_100] == [*range(20_000, 20_100)]
    assert SAMPLED_LINES * 0.9 < len(kept) < SAMPLED_LINES * 1.1
    assert kept[0].true_ns[0] < 10
    assert kept[-1].true_ns[0] > 3 * SAMPLED_LINES - 10


@given(st.integers(-5, 30), st.integers(-5, 30))
def test_evidence_of_a_few_lines_is_kept_whole(start: int, length: int) -> None:
    lines: Any = [_promise(at) for at in range(0, 30, 3)]
    data = evidence_lines.header("n1") + evidence_lines.encode(lines)
    assert thinned(data, (start, start + length)) == data
    assert evidence_lines.read(thinned(evidence_lines.header("n1"), (0, 1))) == ()
    assert STALE


def _promise(at: int) -> EvidenceLine:
    return EvidenceLine("n1", at, at, (at, at), Promised(1, "n2", at, at + 10))
