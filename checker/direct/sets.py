"""Sets that are read whole, and from which nothing is removed, where elements are added once.

An element once in stays in, so a read that holds more came later. The reads form a chain, and the order
of all operations is known up to ties, as for `lists`: before each read that holds more than the last
come the additions of what is new in it, and what no read holds was added after all reads. One pass over
that order decides.

A set that is never read whole needs no rules: each of its elements is a part of its own (`divide`), with
an operation or two that change it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from checker.direct.lists import in_groups, proof
from checker.operations import NEVER
from checker.values import tag

if TYPE_CHECKING:
    from collections.abc import Hashable

    from checker.direct.verdict import Direct
    from checker.part import Part


def decide(part: Part) -> Direct:
    """Return the decision for a set that starts empty; None where elements are added again."""
    if part.start != frozenset() or not {op.f for op in part.operations} <= {"add", "read"}:
        return None
    adder: dict[Hashable, int] = {}
    reads: list[tuple[int, int]] = []
    seen: dict[int, frozenset[Hashable]] = {}
    for i, op in enumerate(part.operations):
        if op.f == "read":
            seen[i] = frozenset(map(tag, op.value or ()))
            reads.append((len(seen[i]), i))
        elif adder.setdefault(tag(op.value), i) != i:
            return None
    reads.sort()
    for (_, fewer), (_, more) in pairwise(reads):
        if not seen[fewer] <= seen[more]:
            return proof(part, adder, [fewer, more], more, "lacks what a read of no more elements holds")
    groups: list[list[int]] = []
    held: frozenset[Hashable] = frozenset()
    size = 0
    for length, i in reads:
        if length > size or not groups:
            fresh = seen[i] - held
            unknown = fresh - adder.keys()
            if unknown:
                return proof(part, adder, [i], i, "holds an element that nobody added")
            groups += [[adder[value] for value in fresh], [i]]
            held, size = seen[i], length
        else:
            groups[-1].append(i)
    groups.append([i for value, i in adder.items() if value not in held and part.returns[i] != NEVER])
    return in_groups(part, groups, adder)
