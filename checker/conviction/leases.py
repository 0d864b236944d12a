"""A lease check held against the rules: what a right node, with the same evidence, would have said.

Kept, a granted check says: this node leads the term (L6), hands nothing over (L9), reads the clock that
leases are measured on (L13) at this very moment (L4), and finds that before the right end (L4), which is
the right start plus D (L2, L3, L11, L12; see `lease_ends`). By a span of true time the reading is the
latest that it can be now, grown since the time service spoke (T1, T2). Each part shows by itself in the
evidence. A check that a right node would have granted too convicts nobody, whatever its parts; of one
that it would have refused, the parts that are wrong are to blame, those first that alone made the
difference.

A check that compared no clock breaks L4 whatever else; with one part gone the others cannot be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.evidence import OwnClock
from checker.timeline import ms

from .lease_ends import Guess, cause, guess
from .ledger import SCALES, checks
from .owed import PPM
from .said import Breach, first_of_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.evidence import Checked
    from checker.timeline import Timeline, Timelines

    from .ledger import Ledger
    from .owed import Owed
    from .spans import Span, Spans


@dataclass(frozen=True, slots=True)
class Judged:
    """One granted check with what a right node would have believed.

    ``right_ns`` is the right end on the clock that is owed, ``end_ns`` the right end on the clock that
    was used; None where no majority backs a lease. ``shown_ns`` is what the used clock shows, None where
    it cannot be told. ``group`` numbers the leaderships of a node.
    """

    place: int
    check: Checked
    right_ns: int | None
    end_ns: int | None
    shown_ns: int | None
    guess: Guess | None
    leads: bool
    closed: bool
    group: tuple[int, int | None]

    def granted_rightly(self, now_ns: int | None) -> bool:
        """Whether a right node would have held its lease when the clock that is owed showed that."""
        held = self.right_ns is not None and now_ns is not None and now_ns < self.right_ns
        return self.leads and not self.closed and held


def judged_checks(timeline: Timeline, spans: Spans, owed: Owed) -> list[Judged]:
    """Return all granted checks of a node."""
    return [
        _judged(timeline, place, check, ledger, owed)
        for place, check, ledger in checks(timeline, spans, owed)
        if check.granted
    ]


def _judged(timeline: Timeline, place: int, check: Checked, ledger: Ledger, owed: Owed) -> Judged:
    leads = ledger.term == check.term
    from_ns = _from_ns(timeline, ledger.spans, place, check.clock)
    right = _start_ns(ledger, owed.clock, _from_ns(timeline, ledger.spans, place, owed.clock))
    start = _start_ns(ledger, check.clock, from_ns)
    guessed = None
    if leads and check.until_ns is not None and from_ns is not None:
        guessed = guess(ledger, check.clock, check.until_ns, from_ns, owed)
    return Judged(
        place=place,
        check=check,
        right_ns=None if right is None or not leads else right + owed.lease_ns,
        end_ns=None if start is None or not leads else start + owed.lease_ns,
        shown_ns=showing(timeline, ledger.spans, place, check.clock),
        guess=guessed,
        leads=leads,
        closed=leads and _closed(ledger, timeline.lines[place].own_ns, owed),
        group=(ledger.first, ledger.term),
    )


def showing(
    timeline: Timeline, spans: Spans, place: int, clock: OwnClock, own_ns: int | None = None
) -> int | None:
    """Return at what a lease is judged on ``clock``, at a line or later at ``own_ns``; None: unknown."""
    if clock is OwnClock.INTERVAL:
        span = spans.at(place, own_ns)
        return None if span is None else span.latest_ns
    if own_ns is not None and clock is OwnClock.MONOTONIC:
        return own_ns
    return timeline.showing(place, clock)


def _from_ns(timeline: Timeline, spans: Spans, place: int, clock: OwnClock) -> int | None:
    """Return what a round sent at a line would count from."""
    if clock is not OwnClock.INTERVAL:
        return timeline.showing(place, clock)
    span = spans.at(place)
    return None if span is None else span.earliest_ns


def _start_ns(ledger: Ledger, clock: OwnClock, now_ns: int | None) -> int | None:
    if now_ns is None:
        return None
    return ledger.start_ns(ledger.tallies[SCALES[clock]].sent, now_ns)


def _closed(ledger: Ledger, own_ns: int, owed: Owed) -> bool:
    """L9, as far as evidence tells: under way, or so soon after that the target may still be elected."""
    if ledger.handing_over or ledger.told_ns is None:
        return ledger.handing_over
    return own_ns <= ledger.told_ns + owed.election_ns * (PPM + owed.drift_ppm) // (PPM - owed.drift_ppm)


def lease_breaches(
    timelines: Timelines,
    node: str,
    judged: Mapping[str, Sequence[Judged]],
    *,
    spans: Spans,
    owed: Owed,
    places: Sequence[int],
    own_ns: int | None = None,
) -> list[Breach]:
    """Return what the checks at ``places`` break; nothing if a right node would have granted any.

    ``judged`` is all that each node granted. ``own_ns`` is when the lease is asked about, on the node's
    monotonic clock: else at the check.
    """
    timeline = timelines[node]
    asked = [one for one in judged[node] if one.place in places]

    def now_ns(one: Judged) -> int | None:
        return showing(timeline, spans, one.place, owed.clock, own_ns)

    if not asked or any(one.granted_rightly(now_ns(one)) for one in asked):
        return []
    last = asked[-1]
    span = spans.at(last.place)
    found = _wrong_parts(timelines, node, last, judged=judged, span=span, owed=owed, now_ns=now_ns(last))
    return first_of_each(found)


def _wrong_parts(
    timelines: Timelines,
    node: str,
    one: Judged,
    *,
    judged: Mapping[str, Sequence[Judged]],
    span: Span | None,
    owed: Owed,
    now_ns: int | None,
) -> Iterator[Breach]:
    timeline = timelines[node]
    check, line = one.check, timeline.lines[one.place]
    who = (
        f"{node} (term {check.term}) granted itself a lease {timelines.at(line.true_ns[0])} into the run"
    )
    over = _over(one, now_ns)

    def breach(rules: tuple[str, ...], what: str, *looks_like: str) -> Breach:
        said = f"{who}, {what}"
        return Breach(rules=rules, node=node, term=check.term, sentence=said, looks_like=looks_like)

    if not one.leads:
        yield breach(("L6",), "when it did not lead that term any more", "term-keeps-lease")
        return
    if one.closed:
        yield breach(("L9",), "while leadership was being handed over", "transfer-keeps-lease")
        return
    if check.until_ns is None:
        yield breach(("L4",), f"comparing no clock; {over}", "role-only-read", "checkquorum-window")
        return
    shown_ns = one.shown_ns
    if shown_ns is None:
        yield breach(("T1", "T2"), f"by a span of true time that nobody had told it; {over}")
        return
    late = one.end_ns is None or check.until_ns > one.end_ns
    parts: list[tuple[bool, Breach]] = []
    if check.clock is not owed.clock:
        what = f"measuring it on its {check.clock} clock; on its {owed.clock} clock {over}"
        parts.append((not late, breach(("L13",), what, "lease-wall-clock")))
    if check.read_ns < shown_ns:
        rules, what, *looks_like = wrong_reading(check, shown_ns, span)
        parts.append((shown_ns >= check.until_ns, breach(rules, f"{what}; {over}", *looks_like)))
    if late:
        assert one.guess is not None
        node_ = [each.guess for each in judged[node] if each.guess]
        term = [each.guess for each in judged[node] if each.group == one.group and each.guess]
        run = [each.guess for every in judged.values() for each in every if each.guess]
        why = cause(one.guess, term, node_, run, owed)
        alone = one.end_ns is None or check.read_ns >= one.end_ns
        parts.append((alone, breach(why.rules, f"and {why.said}; {over}", *why.looks_like)))
    decisive = [found for alone, found in parts if alone]
    yield from decisive or [found for _, found in parts]


def wrong_reading(
    check: Checked, shown_ns: int, span: Span | None
) -> tuple[tuple[str, ...], str, *tuple[str, ...]]:
    """Return the rules, the words and the look-alikes of a check judged at an instant too early."""
    ahead = ms(shown_ns - check.read_ns)
    if check.clock is not OwnClock.INTERVAL or span is None:
        return ("L4",), f"judging it at a reading {ahead} old", "cached-lease-flag"
    ends = {
        span.earliest_ns: ("T1", "the earliest that it could be", "interval-wrong-end"),
        span.ungrown_latest_ns: (
            "T2",
            "the latest that it could be if doubt did not grow",
            "eps-frozen",
        ),
    }
    rule, what, *looks_like = ends.get(check.read_ns, ("", "", ""))
    if rule:
        return (rule,), f"judging it at {what}, {ahead} before the latest", *looks_like
    return ("L4", "T1", "T2"), f"judging it {ahead} before the latest that it could be"


def _over(one: Judged, now_ns: int | None) -> str:
    if one.right_ns is None:
        return "no majority had acknowledged a round that counts"
    if now_ns is None:
        return "nobody had told it what time it is"
    return (
        "by the rounds that a majority had acknowledged it had been over for "
        f"{ms(now_ns - one.right_ns)}"
    )
