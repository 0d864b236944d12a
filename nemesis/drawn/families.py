"""The families of faults, and the episodes each draws from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .clocks import clocks
from .deposing import campaign, frozen_leader, held_answers, isolation, late_quorum
from .disks import full_disk, late_apply, late_sync
from .links import bystanders, slow_links
from .nodes import crash, frozen, short_pauses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nemesis.schedule import Episode

    from .draw import Draw

EPISODES: Final[Mapping[str, tuple[Callable[[Draw], Episode], ...]]] = {
    "clock": (clocks,),
    "pause": (frozen_leader, short_pauses, frozen),
    "partition": (isolation, held_answers, isolation, bystanders),
    "crash": (crash,),
    "delay": (slow_links,),
    "leader": (campaign,),
    "apply": (late_apply,),
    "disk": (late_sync,),
    "late": (late_quorum,),
    "full": (full_disk,),
}
"""What each family of faults draws from; what is named twice comes twice as often."""
