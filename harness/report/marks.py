"""What happened on a node at one instant: votes, terms, dropped leases, starts, anomalies of clocks."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import msgspec

from checker.evidence import (
    Booted,
    ClockAnomaly,
    Revoked,
    RoleChanged,
    TermChanged,
    Transferred,
    Voted,
)

from .bands import PROMISE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from checker.evidence import EvidenceLine
    from checker.timeline import Timeline, Timelines

    from .bands import Band

VOTE: Final = "vote"
PROMISES_AT_ONCE: Final = 8


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at an instant.

    ``left_ns`` is what was left then of a promise of a voter, by its word or by what it wrote before.
    """

    kind: str
    node: str
    at_ns: int
    text: str
    term: int
    left_ns: int | None = None


def marks_of(timelines: Timelines, bands: Iterable[Band]) -> tuple[Mark, ...]:
    """Return everything of this sort, of all nodes, in the order of time; ``bands`` are theirs."""
    promises: dict[str, list[Band]] = {}
    for band in bands:
        if band.kind == PROMISE:
            promises.setdefault(band.node, []).append(band)
    every = (
        _bound(mark, promises.get(mark.node, []))
        for each in timelines.values()
        for mark in _marks(each, timelines.origin_ns)
    )
    return tuple(sorted(every, key=lambda mark: (mark.at_ns, mark.node)))


def _bound(mark: Mark, promises: Sequence[Band]) -> Mark:
    """Return a vote with what was left of a promise of an earlier term, if its voter knows of none.

    ``promises`` are the voter's, in the order of time; only the last few can still run.
    """
    if mark.kind != VOTE or mark.left_ns is not None:
        return mark
    begun = bisect_left(promises, mark.at_ns, key=lambda band: band.start_ns)
    recent = promises[max(0, begun - PROMISES_AT_ONCE) : begun]
    lefts = [band.end_ns - mark.at_ns for band in recent if (band.term or 0) < mark.term]
    left_ns = max(lefts, default=0)
    return msgspec.structs.replace(mark, left_ns=left_ns) if left_ns > 0 else mark


def _marks(timeline: Timeline, origin_ns: int) -> Iterator[Mark]:
    turns = timeline.turns(Booted, ClockAnomaly, Revoked, RoleChanged, TermChanged, Transferred, Voted)
    for place in turns:
        line = timeline.lines[place]
        kind, text = _told(line)
        if not kind:
            continue
        left_ns = None
        if kind == VOTE and isinstance(line.what, Voted) and line.what.bound_until_ns is not None:
            bound_ns = line.what.bound_until_ns - line.own_ns
            left_ns = bound_ns if bound_ns > 0 else None
        yield Mark(
            kind=kind,
            node=timeline.node,
            at_ns=line.true_ns[0] - origin_ns,
            text=text,
            term=line.what.term,
            left_ns=left_ns,
        )


def _told(line: EvidenceLine) -> tuple[str, str]:  # noqa: C901, PLR0911 - one a fact
    match line.what:
        case Voted(pre=True):
            return "", ""
        case Voted(granted=True, token=True) as vote:
            return "token", f"votes for {vote.candidate} in term {vote.term}, which its leader asked for"
        case Voted(granted=True) as vote:
            return VOTE, f"votes for {vote.candidate} in term {vote.term}"
        case Voted() as vote:
            return "refused", f"refuses {vote.candidate} its vote in term {vote.term} ({vote.reason})"
        case RoleChanged(role="leader", term=term):
            return "leader", f"becomes leader of term {term}"
        case RoleChanged(role=role, term=term):
            return "role", f"becomes {role} in term {term}"
        case TermChanged(term=term):
            return "term", f"moves to term {term}"
        case Revoked(reason=reason):
            return "revoke", f"drops its lease ({reason})"
        case Booted(boot=boot):
            return "boot", f"starts (boot {boot})"
        case ClockAnomaly(kind=kind, size_ns=size_ns):
            return "anomaly", f"notices its clock: {kind}, {size_ns / 1e6:.1f} ms"
        case Transferred(target=target, stage=stage):
            return "transfer", f"hands over to {target}: {stage}"
    return "", ""
