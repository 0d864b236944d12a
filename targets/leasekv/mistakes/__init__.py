"""Planted mistakes: each one substitution in the rules of one policy, with what it takes to show it.

A mistake never adds a branch to the core. Its aimed schedule lies in ``nemesis/schedules/<id>.yaml``.
They are told by what goes wrong: how a leader counts its `leases`, what followers do with `promises`,
how `reads` get their index, what leases `between` leaders of other policies rest on, which `members` a
lease asks, what `clocks` a node trusts, what `fencing` misses of locks and tokens, and what keeps
a cluster from `moving` on.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from . import between, clocks, fencing, leases, members, moving, promises, reads
from .planted import Planted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MISTAKES", "Planted"]

_ALL: Final = (
    *leases.ALL,
    *promises.ALL,
    *reads.ALL,
    *between.ALL,
    *members.ALL,
    *clocks.ALL,
    *fencing.ALL,
    *moving.ALL,
)

MISTAKES: Final[Mapping[str, Planted]] = MappingProxyType({mistake.id: mistake for mistake in _ALL})
