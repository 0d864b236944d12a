"""A lease check held against the rules: what a right node, with the same evidence, would have said.

Kept, a granted check says: this node leads the term (L6), hands nothing over (L9), reads its monotonic
clock (L13) at this very moment (L4), and finds that before the right end (L4), which is the right start
plus D (L2, L3, L11, L12; see `lease_ends`). Each part shows by itself in the evidence. A check that a
right node would have granted too convicts nobody, whatever its parts; of one that it would have refused,
the parts that are wrong are to blame, those first that alone made the difference.

A check that compared no clock breaks L4 whatever else; with one part gone the others cannot be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.evidence import OwnClock
from checker.timeline import MS

from .lease_ends import Guess, cause, guess
from .ledger import checks
from .owed import PPM
from .said import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.evidence import Checked
    from checker.timeline import Timeline, Timelines

    from .ledger import Ledger
    from .owed import Owed


@dataclass(frozen=True, slots=True)
class Judged:
    """One granted check with what a right node would have believed.

    ``right_ns`` is the right end on the monotonic clock, ``end_ns`` the right end on the clock that was
    used; None where no majority backs a lease. ``group`` numbers the leaderships of a node.
    """

    place: int
    check: Checked
    right_ns: int | None
    end_ns: int | None
    guess: Guess | None
    leads: bool
    closed: bool
    group: tuple[int, int | None]

    def granted_rightly(self, own_ns: int) -> bool:
        """Whether a right node would have held its lease when its monotonic clock showed that."""
        return self.leads and not self.closed and self.right_ns is not None and own_ns < self.right_ns


def judged_checks(timeline: Timeline, owed: Owed) -> list[Judged]:
    """Return all granted checks of a node."""
    return [
        _judged(timeline, place, check, ledger, owed)
        for place, check, ledger in checks(timeline, owed.nodes)
        if check.granted
    ]


def _judged(timeline: Timeline, place: int, check: Checked, ledger: Ledger, owed: Owed) -> Judged:
    leads = ledger.term == check.term
    shown_ns = timeline.showing(place, check.clock)
    right = _start_ns(ledger, OwnClock.MONOTONIC, timeline.lines[place].own_ns) if leads else None
    start = _start_ns(ledger, check.clock, shown_ns) if leads else None
    guessed = leads and check.until_ns is not None
    return Judged(
        place=place,
        check=check,
        right_ns=None if right is None else right + owed.lease_ns,
        end_ns=None if start is None else start + owed.lease_ns,
        guess=guess(ledger, check.clock, check.until_ns or 0, shown_ns) if guessed else None,
        leads=leads,
        closed=leads and _closed(ledger, timeline.lines[place].own_ns, owed),
        group=(ledger.first, ledger.term),
    )


def _start_ns(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.tallies[clock].sent, now_ns)


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
    if not asked or any(_rightly(timeline, one, own_ns) for one in asked):
        return []
    last = asked[-1]
    at_ns = timeline.lines[last.place].own_ns if own_ns is None else own_ns
    return list(_wrong_parts(timelines, node, last, judged=judged, owed=owed, own_ns=at_ns))


def _rightly(timeline: Timeline, one: Judged, own_ns: int | None) -> bool:
    return one.granted_rightly(timeline.lines[one.place].own_ns if own_ns is None else own_ns)


def _wrong_parts(
    timelines: Timelines,
    node: str,
    one: Judged,
    *,
    judged: Mapping[str, Sequence[Judged]],
    owed: Owed,
    own_ns: int,
) -> Iterator[Breach]:
    timeline = timelines[node]
    check, line = one.check, timeline.lines[one.place]
    who = (
        f"{node} (term {check.term}) granted itself a lease {timelines.at(line.true_ns[0])} into the run"
    )
    over = _over(one, own_ns)

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
    shown_ns = timeline.showing(one.place, check.clock)
    old = check.read_ns < shown_ns
    late = one.end_ns is None or check.until_ns > one.end_ns
    parts: list[tuple[bool, Breach]] = []
    if check.clock is not OwnClock.MONOTONIC:
        what = f"measuring it on its {check.clock} clock; on its monotonic clock {over}"
        parts.append((not late, breach(("L13",), what, "lease-wall-clock")))
    if old:
        what = f"judging it at a reading {_ms(shown_ns - check.read_ns)} old; {over}"
        parts.append((shown_ns >= check.until_ns, breach(("L4",), what, "cached-lease-flag")))
    if late:
        assert one.guess is not None
        term = [each.guess for each in judged[node] if each.group == one.group and each.guess]
        run = [each.guess for every in judged.values() for each in every if each.guess]
        why = cause(one.guess, term, run, owed)
        alone = one.end_ns is None or check.read_ns >= one.end_ns
        parts.append((alone, breach(why.rules, f"and {why.said}; {over}", *why.looks_like)))
    decisive = [found for alone, found in parts if alone]
    yield from decisive or [found for _, found in parts]


def _over(one: Judged, own_ns: int) -> str:
    if one.right_ns is None:
        return "no majority had acknowledged a round that counts"
    return (
        "by the rounds that a majority had acknowledged it had been over for "
        f"{_ms(own_ns - one.right_ns)}"
    )


def _ms(length_ns: int) -> str:
    return f"{length_ns / MS:.3f} ms"
