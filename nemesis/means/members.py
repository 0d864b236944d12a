"""Asking a node that leads to hand over, or to go over to other voters.

The fault is the question, and only a leader that is free for it takes it up: what it shows of itself
right after is the proof. What comes of it is for the rules under test to say. Other voters are undone by
having whoever leads go back to those that the cluster began with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from targets.cluster import Primitive, Role

from .common import Ineffective, Means, Unverified, installed

if TYPE_CHECKING:
    from collections.abc import Callable

    from nemesis.faults import ChangeMembers, Transfer, Verification
    from targets.cluster import NodeStatus

    from .common import Statuses


def handing_over(before: NodeStatus, now: NodeStatus, fault: Transfer) -> bool:
    """Tell whether a node took it up: it shows so, or led before and follows by now."""
    return now.handing_over_to == fault.to or (
        before.role is Role.LEADER and now.role is not Role.LEADER and now.term > before.term
    )


def changing(_before: NodeStatus, now: NodeStatus, fault: ChangeMembers) -> bool:
    """Tell whether the voters and learners asked for are in force at a node, or come into it."""
    told, wanted = now.members, fault.members
    return told is not None and (
        set(told.incoming or told.voters) == set(wanted.voters)
        and set(told.learners) == set(wanted.learners) - set(wanted.voters)
    )


def _told(before: Statuses, now: Statuses, fault: Any, shown: Callable[..., bool]) -> Verification:
    """Say what came of it by what the nodes said before and right after."""
    for node in fault.nodes:
        first, last = before[node], now[node]
        if first is None or last is None:
            raise Unverified(f"{node} was asked and does not say what it does")
        if not shown(first, last, fault):
            raise Ineffective(f"{node} did not take it up: it does not lead, or is busy with another")
    found = {node: status for node, status in now.items() if status is not None}
    return installed(
        terms={node: status.term for node, status in found.items()},
        roles={node: status.role.value for node, status in found.items()},
    )


TRANSFER: Final = Means(
    needs=lambda _fault: (Primitive.TRANSFER,),
    make=lambda cluster, fault, node: cluster.hand_over(node, fault.to),
    undo=lambda _cluster, _fault, _node: None,
    awake=True,
    told=lambda before, now, fault: _told(before, now, fault, handing_over),
)

MEMBERS: Final = Means(
    needs=lambda _fault: (Primitive.MEMBERSHIP,),
    make=lambda cluster, fault, node: cluster.reconfigure(node, fault.members),
    undo=lambda cluster, _fault, _node: cluster.restore_members(),
    awake=True,
    told=lambda before, now, fault: _told(before, now, fault, changing),
)
