"""What the evidence of a run directory says beside the history's own verdict, as lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.checked import SENTENCE_CHARS_MAX, told
from harness.report.claims import amount
from harness.report.escape import plain
from harness.report.rules import labelled, rule_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.run.rejudge import Rejudged


def lines(found: Rejudged) -> Iterator[str]:
    """Yield who served, what was exercised, a line an oracle, and the notes."""
    if found.proof is not None and found.proof.served is not None:
        yield from told(f"who served: {plain(found.proof.served, chars_max=SENTENCE_CHARS_MAX)}")
        for fault in found.proof.faults or ("none",):
            yield from told(f"fault in force: {plain(fault)}")
    for label, text in labelled(rule_lines(found.convictions)):
        yield from told(f"{label}: {plain(text, chars_max=SENTENCE_CHARS_MAX)}")
    if found.claims:
        counts = (f"{claim} {amount(n, found.units.get(claim))}" for claim, n in found.claims.items())
        yield from told(f"exercised: {', '.join(counts)}")
    for each in found.oracles:
        said = f"  {plain(each.sentence, chars_max=SENTENCE_CHARS_MAX)}".rstrip()
        yield from told(f"oracle {plain(each.name)}: {each.outcome.value}{said}")
    for note in found.notes:
        yield from told(f"note: {plain(note)}")
