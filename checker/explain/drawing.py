"""Intervals in plain text, one line an operation, in call order.

        p0 write 1   |----------|
        p2 read -> nil           |~~~~|
        p1 write 2        |---------->            (nobody saw it end)

Columns are ranks of stamps, not time: what matters is what came before what. Where there are more ranks
than columns they share. Where there are more operations than lines, those that the sentence names are
kept, and those that ended before those that nobody saw end. Text from a history is shown as
`Operation.__str__` does, escaped; nothing here can fail on an odd history, and if it did, the verdict
would stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.explain.sentence import who
from checker.operations import NEVER
from checker.values import shorten, show

if TYPE_CHECKING:
    from checker.part import Part

_WIDTH: int = 60
_LINES_MAX: int = 40
_NAME_CHARS_MAX: int = 48


def draw(part: Part, sentence: str) -> str:
    """Return the operations of ``part`` as intervals, whatever happens those that ``sentence`` names."""
    count = len(part.operations)
    shown = _shown(part, sentence)
    ends = {part.returns[i] for i in shown} - {NEVER}
    stamps = sorted({part.calls[i] for i in shown} | ends)
    scale = min(4, max(1, _WIDTH // max(1, len(stamps))))
    rank = {stamp: min(i * scale, i * _WIDTH // len(stamps)) for i, stamp in enumerate(stamps)}
    names = [
        shorten(f"p{show(part.operations[i].process)} {part.operations[i]}", _NAME_CHARS_MAX)
        for i in shown
    ]
    margin = max(map(len, names), default=0)
    end = max(rank.values(), default=0) + 3
    lines = []
    for i, name in zip(shown, names, strict=True):
        start, back = rank[part.calls[i]], part.returns[i]
        if back == NEVER:
            bar = "|" + "-" * (end - start) + ">"
        else:
            bar = "|" + "-" * max(0, rank[back] - start - 1) + "|" * (rank[back] > start)
        lines.append(f"{name:<{margin}}  {' ' * start}{bar}")
    if count > len(shown):
        lines.append(f"... and {count - len(shown)} more")
    return "\n".join(lines)


def _shown(part: Part, sentence: str) -> list[int]:
    """Return the positions of as many operations as there are lines for, what matters most first."""
    operations = part.operations
    if len(operations) <= _LINES_MAX:
        return list(range(len(operations)))
    order = sorted(
        range(len(operations)),
        key=lambda i: (who(operations[i]) not in sentence, part.returns[i] == NEVER),
    )
    return sorted(order[:_LINES_MAX])
