"""What a search remembers of the branches that came to nothing, and why they did.

Where operations of unknown end are used up as a search goes, a configuration may come again with others
of them used. It fails again if it has no more than the first one had, of what the first one *ran out
of*: whatever the first never lacked would not have helped. So a branch that failed notes what it was
short of: the used operations that would have been tried again, had they been left, where it begins or
anywhere below it. What was lacking on the way to it is no part of that: whoever comes to it by another
way did not need it. But it is a part of what the branch above lacks.

While a branch is under way nothing is known of that, and a configuration below it that comes to the same
point, with no less used, adds nothing to it: it could do no more. What such a configuration lacks is
then what the branch above turns out to lack, so whatever lies between the two has to wait for that
(``waits_for``).
"""

from __future__ import annotations

EVERYTHING = -1
"""The bits of all operations: no branch that has more left of any of them is covered."""


class Branch:
    """A configuration from which several ways were open.

    ``used``: the operations of unknown end that were used. ``lacks``: those of them that it ran out of,
    of what is known so far, which to begin with is what would have been one more way. ``on_the_way``:
    what was lacking between the branch above and this one.
    """

    __slots__ = ("above", "depth", "lacks", "on_the_way", "used", "waits_for", "ways")

    def __init__(
        self, above: Branch | None, used: int, ways: int, *, on_the_way: int, lacks: int
    ) -> None:
        self.above = above
        self.depth: int = 0 if above is None else above.depth + 1
        self.used = used
        self.ways = ways
        self.on_the_way = on_the_way
        self.lacks = lacks
        self.waits_for: Branch | None = None

    def reason(self) -> int:
        """Return the operations such that whoever has no more of them left fails as this one did."""
        while self.waits_for is not None and not self.waits_for.ways:
            self.lacks |= self.waits_for.lacks
            self.waits_for = self.waits_for.waits_for
        return self.lacks if self.waits_for is None and not self.ways else EVERYTHING


def covering(branches: list[Branch], used: int) -> Branch | None:
    """Return one of ``branches``, of one configuration, that had all that is left with ``used``."""
    for each in branches:
        if not each.used & ~used or not each.used & each.reason() & ~used:
            return each
    return None


def fail(branch: Branch | None, lacks: int, covered_by: Branch | None = None) -> None:
    """Note that a way from ``branch`` came to nothing, with what it lacked, or what it is covered by."""
    waits_for = covered_by
    while waits_for is not None and not waits_for.ways:
        lacks |= waits_for.lacks
        waits_for = waits_for.waits_for
    while branch is not None:
        branch.lacks |= lacks
        if waits_for is not None and (
            branch.waits_for is None or waits_for.depth < branch.waits_for.depth
        ):
            branch.waits_for = waits_for
        branch.ways -= 1
        if branch.ways:
            return
        if branch.waits_for is branch:
            branch.waits_for = None
        waits_for = branch.waits_for
        lacks = branch.lacks | branch.on_the_way
        branch = branch.above
