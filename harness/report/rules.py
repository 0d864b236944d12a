"""Which rule a violation breaks, for a person: a sentence, and mistakes that look like it as a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .view import RuleLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from checker.conviction import Conviction


def rule_lines(convictions: Iterable[Conviction]) -> tuple[RuleLine, ...]:
    """Return what is told of rules."""
    return tuple(
        RuleLine(said=str(each), looks_like=each.looks_like, around=each.around) for each in convictions
    )


def labelled(rules: Sequence[RuleLine]) -> Iterator[tuple[str, str]]:
    """Yield each line with what it is; nothing is escaped."""
    for rule in rules:
        yield "rule", rule.said
        if rule.looks_like:
            yield "looks like", f"{', '.join(rule.looks_like)} (by its trace; mistakes of the catalog)"
        for sentence in rule.around:
            yield "around it", sentence
