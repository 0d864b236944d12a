"""A violation's proof for a person: the operations, and what evidence and faults tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.proof import explain

from .checked import key_name
from .view import Proof

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.proof import FaultWindow
    from checker.timeline import Timelines
    from checker.verdict import Violation


def proof_of(found: Violation, timelines: Timelines | None, faults: Iterable[FaultWindow] = ()) -> Proof:
    """Return what is told of a violation of a history; without evidence nobody knows who served."""
    told = None
    if timelines is not None:
        read = found.staleness.read if found.staleness is not None else None
        told = explain(found.operations, timelines, faults=faults, read=read)
    return Proof(
        kind=found.kind,
        key=None if found.key is None else key_name(found.key),
        sentence=found.sentence,
        drawing=tuple(found.drawing.splitlines()),
        stale=None if found.staleness is None else str(found.staleness),
        served=None if told is None else told.account,
        faults=() if told is None else told.faults,
    )
