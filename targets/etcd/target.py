"""etcd as a target: in containers, by its JSON gateway. See `targets.target`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from targets.target import Mode, Place, Target

from .speech import READ_MODES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from targets.docker.cluster import DockerCluster
    from targets.target import Mistake, Setup

    from .client import EtcdClient

_MODES: Final = (
    Mode(
        name="linearizable",
        claims=("readindex-reads",),
        about="a quorum confirms the index that a read waits for",
    ),
    Mode(
        name="serializable",
        claims=("follower-reads",),
        about="the member asked answers from what it has, however old: not linearizable, as documented",
    ),
)
assert tuple(mode.name for mode in _MODES) == READ_MODES


class Etcd:
    """See `targets.target.Target`: a version of it, by the image it is in."""

    modes: Mapping[str, Mode] = MappingProxyType({mode.name: mode for mode in _MODES})
    places: tuple[Place, ...] = (Place.DOCKER,)
    takes = frozenset({"links"})
    mistakes: Mapping[str, Mistake] = MappingProxyType({})
    rules_off: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ("paused-leader", "etcd-20418")

    def __init__(self, name: str, about: str, image: str, *, dockerfile: str | None) -> None:
        self.name = name
        self.about = about
        self._image = image
        self._dockerfile = dockerfile

    def check(self, setup: Setup) -> None:
        """Take every plan."""

    def cluster(self, setup: Setup, run_dir: Path, *, gates: bool) -> DockerCluster:
        """Return containers of the image."""
        from targets.docker.cluster import DockerCluster  # noqa: PLC0415 - half a second

        from .system import EtcdSystem  # noqa: PLC0415

        system = EtcdSystem(setup.node_names, image=self._image, dockerfile=self._dockerfile)
        return DockerCluster(system, run_dir, gates=gates)

    def client(self, setup: Setup) -> EtcdClient:
        """Return a client that reads in the plan's mode."""
        from .client import EtcdClient  # noqa: PLC0415 - to list targets takes none

        return EtcdClient(setup.policy, timeout_ns=setup.write_timeout_ns)


ETCD: Final = Etcd(
    "etcd",
    "etcd 3.4 through its JSON gateway, as Debian packages it",
    "lantern-etcd",
    dockerfile="targets/etcd/Dockerfile",
)
ETCD_CURRENT: Final = Etcd(
    "etcd-current",
    "the same, of an image lantern-etcd-current that .ci/etcd-current.sh makes",
    "lantern-etcd-current",
    dockerfile=None,
)

if TYPE_CHECKING:
    _is_a_target: Target = ETCD
