"""Lists that are appended to and read whole: a read tells the order of everything before it.

Where every value is appended once to one list, the longest read gives the order of what was seen, every
other read is a prefix of it, and what was not seen comes behind. So the order of all operations is
known up to ties, and one pass over it decides: nobody may return before the latest call of those that
come before.

An append of unknown end counts if it was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.conventions import NilRead
from checker.direct.verdict import Direct, Impossible, Ordered
from checker.operations import NEVER
from checker.values import tag

if TYPE_CHECKING:
    from collections.abc import Hashable

    from checker.part import Part


def decide(part: Part) -> Direct:  # noqa: C901 - one column after the other
    """Return the decision for one list that starts empty; transactions are left to the search."""
    if part.start != (("list",), frozenset()) or not {op.f for op in part.operations} <= {
        "append",
        "read",
    }:
        return None
    writer: dict[Hashable, int] = {}
    reads: list[tuple[int, int]] = []
    longest: tuple[int, list[Hashable]] = (-1, [])
    seen: dict[int, list[Hashable]] = {}
    for i, op in enumerate(part.operations):
        if op.f == "append":
            value = tag(op.value)
            if value in writer:
                return None
            writer[value] = i
        elif op.value is not None or part.model.conventions.nil_read is NilRead.VALUE:
            told = list(map(tag, op.value or ()))
            seen[i] = told
            reads.append((len(told), i))
            if len(told) > len(longest[1]) or longest[0] < 0:
                longest = (i, told)
    witness, order = longest
    for i, told in seen.items():
        if told != order[: len(told)]:
            return Impossible(
                sorted((i, witness)), i, "saw what is no beginning of a longer list that was read"
            )
    missing = next((value for value in order if value not in writer), None)
    if missing is not None or len(set(order)) < len(order):
        return None
    at_end = [i for value, i in writer.items() if value not in set(order) and part.returns[i] != NEVER]
    groups = [[i for _, i in sorted(reads) if not seen[i]]]
    by_length: dict[int, list[int]] = {}
    for length, i in reads:
        by_length.setdefault(length, []).append(i)
    for length, value in enumerate(order, 1):
        groups += [[writer[value]], by_length.get(length, [])]
    groups.append(at_end)
    return _pass(part, groups, witness)


def _pass(part: Part, groups: list[list[int]], witness: int) -> Direct:
    """Return the order of the groups, or who returned too early for it."""
    latest, holder = -NEVER, -1
    line: list[int] = []
    for group in groups:
        group.sort(key=part.calls.__getitem__)
        for i in group:
            if part.returns[i] < latest:
                positions = sorted({i, holder, witness} - {-1})
                return Impossible(
                    positions, i, "ended too early for the place in the list where it was seen"
                )
            line.append(i)
        for i in group:
            if part.calls[i] > latest:
                latest, holder = part.calls[i], i
    return Ordered(line)
