"""A tiny run in text: which bands and marks it has, where it is drawn, what is told in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from report_drawn import MS, STALE, drawn, granted, line, timelines, vote

from checker.evidence import (
    Booted,
    Checked,
    Granted,
    OwnClock,
    Promised,
    SessionBegan,
    SessionEnded,
    Stored,
    Voted,
)
from harness.report.bands import bands_of
from harness.report.html.figure import figure_of
from harness.report.html.page import page_of
from harness.report.html.story import story_of
from harness.report.locks import locks_of
from harness.report.marks import marks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from checker.evidence import EvidenceLine, Fact
    from harness.report.bands import Band


def span(start_ns: int, end_ns: int) -> str:
    return f"{start_ns / MS:g}..{end_ns / MS:g}"


def bands(lines: Iterable[EvidenceLine], kind: str = "") -> Iterator[str]:
    for band in bands_of(timelines(lines)):
        if band.kind.startswith(kind):
            yield shown(band)


def shown(band: Band) -> str:
    sure = "" if band.sure_ns is None else f" used to {band.sure_ns / MS:g}"
    return f"{band.node} {band.kind} {span(band.start_ns, band.end_ns)} {band.text}{sure}"


def test_bands_begin_and_end_where_the_nodes_own_clocks_say() -> None:
    assert [*bands(STALE)] == [
        "n1 leads 12..150 term 1",
        "n1 lease 20..140 lease, term 1 used to 130",
        "n1 promise 170..170 silence to n2, term 2",  # its boot tells of no later time
        "n2 leads 82..180 term 2",
        "n2 lease 90..180 lease, term 2 used to 180",
        "n2 promise 20..170 silence to n1, term 1",  # 340 ms on a clock that runs twice as fast
    ]


def test_a_lease_ends_with_what_ends_it() -> None:
    open_ended = Checked(1, True, OwnClock.MONOTONIC, 0, None)
    refused = Checked(1, False, OwnClock.MONOTONIC, 0, None)
    lines = [
        line("n1", 0, Booted(1, 0)),
        line("n1", 10, granted(10, 15, term=1)),
        line("n1", 30, granted(30, 90, term=1)),
        line("n1", 40, refused),
        line("n1", 50, open_ended),
        line("n1", 60, granted(60, 90, term=2)),
        line("n1", 70, granted(70, 90, term=2)),
        line("n1", 100, Booted(2, 2)),
        line("n1", 110, open_ended),
        line("n1", 120, open_ended),
    ]
    assert [*bands(lines, "lease")] == [
        "n1 lease 10..15 lease, term 1 used to 10",
        "n1 lease 30..40 lease, term 1 used to 30",
        "n1 lease 50..60 lease, term 1 used to 50",
        "n1 lease 60..70 lease, term 2 used to 70",  # killed at 70, as far as anybody knows
        "n1 lease 110..120 lease, term 1 used to 120",
    ]
    assert [*bands(lines, "down")] == ["n1 down 70..100 down"]


def test_times_count_from_the_historys_origin() -> None:
    moved_lines = timelines(STALE, origin_ns=5 * MS)
    moved = bands_of(moved_lines)
    assert shown(moved[0]) == "n1 leads 7..145 term 1"
    assert marks_of(moved_lines, moved)[-1].at_ns == 145 * MS


def test_a_vote_tells_what_was_left_of_the_promise() -> None:
    told = [
        f"{mark.at_ns / MS:g} {mark.node} {mark.text}"
        + ("" if mark.left_ns is None else f", {mark.left_ns / MS:g} ms left")
        for mark in drawn().marks
        if mark.kind in {"vote", "leader", "revoke"}
    ]
    assert told == [
        "10 n1 votes for n1 in term 1",
        "11 n2 votes for n1 in term 1",
        "12 n1 becomes leader of term 1",
        "80 n2 votes for n2 in term 2, 180 ms left",
        "82 n2 becomes leader of term 2",
        "150 n1 drops its lease (step-down)",
    ]


def test_a_vote_that_forgets_a_promise_tells_what_its_voter_wrote_before() -> None:
    forgot = [
        line("n1", 10, Promised(1, "n2", 1, 90 * MS)),
        line("n1", 40, vote(2, "n3", bound_ms=0)),
        line("n1", 60, Voted(3, "n3", False, True, None, token=True)),
        line("n1", 95, Voted(4, "n3", False, True, None)),
    ]
    lines = timelines(forgot)
    told = [(mark.kind, mark.term, mark.left_ns) for mark in marks_of(lines, bands_of(lines))]
    assert told == [("vote", 2, 50 * MS), ("token", 3, None), ("vote", 4, None)]


def test_the_figure_has_a_row_for_everything_and_the_proof_first() -> None:
    figure = figure_of(drawn())
    rows = {label.y: label.text for label in figure.labels if not label.head}
    tops = sorted(rows)

    def row(y: int) -> str:
        return rows[max(top for top in tops if top <= y)]

    told = [f"{label.text}:" for label in figure.labels if label.head]
    assert told == ["the proof:", "n1:", "n2:"]
    assert span(*figure.view_ns) == "21.92..139.08"  # its operations, and 8 % around them
    told = [
        f"{row(bar.y)}: {bar.kind} {span(bar.start_ns, bar.end_ns)} {bar.label}" for bar in figure.bars
    ]
    assert told == [
        "p0 at n1: proof 30..32 write 1",
        "p1 at n2: proof newer 95..100 write 2",
        "p2 at n1: proof offender 126..131 read -> 1 (lease)",
        "leads: leads 12..150 term 1",
        "lease: lease-tail 130..140 ",
        "lease: lease 20..130 lease, term 1",
        "promised: promise 170..170 silence to n2, term 2",
        "faults: fault 75..120 pause",
        "operations: op writes ok 30..32 ",
        "operations: op lease ok 126..131 ",
        "leads: leads 82..180 term 2",
        "lease: lease 90..180 lease, term 2",
        "promised: promise 20..170 silence to n1, term 1",
        "operations: op writes ok 95..100 ",
        "operations: op writes info 110..210 ",
    ]  # fmt: skip
    assert [(span(gap.start_ns, gap.end_ns), gap.text) for gap in figure.gaps] == [
        ("100..126", "26.0 ms later")
    ]
    assert sorted((tick.kind, tick.at_ns // MS) for tick in figure.ticks) == [
        ("boot", 0),
        ("boot", 0),
        ("revoke", 150),
        ("vote", 10),
        ("vote", 11),
        ("vote-bound", 80),
    ]


def test_the_story_is_told_in_the_order_of_the_true_clock() -> None:
    steps = story_of(drawn())
    assert [f"{step.at_ns / MS:g} {step.node}: {step.text} [{step.tone}]" for step in steps] == [
        "32 n1: write 1 of key x (process 0) returns []",
        "75 n1: fault: pause [warn]",
        "80 n2: votes for n2 in term 2; its promise of silence has 180.0 ms to run [bad]",
        "82 n2: becomes leader of term 2 []",
        "100 n2: write 2 of key x (process 1) returns [good]",
        "120 n1: healed: pause [warn]",
        "126 n1: process 2 asks: read of key x []",
        "131 n1: answers read -> 1, path lease [bad]",
    ]
    assert [step.since_ns for step in steps if step.tone == "good"] == [0]


def test_the_page_answers_first() -> None:
    page = page_of(drawn())
    assert (page.word, page.sign, page.tone) == ("violation", "✗", "bad")
    assert page.headline == "n1 answered 1 for key x, 26.0 ms after n2 had acknowledged write 2"
    assert page.sentence == "2 ended before read -> 1 began"
    assert [f"{card.label}: {card.answer}" for card in page.cards] == [
        "how stale: 26.0 ms, 1 version",
        "who answered: n1, term 1, path lease",
        "faults in force: none",
        "rule broken: F3",
    ]
    assert page.cards[-1].more == ("F3: bound, it does not campaign.", "Looks like: a-mistake.")


def test_who_held_a_lock_and_which_tokens_were_taken_is_told_once() -> None:
    facts: list[Fact] = [
        SessionBegan(1, 1, "s1"),
        Granted(1, 2, "a", "s1", 2),
        Stored(1, 3, "a", 2),
        SessionEnded(1, 4, "s1", True),
        Granted(1, 5, "a", "s2", 5),
        Stored(1, 6, "a", 5),
        Stored(1, 7, "a", 2),
    ]
    first = [line("n1", 10 * at, fact) for at, fact in enumerate(facts, 1)]
    later = [line("n2", 10 * at + 3, fact) for at, fact in enumerate(facts, 1)]
    held, stored = locks_of(timelines([*later, *first]))
    assert [shown(band) for band in held] == [
        "a held 20..40 token 2, session s1",
        "a held 50..70 token 5, session s2",
    ]
    assert [(mark.kind, mark.at_ns // MS, mark.text) for mark in stored] == [
        ("stored", 30, "the storage takes token 2"),
        ("stored", 60, "the storage takes token 5"),
        ("fell", 70, "the storage takes token 2 after 5"),
    ]
