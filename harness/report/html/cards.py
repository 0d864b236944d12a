"""The answers beside the headline: how stale, who answered, which rule, which faults, what planted.

Where nothing is proved: what was exercised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from checker.conviction import Certainty
from harness.report.claims import amount, units
from harness.report.rulebook import says
from harness.report.tone import Tone

from .shapes import ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checker.conviction import Conviction
    from harness.report.load import RunData
    from harness.report.saved import Found, Told


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: a question, the answer in a few words, and what there is to say of it."""

    label: str
    answer: str
    more: tuple[str, ...] = ()
    tone: Tone = Tone.PLAIN


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
        for claim, count in said.exercised.items():
            answer = amount(count, unit.get(claim))
            yield Card(
                label=f"exercised: {claim}", answer=answer, tone=Tone.GOOD if count else Tone.WARN
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
            tone=Tone.BAD,
        )
    else:
        yield Card(label="kind of violation", answer=found.kind, tone=Tone.BAD)
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
            tone=Tone.BAD,
        )
        faults = proof.faults
        yield Card(
            label="faults in force", answer=f"{len(faults)}" if faults else "none", more=faults[:6]
        )


def _rule_cards(said: Told) -> Iterator[Card]:
    """Yield one card for all rules that are broken for certain, and one for each other conviction."""
    certain = [each for each in said.convictions if each.certainty is Certainty.CERTAIN]
    if certain:
        rules = tuple(dict.fromkeys(each.rules[0] for each in certain))
        yield _rule_card("rule broken", ", ".join(rules), rules, certain)
    for each in said.convictions:
        if each.certainty is Certainty.CONSISTENT:
            yield _rule_card("rule broken, one of", " or ".join(each.rules), each.rules, [each])
        elif each.certainty is Certainty.UNKNOWN:
            yield _rule_card("rule broken", "not known", (), [each])


def _rule_card(label: str, answer: str, rules: Sequence[str], convictions: Sequence[Conviction]) -> Card:
    looks = tuple(dict.fromkeys(name for each in convictions for name in each.looks_like))
    trace = (f"Looks like: {', '.join(looks)}.",) if looks else ()
    return Card(
        label=label, answer=answer, more=(*filter(None, map(says, rules)), *trace), tone=Tone.BAD
    )
