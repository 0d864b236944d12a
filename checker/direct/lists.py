"""Lists that are appended to and read whole: a read tells the order of everything before it.

Where every value is appended once to one list, the longest read gives the order of what was seen, every
other read is a prefix of it, and what was not seen comes behind. So the order of all operations is
known up to ties, and one pass over it decides: nobody may return before the latest call of those that
come before.

An append of unknown end counts if it was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        else:
            told = list(map(tag, op.value or ()))
            seen[i] = told
            reads.append((len(told), i))
            if len(told) > len(longest[1]) or longest[0] < 0:
                longest = (i, told)
    witness, order = longest
    for i, told in seen.items():
        if told != order[: len(told)]:
            why = "saw what is no beginning of a longer list that was read"
            return proof(part, writer, [i, witness], i, why)
    held = set(order)
    if not held <= writer.keys():
        return proof(part, writer, [witness], witness, "saw a value that nobody appended")
    if len(held) < len(order):
        return proof(part, writer, [witness], witness, "saw a value twice that was appended once")
    at_end = [i for value, i in writer.items() if value not in held and part.returns[i] != NEVER]
    groups = [[i for _, i in sorted(reads) if not seen[i]]]
    by_length: dict[int, list[int]] = {}
    for length, i in reads:
        by_length.setdefault(length, []).append(i)
    for length, value in enumerate(order, 1):
        groups += [[writer[value]], by_length.get(length, [])]
    groups.append(at_end)
    return in_groups(part, groups, writer)


def in_groups(part: Part, groups: list[list[int]], writer: dict[Hashable, int]) -> Ordered | Impossible:
    """Return the order of the groups, or who returned too early for it.

    Two that went in are told apart by a read that holds the first of them: the next one is enough.
    """
    latest, holder, held_at = -NEVER, -1, -1
    line: list[int] = []
    for place, group in enumerate(groups):
        group.sort(key=part.calls.__getitem__)
        for i in group:
            if part.returns[i] < latest:
                between = (at for later in groups[held_at + 1 :] for at in later)
                read = next((at for at in between if part.operations[at].f == "read"), i)
                why = (
                    f"ended before {part.operations[holder]} began, and comes after it by what was read"
                )
                return proof(part, writer, [i, holder, read], i, why)
            line.append(i)
        for i in group:
            if part.calls[i] > latest:
                latest, holder, held_at = part.calls[i], i, place
    return Ordered(line)


def proof(
    part: Part, writer: dict[Hashable, int], picked: list[int], culprit: int, why: str
) -> Impossible:
    """Return a proof of ``picked`` and of whatever put in what the reads among them hold."""
    held = {
        writer[value]
        for i in picked
        if part.operations[i].f == "read"
        for value in map(tag, part.operations[i].value or ())
        if value in writer
    }
    return Impossible(sorted({*picked, *held}), culprit, why)
