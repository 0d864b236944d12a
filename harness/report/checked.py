"""What a check found, as JSON and as lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.values import show

from .escape import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.verdict import KeyVerdict, Report, Violation

_SENTENCE_CHARS_MAX: Final = 2000


def as_json(report: Report, *, load_s: float) -> dict[str, Any]:
    """Return the object that ``check --json`` prints."""
    return {
        "outcome": report.outcome.value,
        "format": report.format,
        "model": report.model,
        "operations": report.operations,
        "keys": {key_name(verdict.key): _key(verdict) for verdict in report.keys},
        "seconds": {"load": round(load_s, 6), "check": round(report.seconds, 6)},
        "violation": None if report.violation is None else violation_json(report.violation),
        "notes": list(report.notes),
    }


def violation_json(found: Violation) -> dict[str, Any]:
    """Return one violation with its operations."""
    return {
        "kind": found.kind,
        "key": msgspec.to_builtins(found.key, str_keys=True),
        "operations": [msgspec.to_builtins(operation, str_keys=True) for operation in found.operations],
        "sentence": found.sentence,
        "staleness": None
        if found.staleness is None
        else {"stale_ns": found.staleness.stale_ns, "versions": found.staleness.versions},
    }


def key_name(key: object) -> str:
    """Return the name of a key as a JSON object may hold it; a text of digits is told from a number."""
    return key if isinstance(key, str) and not key.isdigit() else show(key)


def _key(verdict: KeyVerdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome.value,
        "seconds": round(verdict.seconds, 6),
        "operations": verdict.operations,
        "method": verdict.method.value,
        "reason": verdict.reason,
    }


def lines(report: Report, *, path: str) -> Iterator[str]:
    """Yield the verdict on one file, what proves it, and what its reader must know."""
    word = report.outcome.value.upper().replace("-", " ")
    size = f"{report.operations} operations on {len(report.keys)} keys"
    yield f"{word}  {plain(path)}  ({report.format}, {report.model}, {size}, {report.seconds:.3f} s)"
    yield f"  {plain(report.sentence, chars_max=_SENTENCE_CHARS_MAX)}"
    for found in report.violations:
        yield from _violation(found)
    for note in report.notes:
        yield f"  note: {plain(note)}"


def _violation(found: Violation) -> Iterator[str]:
    yield f"  key {plain(show(found.key))}:"
    yield from (f"    {plain(line)}" for line in found.drawing.splitlines())
    yield from (f"    {plain(state)}" for state in found.states)
    if found.staleness is not None:
        yield f"    {plain(found.staleness.read)}: {plain(found.staleness)}"
