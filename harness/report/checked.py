"""What a check found, as JSON and as lines for a person."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.searching import NOT_LOOKED_AT
from checker.values import show
from harness.outcome import Outcome

from .escape import plain
from .fold import WIDTH, folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.verdict import KeyVerdict, Report, Violation

NOT_JUDGED: Final = "not-judged"
"""The word for a key that was passed over once another one was a violation: no budget ran out."""

SENTENCE_CHARS_MAX: Final = 2000
_INDENT: Final = "  "


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


def key_word(verdict: KeyVerdict) -> str:
    """Return how a key ended, in a word."""
    return NOT_JUDGED if verdict.reason == NOT_LOOKED_AT else verdict.outcome.value


def _key(verdict: KeyVerdict) -> dict[str, Any]:
    return {
        "outcome": key_word(verdict),
        "seconds": round(verdict.seconds, 6),
        "operations": verdict.operations,
        "method": verdict.method.value,
        "reason": verdict.reason,
    }


def lines(report: Report, *, path: str, outcome: Outcome | None = None) -> Iterator[str]:
    """Yield the verdict on one file, what proves it, and what its reader must know.

    ``outcome`` is that of more than the history, where there is more.
    """
    word = (outcome or Outcome(report.outcome.value)).words.upper()
    head = f"{word}  {plain(path)}"
    how = f"({report.format}, {report.model}, {report.size}, {report.seconds:.3f} s)"
    if len(head) + len(how) + len(_INDENT) <= WIDTH:
        yield f"{head}  {how}"
    else:
        yield head
        yield f"{_INDENT}{how}"
    yield from told(plain(report.sentence, chars_max=SENTENCE_CHARS_MAX))
    passed_over = sum(key_word(verdict) == NOT_JUDGED for verdict in report.keys)
    if passed_over:
        yield f"{_INDENT}{passed_over} of {len(report.keys)} keys not judged; --all judges every key"
    undecided = [verdict for verdict in report.keys if key_word(verdict) == Outcome.UNKNOWN.value]
    if undecided and len(undecided) < len(report.keys):
        counts = Counter(map(key_word, report.keys))
        yield from told(f"keys: {', '.join(f'{many} {word}' for word, many in sorted(counts.items()))}")
        if report.violations:
            yield from told(f"undecided: {plain(undecided[0].reason or '')}")
    for found in report.violations:
        yield from _violation(found)
    for note in report.notes:
        yield from told(f"note: {plain(note)}")


def told(text: str, *, indent: str = _INDENT) -> list[str]:
    """Return a sentence under the line that it belongs to; it is escaped already."""
    return folded(text, first=indent, rest=f"{indent}  ")


def _violation(found: Violation) -> Iterator[str]:
    if found.key is not None:
        yield f"{_INDENT}key {plain(show(found.key))}:"
    yield from (f"    {plain(line)}" for line in found.drawing.splitlines())
    for state in found.states:
        yield from told(plain(state), indent="    ")
    if found.staleness is not None:
        yield from told(f"{plain(found.staleness.read)}: {plain(found.staleness)}", indent="    ")
