"""The answers beside the headline: how stale, who answered, which rule, which faults, what planted.

Where nothing is proved: what was exercised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.conviction import Certainty
from harness.report.claims import units

from .rules import says
from .shapes import ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.conviction import Conviction
    from harness.report.load import RunData
    from harness.report.saved import Found, Told


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: a question, the answer in a few words, and what there is to say of it."""

    label: str
    answer: str
    more: tuple[str, ...] = ()
    tone: str = ""


def cards_of(run: RunData) -> Iterator[Card]:
    """Yield them in the order in which somebody asks."""
    said = run.said
    if said is None:
        return
    found = said.violation
    if found is not None:
        yield from _proof_cards(run, found)
        yield from _rule_cards(said)
    elif said.exercised:
        unit = {} if run.plan is None else units(said.exercised, run.plan.clock)
        missed = [claim for claim, count in said.exercised.items() if not count]
        yield Card(
            label="what was exercised",
            answer=", ".join(f"{count} {claim}" for claim, count in said.exercised.items()),
            more=tuple(f"{claim}: {word}" for claim, word in unit.items()),
            tone="warn" if missed else "good",
        )
    for each in said.planted:
        yield Card(
            label="planted",
            answer=each.mistake,
            more=(each.sentence, "Known because it was planted, not because it was proved."),
        )


def _proof_cards(run: RunData, found: Found) -> Iterator[Card]:
    proof, stale = run.focus.proof, found.staleness
    if stale is not None:
        versions = f"{stale.versions} version{'s' * (stale.versions != 1)}"
        length = versions if stale.stale_ns is None else f"{ms(stale.stale_ns)}, {versions}"
        yield Card(
            label="how stale",
            answer=length,
            more=("At least: by when its value was certainly gone.",),
            tone="bad",
        )
    else:
        yield Card(label="kind of violation", answer=found.kind, tone="bad")
    if proof is not None and proof.read is not None:
        path = "" if proof.path is None else f", path {proof.path}"
        term = "" if proof.term is None else f", term {proof.term}"
        more = []
        if proof.lease is not None:
            left = proof.lease.remaining_ns
            more.append(
                "It took its lease for open-ended."
                if left is None
                else f"It believed that {ms(left)} were left of it, by its {proof.lease.clock} clock."
            )
        yield Card(
            label="who answered",
            answer=f"{proof.node or 'not recorded'}{term}{path}",
            more=tuple(more),
            tone="bad",
        )
        faults = proof.faults
        yield Card(
            label="faults in force", answer=f"{len(faults)}" if faults else "none", more=faults[:6]
        )


def _rule_cards(said: Told) -> Iterator[Card]:
    by_rules: dict[tuple[str, ...], list[Conviction]] = {}
    for each in said.convictions:
        by_rules.setdefault(each.rules, []).append(each)
    for rules, convictions in by_rules.items():
        first = convictions[0]
        looks = tuple(dict.fromkeys(name for each in convictions for name in each.looks_like))
        known = f"Leaves the trace of: {', '.join(looks)} (catalog)." if looks else ""
        match first.certainty:
            case Certainty.UNKNOWN:
                label, answer = "rule broken", "not known"
            case Certainty.CONSISTENT:
                label, answer = "rule broken, one of", " or ".join(rules)
            case _:
                label, answer = "rule broken", ", ".join(rules)
        more = (*(says(rule) for rule in rules), first.sentence, known, *first.around[:6])
        yield Card(label=label, answer=answer, more=tuple(line for line in more if line), tone="bad")
