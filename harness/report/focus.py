"""Where to look: the stretch of a run that its report opens on.

A proof of the history is looked at from the election that the newer operation rests on to the end of
the offending read; what an oracle found, around the time or the operations it tells; any other run
around its first change of leader, where a lease is in danger. Around the view lies a wider stretch, of
which operations are shown too, for whoever zooms out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from checker.operations import Operation
from checker.oracles.result import Finding, violations
from checker.proof import Proof, explain
from checker.timeline import Timelines

from .bands import LEADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checker.proof import FaultWindow

    from .bands import Band
    from .saved import Told

SECOND_NS: Final = 1_000_000_000
PROOF: Final = "the proof"
OPERATIONS_MAX: Final = 200
_PAD_PERCENT: Final = 8
_PAD_MIN_NS: Final = 1_000_000


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """``view_ns`` is what is seen first, ``stretch_ns`` of what operations are shown.

    Times from the origin; ``about`` says what is there to see. Of ``operations``, which prove it,
    ``offender`` should not have ended as it did after ``newer``. ``proof`` tells of the history's,
    ``finding`` is an oracle's.
    """

    about: str
    view_ns: tuple[int, int] | None
    stretch_ns: tuple[int, int] | None
    operations: tuple[Operation, ...] = ()
    offender: Operation | None = None
    newer: Operation | None = None
    proof: Proof | None = None
    finding: Finding | None = None


def focus_of(
    said: Told | None,
    timelines: Timelines | None,
    bands: Sequence[Band],
    *,
    faults: Iterable[FaultWindow],
    election_ns: int,
    origin_ns: int,
) -> Focus:
    """Return where to look in a run; ``origin_ns`` is the history's origin on the true clock."""
    found = said.violation if said is not None else None
    finding = _finding(said)
    if found is not None and found.operations:
        operations = found.operations[:OPERATIONS_MAX]
        proof = explain(operations, timelines or Timelines({}), faults=faults)
        focus = Focus(
            about=PROOF,
            view_ns=None,
            stretch_ns=None,
            operations=operations,
            offender=proof.read,
            newer=proof.newer,
            proof=proof,
            finding=finding,
        )
        return _on(focus, _of_proof(focus, bands, election_ns), election_ns)
    if finding is not None and finding.operations:
        newer = finding.operations[0] if len(finding.operations) > 1 else None
        focus = Focus(
            about=PROOF,
            view_ns=None,
            stretch_ns=None,
            operations=finding.operations,
            offender=finding.operations[-1],
            newer=newer,
            finding=finding,
        )
        return _on(focus, _of_proof(focus, bands, election_ns), election_ns)
    leads = sorted((band for band in bands if band.kind == LEADS), key=lambda band: band.start_ns)
    changes = [band for before, band in pairwise(leads) if band.node != before.node]
    if finding is not None and finding.during_ns is not None:
        focus = Focus(about="what was found", view_ns=None, stretch_ns=None, finding=finding)
        start_ns, end_ns = (at_ns - origin_ns for at_ns in finding.during_ns)
        return _on(focus, (start_ns - election_ns // 2, end_ns + election_ns // 4), election_ns)
    if changes:
        focus = Focus(about="the first change of leader", view_ns=None, stretch_ns=None, finding=finding)
        at_ns = changes[0].start_ns
        return _on(focus, (at_ns - 3 * election_ns // 2, at_ns + election_ns), election_ns)
    return Focus(about="the run", view_ns=None, stretch_ns=(0, 2 * SECOND_NS), finding=finding)


def _finding(said: Told | None) -> Finding | None:
    """Return what the first oracle that proves something said first."""
    oracles = said.oracles.values() if said is not None else ()
    found = (each.findings for each in violations(oracles))
    return next((findings[0] for findings in found if findings), None)


def _of_proof(focus: Focus, bands: Sequence[Band], election_ns: int) -> tuple[int, int]:
    """Return from when to when the core of a proof is, with what it rests on if that is near."""
    core = [each for each in (focus.newer, focus.offender) if each is not None] or [*focus.operations]
    start_ns = min(each.call_ns for each in core)
    end_ns = max(each.call_ns if each.return_ns is None else each.return_ns for each in core)
    told = focus.newer.evidence if focus.newer is not None else None
    elected = [b.start_ns for b in bands if told is not None and b.kind == LEADS and b.term == told.term]
    rests_on = [*(each.call_ns for each in focus.operations), *elected]
    near = [at_ns for at_ns in rests_on if start_ns - 2 * election_ns <= at_ns]
    return min([start_ns, *near]), end_ns


def _on(focus: Focus, core_ns: tuple[int, int], election_ns: int) -> Focus:
    """Return a focus that shows ``core_ns``, with room around it."""
    start_ns, end_ns = sorted(core_ns)
    pad_ns = max((end_ns - start_ns) * _PAD_PERCENT // 100, _PAD_MIN_NS)
    start_ns = max(0, start_ns - pad_ns)
    view_ns = (start_ns, max(end_ns + pad_ns, start_ns + 2))
    wide_ns = max(election_ns, view_ns[1] - view_ns[0])
    stretch_ns = (max(0, view_ns[0] - wide_ns), view_ns[1] + wide_ns)
    return msgspec.structs.replace(focus, view_ns=view_ns, stretch_ns=stretch_ns)
