"""Where to look: the stretch of a run that its report opens on.

A proof of the history is looked at from the leader's election that the newer operation rests on to the
end of the offending read; an oracle's finding around the time it tells; any other run around its first
change of leader, where a lease is in danger. Around the view lies a wider stretch of which operations
are shown too, for whoever zooms out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from checker.operations import Operation
from checker.oracles.result import OracleOutcome
from checker.proof import Proof, explain
from checker.timeline import Timelines

from .bands import LEADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checker.oracles.result import Finding
    from checker.proof import FaultWindow

    from .bands import Band
    from .saved import Told

SECOND_NS = 1_000_000_000
_PAD_PERCENT = 8


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """``view_ns`` is what is seen first, ``stretch_ns`` of what operations are shown.

    Times from the origin; ``about`` says what is there to see. ``proof`` is None where the history
    proves nothing.
    """

    about: str
    view_ns: tuple[int, int] | None
    stretch_ns: tuple[int, int] | None
    operations: tuple[Operation, ...] = ()
    proof: Proof | None = None


def focus_of(
    said: Told | None,
    timelines: Timelines | None,
    bands: Sequence[Band],
    *,
    faults: Iterable[FaultWindow],
    election_ns: int,
) -> Focus:
    """Return where to look in a run."""
    found = said.violation if said is not None else None
    if found is not None and found.operations:
        proof = explain(found.operations, timelines or Timelines({}), faults=faults)
        return _on(
            "the proof",
            _of_proof(found.operations, proof, bands, election_ns),
            election_ns,
            operations=found.operations,
            proof=proof,
        )
    finding = _finding(said)
    if finding is not None and finding.during_ns is not None:
        origin_ns = timelines.origin_ns if timelines is not None else 0
        start_ns, end_ns = (at_ns - origin_ns for at_ns in finding.during_ns)
        return _on("the finding", (start_ns - election_ns // 2, end_ns + election_ns // 4), election_ns)
    leads = sorted((band for band in bands if band.kind == LEADS), key=lambda band: band.start_ns)
    changes = [band for before, band in pairwise(leads) if band.node != before.node]
    if changes:
        at_ns = changes[0].start_ns
        return _on(
            "the first change of leader",
            (at_ns - 3 * election_ns // 2, at_ns + election_ns),
            election_ns,
        )
    return Focus(about="the run", view_ns=None, stretch_ns=(0, 2 * SECOND_NS))


def _finding(said: Told | None) -> Finding | None:
    """Return what the first oracle that proves something said first."""
    oracles = said.oracles.values() if said is not None else ()
    found = (each.findings for each in oracles if each.outcome is OracleOutcome.VIOLATION)
    return next((findings[0] for findings in found if findings), None)


def _of_proof(
    operations: Sequence[Operation], proof: Proof, bands: Sequence[Band], election_ns: int
) -> tuple[int, int]:
    core = [each for each in (proof.newer, proof.read) if each is not None] or list(operations)
    start_ns = min(each.call_ns for each in core)
    end_ns = max(each.call_ns if each.return_ns is None else each.return_ns for each in core)
    least_ns = start_ns - 2 * election_ns
    told = proof.newer.evidence if proof.newer is not None else None
    elected = [b.start_ns for b in bands if told is not None and b.kind == LEADS and b.term == told.term]
    reach = [each.call_ns for each in operations] + elected
    start_ns = min(start_ns, *(at_ns for at_ns in (start_ns, *reach) if at_ns >= least_ns))
    return start_ns, end_ns


def _on(
    about: str,
    core_ns: tuple[int, int],
    election_ns: int,
    *,
    operations: tuple[Operation, ...] = (),
    proof: Proof | None = None,
) -> Focus:
    start_ns, end_ns = core_ns
    pad_ns = max((end_ns - start_ns) * _PAD_PERCENT // 100, 1_000_000)
    view_ns = (max(0, start_ns - pad_ns), max(end_ns + pad_ns, 2))
    wide_ns = max(election_ns, view_ns[1] - view_ns[0])
    return Focus(
        about=about,
        view_ns=view_ns,
        stretch_ns=(max(0, view_ns[0] - wide_ns), view_ns[1] + wide_ns),
        operations=operations,
        proof=proof,
    )
