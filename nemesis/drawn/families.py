"""The families of faults, and the episodes each draws from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from nemesis.schedule import Episode

from .clocks import clocks, strobe
from .deposing import campaign, frozen_leader, held_answers, isolation, late_quorum
from .disks import full_disk, late_apply, late_sync, stuck_sync
from .draw import Draw
from .links import bystanders, slow_links
from .members import handed_over, hung_transfer, other_voters, parted_change, unheard_time
from .nodes import crash, frozen, short_pauses


class Family(msgspec.Struct, frozen=True):
    """What belongs together; an episode that is named twice comes twice as often."""

    about: str
    episodes: tuple[Callable[[Draw], Episode], ...]


DRAWN: Final[Mapping[str, Family]] = {
    "clock": Family("wall clocks jump, or monotonic clocks run at another rate", (clocks,)),
    "pause": Family(
        "nodes are stopped for a while, with the links around them cut",
        (frozen_leader, short_pauses, frozen),
    ),
    "partition": Family(
        "links are cut in one direction or both, keeping or losing what is in flight",
        (isolation, held_answers, isolation, bystanders),
    ),
    "crash": Family("nodes are killed and started again with the data they had", (crash,)),
    "delay": Family("links deliver late, one way", (slow_links,)),
    "leader": Family("a node is asked to campaign, through the vote rules", (campaign,)),
    "apply": Family("nodes apply committed entries late", (late_apply,)),
    "disk": Family("disk syncs take longer", (late_sync,)),
    "late": Family(
        "a follower's old answers reach a leader that was deposed meanwhile, before its news do",
        (late_quorum,),
    ),
    "full": Family("disks have no room left; nodes end, and start again when there is", (full_disk,)),
    "strobe": Family("clocks jump, or change their rate, to and fro in quick succession", (strobe,)),
    "stuck": Family("a disk sync does not come back for a while", (stuck_sync,)),
    "transfer": Family(
        "a leader hands over, in time or to a node that cannot lead", (handed_over, hung_transfer)
    ),
    "membership": Family("voters and learners change, and change back", (other_voters, parted_change)),
    "time-service": Family("nodes do not hear what time it is, if they rest on that", (unheard_time,)),
}
"""By name, in the order that draws depend on: new ones come last."""

BENDING: Final = frozenset({"clock", "strobe"})
"""Families that bend the one clock that a run may bend."""
