"""Who is meant: from the roles a schedule speaks of to nodes.

An episode binds its roles once, when it starts: whoever led then is ``leader`` to the end of the
episode, also while it is frozen and also after it was replaced. Only ``new-leader`` is looked up when
it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from nemesis.validate import ALL, FOLLOWER, FOLLOWERS, LEADER, NEW_LEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .sight import Sight


class Unbound(Exception):  # noqa: N818 - an answer, not a failure
    """Nobody has that role now; the message says why."""


class Binding(msgspec.Struct, frozen=True):
    """Who had which role when the episode started, and in which term."""

    leader: str
    followers: tuple[str, ...]
    term: int

    @property
    def roles(self) -> dict[str, str]:
        """Return each node's role by name."""
        numbered = {node: f"follower-{place}" for place, node in enumerate(self.followers, start=1)}
        return {self.leader: LEADER, **numbered}


def bind(nodes: Sequence[str], sight: Sight, now_ns: int) -> Binding:
    """Bind the roles to the nodes as they are seen now; `Unbound` where that is impossible."""
    leaders = sight.leaders(now_ns)
    if not leaders:
        raise Unbound("no node has said lately that it leads")
    if len(leaders) > 1:
        claims = " and ".join(f"{seen.status.node} in term {seen.status.term}" for seen in leaders)
        raise Unbound(f"more than one node says that it leads: {claims}")
    leader = leaders[0].status
    followers = tuple(node for node in nodes if node != leader.node)
    return Binding(leader.node, followers, leader.term)


def resolve(names: Sequence[str], binding: Binding, sight: Sight, now_ns: int) -> tuple[str, ...]:
    """Return the nodes that are meant, each once, in the order they were named."""
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(_meant(name, binding, sight, now_ns)))
    return tuple(found)


def _meant(name: str, binding: Binding, sight: Sight, now_ns: int) -> tuple[str, ...]:
    """Return the nodes that one name means."""
    if name == LEADER:
        return (binding.leader,)
    if name == FOLLOWERS:
        return binding.followers
    if name == ALL:
        return (binding.leader, *binding.followers)
    if name == NEW_LEADER:
        newer = sight.newer_leader(binding.term, now_ns)
        if newer is None:
            raise Unbound(f"nobody leads in a term above {binding.term}")
        return (newer.status.node,)
    if numbered := FOLLOWER.fullmatch(name):
        place = int(numbered[1])
        if place > len(binding.followers):
            raise Unbound(f"there are {len(binding.followers)} followers, so no {name}")
        return (binding.followers[place - 1],)
    return (name,)
