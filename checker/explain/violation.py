"""The proof of a violation, put together: few operations, a sentence, how stale, a drawing.

The verdict stands before any of this begins. What the budget does not allow is left out, and the proof
is then larger than it could be; nothing here can change an outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker import direct
from checker.explain.certify import certificate
from checker.explain.drawing import draw
from checker.explain.sentence import by_search, by_zones, who
from checker.explain.shrink import shortest, shrink, with_ghosts
from checker.explain.staleness import stalest
from checker.search import generic
from checker.search.run import drive, illegal
from checker.verdict import Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.budget import Meter
    from checker.direct import Impossible
    from checker.part import Part, Share
    from checker.zones.decide import Conflict
    from checker.zones.lower import Lowered


def from_conflict(
    share: Share,
    lowered: Lowered,
    positions: Sequence[int],
    conflict: Conflict,
    meter: Meter,
) -> Violation:
    """Return the proof that a conflict of zones stands for."""
    picked = share.part([positions[i] for i in certificate(lowered, conflict)])
    if illegal(with_ghosts(picked), meter) is False:
        picked = share.part()
    proof = _whole(share, shrink(picked, lambda part: illegal(part, meter)))
    place = {position: i for i, position in enumerate(positions)}
    sentence, states = _why(proof, meter)
    reads = [(place[op.index], op) for op in proof.operations if op.f == "read"]
    return Violation(
        key=share.key,
        operations=tuple(proof.operations),
        sentence=sentence,
        states=states,
        drawing=draw(proof, sentence),
        staleness=stalest(
            lowered, reads, in_ns=share.calls is share.history.call_ns and share.history.stamped
        ),
    )


def from_direct(share: Share, part: Part, impossible: Impossible, meter: Meter) -> Violation:
    """Return the proof that a direct decision comes with, made smaller where that leaves a reason."""
    proof = part.subset(impossible.positions)
    culprit, why = part.operations[impossible.culprit], impossible.why
    smaller = shrink(proof, lambda piece: illegal(piece, meter))
    again = direct.decide(smaller)
    if isinstance(again, direct.Impossible):
        proof = smaller.subset(again.positions)
        culprit, why = smaller.operations[again.culprit], again.why
    proof = _whole(share, proof)
    sentence = f"{who(culprit)} {why}"
    return Violation(
        key=share.key,
        operations=tuple(proof.operations),
        sentence=sentence,
        drawing=draw(proof, sentence),
    )


def from_search(share: Share, part: Part, stamp: int, meter: Meter) -> Violation:
    """Return the proof of a search that got no further than ``stamp``, as small as the budget allows."""

    def still(smaller: Part) -> bool | None:
        return illegal(smaller, meter)

    proof = _whole(share, shrink(shortest(part, stamp, still), still))
    sentence, states = _why(proof, meter)
    return Violation(
        key=part.key,
        operations=tuple(proof.operations),
        sentence=sentence,
        drawing=draw(proof, sentence),
        states=states,
    )


def _why(proof: Part, meter: Meter) -> tuple[str, tuple[str, ...]]:
    """Return the sentence; and the last states of a search, where zones have nothing to say.

    That search is the generic one, without look-ahead, so that it can be followed by hand.
    """
    sentence = by_zones(proof)
    if sentence is not None:
        return sentence, ()
    found = drive(
        generic.search(proof.model, proof.operations, proof.start, proof.calls, proof.returns), meter
    )
    if found is None or found.stuck is None:
        return "no order of these operations fits", ()
    return by_search(proof, found.stuck)


def _whole(share: Share, part: Part) -> Part:
    """Return ``part`` with the returns as recorded: what was impossible without them is so with them."""
    return part.subset(range(len(part.operations)), [share.returns[op.index] for op in part.operations])
