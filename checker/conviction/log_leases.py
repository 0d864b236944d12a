"""A read by the age of a log entry held against the rules (G1 to G3, T1 and T2 beside them).

Kept, a leader that reads by a lease names the entry at its commit index: that is certainly no older than
Delta, by the earliest that it can have been appended and the latest that it can be now (G2, T1, T2). If
the entry is of an earlier term, no entry behind it, up to where the leader's log ended when it was
elected, is about the same key (G3). Then, voting being free, what keeps the answer right is the other
side: whoever leads a later term commits nothing of it before that entry is certainly older than Delta
(G1). So an entry of a later term, applied while a right reader could still read, convicts its leader.

Which span an entry was appended in is told by whoever appended it, and its term by what was applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.evidence import Appended, Applied, Checked, OwnClock, ServedRead
from checker.timeline import ms
from checker.values import tag

from .leases import wrong_reading
from .said import Breach, first_of_each
from .successors import first_commit, successors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.timeline import Leadership, Timelines

    from .owed import Owed
    from .spans import Span, Spans


class _Entry(msgspec.Struct, frozen=True):
    """An entry with who appended it, and on which line."""

    node: str
    place: int
    what: Appended


class LogLeases:
    """What all nodes appended and applied."""

    def __init__(self, timelines: Timelines, spans: Mapping[str, Spans], owed: Owed) -> None:
        self._timelines = timelines
        self._spans = spans
        self._owed = owed
        self._appended: dict[tuple[int, int], _Entry] = {}
        self._at: dict[int, list[_Entry]] = {}
        for node, timeline in timelines.items():
            for place, fact in timeline.facts(Appended):
                entry = _Entry(node, place, fact)
                self._appended[fact.term, fact.index] = entry
                self._at.setdefault(fact.index, []).append(entry)

    def breaches(
        self, node: str, checks: Sequence[int], served: int, until_true_ns: int
    ) -> list[Breach]:
        """Return what the answer on line ``served`` breaks, which rests on one of ``checks``."""
        timeline = self._timelines[node]
        read = timeline.lines[served].what
        assert isinstance(read, ServedRead)
        answers = [_Answer(self, node, check, read) for check in checks]
        wrong = [first_of_each(answer.wrong()) for answer in answers]
        if all(wrong):
            return wrong[-1]
        entry = answers[-1].entry()
        if entry is None:
            return []
        return list(self._too_early(entry, node, read.term, until_true_ns))[:1]

    def _too_early(self, entry: _Entry, node: str, term: int, until_true_ns: int) -> Iterator[Breach]:
        """G1: what leaders of later terms committed before ``entry`` was certainly old."""
        for lead in successors(self._timelines, node, term):
            committed = first_commit(self._timelines, lead)
            timeline = self._timelines[lead.node]
            if committed is None or timeline.before_ns[committed] > until_true_ns:
                continue
            old_ns = entry.what.latest_ns + self._owed.election_ns
            span = self._spans[lead.node].at(committed)
            led_ns = timeline.lines[committed].own_ns - timeline.lines[lead.first].own_ns
            if led_ns > self._owed.counted_at_most(self._owed.election_ns):
                continue
            if span is not None and span.earliest_ns > old_ns:
                continue
            left = "" if span is None else f", for another {ms(old_ns - span.earliest_ns)}"
            at = self._timelines.at(timeline.before_ns[committed])
            yield Breach(
                rules=("G1",),
                node=lead.node,
                term=lead.term,
                sentence=f"{lead.node} (term {lead.term}) committed {at} into the run, when the entry at"
                f" index {entry.what.index} of term {entry.what.term} may have been young{left}",
                looks_like=("leaseguard-early-commit",),
            )

    def entry(self, term: int, index: int) -> _Entry | None:
        """Return an entry that was appended, None if nobody tells of it."""
        return self._appended.get((term, index))

    def at(self, index: int) -> list[_Entry]:
        """Return whatever was appended at an index, in any term."""
        return self._at.get(index, [])

    def span(self, node: str, place: int) -> Span | None:
        """Return what a node knew of the time at a line."""
        return self._spans[node].at(place)

    @property
    def timelines(self) -> Timelines:
        """Return the evidence."""
        return self._timelines

    @property
    def delta_ns(self) -> int:
        """Return how long an entry is young."""
        return self._owed.election_ns


class _Answer:
    """A read by the age of the entry at the index it names."""

    def __init__(self, told: LogLeases, node: str, check: int, read: ServedRead) -> None:
        self._told = told
        self._node = node
        self._check = check
        self._read = read
        self._timeline = told.timelines[node]

    def _breach(self, rules: tuple[str, ...], what: str, *looks_like: str) -> Breach:
        at = self._told.timelines.at(self._timeline.before_ns[self._check])
        who = f"{self._node} (term {self._read.term}) granted itself a lease {at} into the run"
        return Breach(
            rules=rules,
            node=self._node,
            term=self._read.term,
            sentence=f"{who}, {what}",
            looks_like=looks_like,
        )

    def wrong(self) -> Iterator[Breach]:
        """Yield what is wrong with it by what its own node knew."""
        check = self._timeline.lines[self._check].what
        assert isinstance(check, Checked)
        lead = next(
            (
                lead
                for lead in self._timeline.leaderships
                if lead.first <= self._check <= lead.last and lead.term == check.term
            ),
            None,
        )
        if lead is None:
            yield self._breach(("L6",), "when it did not lead that term any more", "term-keeps-lease")
            return
        if check.until_ns is None:
            yield self._breach(("G2",), "looking at the age of nothing", "role-only-read")
            return
        span = self._told.span(self._node, self._check)
        if check.clock is not OwnClock.INTERVAL:
            yield self._breach(("G2",), f"measuring the age of an entry on its {check.clock} clock")
            return
        if span is None:
            yield self._breach(("T1", "T2"), "by a span of true time that nobody had told it")
            return
        entry = self.entry()
        if entry is not None:
            right_ns = self._earliest_ns(entry) + self._told.delta_ns
            if span.latest_ns > right_ns:
                yield from self._too_old(check, entry, span, right_ns)
                return
        yield from self._limbo(lead)

    def _earliest_ns(self, entry: _Entry) -> int:
        """Return the earliest that an entry can have been appended, whatever its leader wrote."""
        span = self._told.span(entry.node, entry.place)
        return entry.what.earliest_ns if span is None else min(entry.what.earliest_ns, span.earliest_ns)

    def _too_old(self, check: Checked, entry: _Entry, span: Span, right_ns: int) -> Iterator[Breach]:
        """T1, T2, G2: the entry it names was not certainly young; say what it took for young."""
        assert check.until_ns is not None
        over = f"the entry at index {self._read.read_index} may have been old for"
        over = f"{over} {ms(span.latest_ns - right_ns)}"
        at_append = self._told.span(entry.node, entry.place)
        if at_append is not None and entry.what.earliest_ns > at_append.earliest_ns:
            ends = {at_append.latest_ns: ("T1",), at_append.ungrown_earliest_ns: ("T2",)}
            rules = ends.get(entry.what.earliest_ns, ("T1", "T2"))
            yield self._breach(rules, f"by a stamp that {entry.node} had no right to; {over}")
        if check.read_ns < span.latest_ns:
            wrong, what, *looks_like = wrong_reading(check, span.latest_ns, span)
            yield self._breach(wrong, f"{what}; {over}", *looks_like)
        stamped_ns = entry.what.earliest_ns + self._told.delta_ns
        if check.until_ns == entry.what.latest_ns + self._told.delta_ns > stamped_ns:
            yield self._breach(("T1",), f"counting from the latest that it can be; {over}")
        elif check.until_ns > stamped_ns:
            yield self._breach(("G2",), f"by another age than that of this entry; {over}")
        elif check.read_ns > check.until_ns:
            yield self._breach(("G2",), f"knowing that it was over; {over}")

    def _limbo(self, lead: Leadership) -> Iterator[Breach]:
        """G3: by an entry of an earlier term, it read a key that entries in limbo are about."""
        first = next(
            (
                fact.index
                for place, fact in self._timeline.facts(Appended)
                if lead.first <= place <= lead.last and fact.term == lead.term
            ),
            None,
        )
        index, key = self._read.read_index, tag(self._read.key)
        if first is None or index >= first - 1:
            return
        for limbo in range(index + 1, first):
            there = [entry for entry in self._told.at(limbo) if entry.what.term < lead.term]
            if there and all(tag(entry.what.key) == key for entry in there):
                what = (
                    f"reading at index {index}, of an earlier term, a key that the entry at index"
                    f" {limbo} of its own log is about"
                )
                yield self._breach(("G3",), what, "limbo-read")
                return

    def entry(self) -> _Entry | None:
        """Return the entry whose age is the lease, as far as what was applied tells its term."""
        index = self._read.read_index
        below = above = None
        for _, fact in self._timeline.facts(Applied):
            if fact.index <= index and (below is None or fact.index > below.index):
                below = fact
            if fact.index >= index and (above is None or fact.index < above.index):
                above = fact
        if above is None:
            return None
        if above.index == index or (below is not None and below.entry_term == above.entry_term):
            return self._told.entry(above.entry_term, index)
        return None
