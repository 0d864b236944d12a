"""Who takes part, and what a majority of them is (L10).

A configuration is an entry of the log and in force from when it is appended, committed or not. Changing
the voters goes through a *joint* one, in which every decision needs a majority of the old voters and a
majority of the incoming ones; once it is committed its leader appends the incoming ones alone. So no
two majorities that do not meet are ever in force at once. Learners are sent everything and count for
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

NEVER: Final = -(1 << 62)


def backed_by(values: Iterable[int], voters_min: int) -> int:
    """Return the largest value that at least ``voters_min`` of the values reach."""
    return sorted(values, reverse=True)[voters_min - 1]


class Membership(msgspec.Struct, frozen=True, array_like=True):
    """One configuration; ``incoming`` is empty unless it is joint."""

    voters: tuple[str, ...]
    incoming: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()

    def plain(self) -> list[list[str]]:
        """Return it as an entry's value, just as that comes off a wire or a disk."""
        return [list(names) for names in (self.voters, self.incoming, self.learners)]

    @property
    def quorums(self) -> tuple[tuple[str, ...], ...]:
        """The sets of which each must have a majority for anything to be decided."""
        return (self.voters, self.incoming) if self.incoming else (self.voters,)

    @property
    def members(self) -> tuple[str, ...]:
        """Everybody to send to, each once, in the order of their names."""
        return tuple(sorted({*self.voters, *self.incoming, *self.learners}))

    def votes(self, node: str) -> bool:
        """Tell whether ``node`` counts in any decision."""
        return node in self.voters or node in self.incoming

    def lasts(self, node: str) -> bool:
        """Tell whether ``node`` will still count once this configuration is settled."""
        return node in (self.incoming or self.voters)

    def settled(self) -> Membership:
        """Return what a joint configuration leads to."""
        return Membership(self.incoming, (), self.learners)

    def agree(self, names: Collection[str]) -> bool:
        """Tell whether ``names`` are a majority of every quorum set."""
        return all(2 * sum(voter in names for voter in voters) > len(voters) for voters in self.quorums)

    def backed(self, values: Mapping[str, int]) -> int:
        """Return the largest value that a majority of every quorum set reaches; `NEVER` if none does."""
        backed = _backed_by_most(self.voters, values)
        return min(backed, _backed_by_most(self.incoming, values)) if self.incoming else backed


def _backed_by_most(voters: tuple[str, ...], values: Mapping[str, int]) -> int:
    return backed_by([values.get(voter, NEVER) for voter in voters], len(voters) // 2 + 1)
