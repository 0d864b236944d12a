"""Every target by its name: how it may be read, where it can run, and who makes its clients.

Some keys of a plan mean something to some targets only, or in one place. A target says which of them it
takes; any other that a plan sets would be ignored silently, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from .attach.client import load
from .etcd.speech import READ_MODES
from .leasekv.policies import POLICIES
from .mode import Mode


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One target. ``modes`` and ``places`` begin with the default.

    ``schedules`` names those that are aimed at it; the first is a bare run's, which otherwise is drawn
    from the plan's families. ``takes`` are the keys of a plan it takes of those in `TAKEN_BY_SOME`.
    """

    name: str
    about: str
    modes: Mapping[str, Mode]
    places: tuple[str, ...]
    takes: frozenset[str]
    schedules: tuple[str, ...] = ()


_ETCD: Final = {
    "linearizable": Mode(
        name="linearizable",
        claims=("readindex-reads",),
        overlap=False,
        about="a quorum confirms the index that a read waits for",
    ),
    "serializable": Mode(
        name="serializable",
        claims=("follower-reads",),
        overlap=False,
        about="the member asked answers from what it has, however old: not linearizable, as documented",
    ),
}
assert tuple(_ETCD) == READ_MODES

LEASEKV: Final = Target(
    name="leasekv",
    about="our own Raft store: reads by lease, by ReadIndex, by the log",
    modes=MappingProxyType({name: policy.mode for name, policy in POLICIES.items()}),
    places=("local", "sim", "docker"),
    takes=frozenset(
        {
            "keep_rules",
            "readindex_one_in",
            "heartbeat_ns",
            "margin_ns",
            "read_timeout_ns",
            "weather",
            "links",
        }
    ),
)
ETCD: Final = Target(
    name="etcd",
    about="etcd 3.4 through its JSON gateway, as Debian packages it",
    modes=MappingProxyType(_ETCD),
    places=("docker",),
    takes=frozenset({"links"}),
    schedules=("paused-leader", "etcd-20418"),
)
ETCD_CURRENT: Final = msgspec.structs.replace(
    ETCD,
    name="etcd-current",
    about="the same, of an image lantern-etcd-current that .ci/etcd-current.sh makes",
)

TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {one.name: one for one in (LEASEKV, ETCD, ETCD_CURRENT)}
)

OWN_TAKES: Final = frozenset({"compose", "containers"})
"""What a client of somebody's own takes: where their cluster is."""

TAKEN_BY_SOME: Final = OWN_TAKES.union(*(one.takes for one in TARGETS.values()))
TAKEN_ON: Final[Mapping[str, str]] = MappingProxyType({"weather": "sim", "links": "docker"})
"""The only place where a key of a plan means anything."""


def is_file(name: str) -> bool:
    """Tell whether a target's name is a file with somebody's client."""
    return name.endswith(".py")


def find(name: str) -> Target:
    """Return the target of this name; a file's is made from the client in it, which is run for that.

    ``KeyError`` if there is no such name, `targets.cluster.TargetError` if the file will not do.
    """
    if not is_file(name):
        return TARGETS[name]
    modes = {
        mode: Mode(name=mode, claims=(), overlap=False, about=about)
        for mode, about in load(Path(name)).modes.items()
    }
    return Target(
        name=name,
        about="your own",
        modes=modes,
        places=("docker",),
        takes=OWN_TAKES,
        schedules=("paused-leader",),
    )
