"""A violation's proof for a person: the operations, and what evidence and faults tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.oracles.result import violations
from checker.proof import explain

from .checked import key_name
from .view import Proof

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.oracles.result import OracleResult
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


def proof_of_oracles(oracles: Iterable[OracleResult]) -> Proof | None:
    """Return what the first oracle that proves something says; None if none does."""
    first = next(violations(oracles), None)
    return None if first is None else Proof(kind=first.kind, key=None, sentence=first.sentence)


def violation_json(found: dict[str, Any] | None, proof: Proof | None) -> dict[str, Any] | None:
    """Return a history's violation with who is to blame for it, or an oracle's in the same shape."""
    if proof is None:
        return found
    told: dict[str, Any] = {
        "kind": proof.kind,
        "key": None,
        "operations": [],
        "sentence": proof.sentence,
    }
    return told | (found or {}) | {"served": proof.served, "faults": list(proof.faults)}
