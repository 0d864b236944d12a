"""How each kind of fault of nodes is made, in virtual time too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nemesis.faults import (
    BendClock,
    Campaign,
    ChangeMembers,
    FillDisk,
    Kill,
    NodesFault,
    Pause,
    SlowApply,
    SlowSync,
    StopTime,
    Suspend,
    Transfer,
)

from . import clock, crash, disk, lateness, leader, members, pause, time_service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .common import Means

MEANS: Final[Mapping[type[NodesFault], Means]] = {
    Pause: pause.MEANS,
    Kill: crash.MEANS,
    BendClock: clock.MEANS,
    Campaign: leader.MEANS,
    SlowApply: lateness.APPLY,
    SlowSync: lateness.SYNC,
    FillDisk: disk.MEANS,
    Transfer: members.TRANSFER,
    ChangeMembers: members.MEMBERS,
    StopTime: time_service.MEANS,
    Suspend: pause.SUSPEND,
}
