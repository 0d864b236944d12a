"""Every target by its name. To add one to the tree is a folder beside this file and a line in here.

A name stands for an import that is made when somebody asks for it, so a target that cannot be imported
is in the way of nobody else's. Somebody's own file with a client is a target too, by its path.
"""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .host.heal import Healed
    from .target import Mode, Target

SYSTEMS: Final = {
    "leasekv": "targets.leasekv.target:LEASEKV",
    "etcd": "targets.etcd.target:ETCD",
    "etcd-current": "targets.etcd.target:ETCD_CURRENT",
}
OWN: Final = "targets.attach.target:Attached"
UNRUN: Final = "targets.attach.target:Unrun"

UNREAD: Final = "a read mode of a file that was not run"

DEFAULT: Final = next(iter(SYSTEMS))
"""What is tested if nobody says what."""

HEALERS: Final = {
    "containers": "targets.docker.heal:heal",
    "attached clusters": "targets.attach.record:heal",
}
"""Who heals at a container engine what a dead run left there, in this order."""


def is_file(name: str) -> bool:
    """Tell whether a target's name is a file with somebody's client."""
    return name.endswith(".py")


@cache
def find(name: str) -> Target:
    """Return the target of this name; a file's is made from the client in it, which is run for that.

    ``KeyError`` if there is no such name, `targets.cluster.TargetError` if the file will not do.
    """
    if is_file(name):
        return cast("Target", resolve_name(OWN)(name))
    return cast("Target", resolve_name(SYSTEMS[name]))


def unrun(name: str, policy: str) -> Target:
    """Return as much of a target as judges need, and whoever shows a run: nobody's file is run for it.

    Of a file ``policy`` is taken for a read mode: of all that it may have, nothing else is known.
    """
    if is_file(name):
        return cast("Target", resolve_name(UNRUN)(name, {policy: UNREAD}))
    return find(name)


def mode(name: str, policy: str) -> Mode:
    """Return what a run of a target under a policy is judged by; nobody's file is run for it."""
    return unrun(name, policy).modes[policy]


def every() -> tuple[Target, ...]:
    """Return the targets that have a name of their own."""
    return tuple(map(find, SYSTEMS))


def heal(healer: str, run: str | None = None, *, dry: bool = False) -> Awaitable[tuple[Healed, ...]]:
    """Have one of the `HEALERS` heal every dead run, or only the one of this name."""
    made = cast("Callable[..., Awaitable[tuple[Healed, ...]]]", resolve_name(HEALERS[healer]))
    return made(run, dry=dry)
