"""The summary of a run, laid out as sections of labelled rows; how it is printed is another matter.

The order is a reader's: what came out and why, what proves it, what was really tried, what it cost,
where to look further. Everything that came from the run passes through `plain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from harness.outcome import Outcome

from .claims import amount, fully_exercised
from .escape import plain, whole
from .rules import labelled
from .tone import Tone, of_oracle, of_outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .view import Proof, RuleLine, RunView

_PROSE_CHARS_MAX: Final = 2000
_ENDS: Final = ("ok", "fail", "info")


class Row(msgspec.Struct, frozen=True):
    """A label and a line of text; ``tone`` is what the line means to its reader."""

    label: str
    text: str
    tone: Tone = Tone.PLAIN


class Section(msgspec.Struct, frozen=True):
    """A heading with its rows."""

    heading: str
    rows: tuple[Row, ...]


def summary(view: RunView) -> tuple[Section, ...]:
    """Lay the whole run out."""
    sections = [Section("verdict", tuple(_verdict(view)))]
    if view.proof is not None:
        rules = tuple(_rules(view.rules))
        sections.append(Section("proof", (*_proof(view.proof), *rules)))
    sections.append(Section("load", tuple(_load(view))))
    sections.append(Section("faults", tuple(_faults(view))))
    sections.append(Section("exercised", tuple(_exercised(view))))
    sections.append(Section("oracles", tuple(_oracles(view))))
    if view.notes:
        sections.append(Section("notes", tuple(Row("", plain(note), Tone.NOTE) for note in view.notes)))
    sections.append(Section("files", tuple(_files(view))))
    return tuple(sections)


def _files(view: RunView) -> Iterator[Row]:
    yield Row("run", plain(view.directory), Tone.EXACT)
    if view.report is not None:
        yield Row("report", plain(view.report), Tone.EXACT)
    yield Row("replay", whole(view.replay), Tone.EXACT)


def _verdict(view: RunView) -> Iterator[Row]:
    yield Row("run", plain(view.title))
    meaning = view.outcome.meaning_where(exercised=fully_exercised(view.claims, view.notes))
    yield Row("outcome", f"{view.outcome.words.upper()}: {meaning}", of_outcome(view.outcome))
    for planted in view.planted:
        yield Row("planted", plain(planted, chars_max=_PROSE_CHARS_MAX))
    if view.reason is not None and not _is_the_proof(view.reason, view.proof):
        yield Row("reason", plain(view.reason, chars_max=_PROSE_CHARS_MAX), of_outcome(view.outcome))


def _is_the_proof(sentence: str, proof: Proof | None) -> bool:
    """Tell whether a sentence says what the proof says, which stands by itself."""
    return proof is not None and sentence.endswith(proof.sentence)


def _proof(proof: Proof) -> Iterator[Row]:
    where = proof.kind if proof.key is None else f"{proof.kind}, key {proof.key}"
    yield Row("kind", plain(where), Tone.BAD)
    yield Row("sentence", plain(proof.sentence, chars_max=_PROSE_CHARS_MAX), Tone.BAD)
    for line in proof.drawing:
        yield Row("", plain(line), Tone.DRAWING)
    if proof.stale is not None:
        yield Row("how stale", plain(proof.stale))
    if proof.served is not None:
        yield Row("who served", plain(proof.served, chars_max=_PROSE_CHARS_MAX))
        for fault in proof.faults or ("none",):
            yield Row("fault in force", plain(fault))


def _rules(rules: Sequence[RuleLine]) -> Iterator[Row]:
    for label, text in labelled(rules):
        yield Row(
            label, plain(text, chars_max=_PROSE_CHARS_MAX), Tone.BAD if label == "rule" else Tone.PLAIN
        )


def _load(view: RunView) -> Iterator[Row]:
    if view.operations is None:
        yield Row("operations", f"not counted, in {view.seconds:.1f} s", Tone.WARN)
        return
    total_ok = sum(ends.get("ok", 0) for ends in view.operations.values())
    rate = total_ok / view.seconds if view.seconds else 0.0
    yield Row("operations", f"{total_ok} ok in {view.seconds:.1f} s ({rate:.0f} a second)")
    for f, ends in sorted(view.operations.items()):
        yield Row(plain(f), ", ".join(f"{ends.get(end, 0)} {end}" for end in _ENDS))
    for path, told in view.reads.items():
        yield Row(f"{plain(path)} reads", f"{told.reads}, p50 {told.p50_ns / 1e6:.3f} ms")
    if view.stall_ns is not None:
        length, start = view.stall_ns
        yield Row("largest stall", f"{length / 1e6:.0f} ms without an ok, from {start / 1e9:.2f} s on")
    yield Row("elections won", _elections(view))


def _elections(view: RunView) -> str:
    """Return how many terms had a leader after the first, and what the claim counts of them."""
    elections = f"{view.leader_changes} after the first"
    others = None if view.claims is None else view.claims.get("leader-changes")
    return elections if others is None else f"{elections}, {others} by another node than before"


def _faults(view: RunView) -> Iterator[Row]:
    if not view.faults:
        yield Row("", "none")
    for kind, fault in view.faults.items():
        counts = [f"{fault.installed} installed"]
        counts += [f"{fault.skipped} skipped"] if fault.skipped else []
        counts += [f"{fault.unknown} unknown"] if fault.unknown else []
        did = f": {plain(fault.did)}" if fault.did else ""
        yield Row(plain(kind), ", ".join(counts) + did, Tone.WARN if fault.unknown else Tone.PLAIN)


def _exercised(view: RunView) -> Iterator[Row]:
    if view.claims is None:
        yield Row("", "not counted", Tone.WARN)
        return
    if not view.claims:
        yield Row("", "this policy claims nothing")
    for claim, count in view.claims.items():
        text = amount(count, view.units.get(claim))
        yield Row(plain(claim), text, Tone.PLAIN if count else Tone.WARN)


def _oracles(view: RunView) -> Iterator[Row]:
    if view.keys is None:
        yield Row("keys", "not checked", Tone.WARN)
        return
    words = ((word.replace("-", " "), count) for word, count in sorted(view.keys.items()))
    keys = ", ".join(f"{count} {word}" for word, count in words) or "none"
    yield Row("keys", plain(keys), Tone.BAD if view.keys.get(Outcome.VIOLATION) else Tone.PLAIN)
    for oracle in view.oracles:
        said = f": {plain(oracle.said)}" if oracle.said else ""
        if oracle.said and _is_the_proof(oracle.said, view.proof):
            said = ": the proof above"
        yield Row(plain(oracle.name), plain(oracle.verdict) + said, of_oracle(oracle.verdict))
