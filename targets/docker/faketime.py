"""Bent clocks for containers: the control file of `targets.host.faketime`, seen from inside.

The node's folder is mounted, the library is the image's own, and the shared memory that tells when it
took its start is the container's, reached through the process's root.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from targets.host.faketime import ControlFile

if TYPE_CHECKING:
    from targets.cluster import ClockMode

LIBRARY: Final = "/opt/lantern/libfaketime.so.1"


class ContainerClock(ControlFile):
    """The control file of a node whose folder ``directory`` it sees as ``inside``."""

    def __init__(self, directory: Path, mode: ClockMode, *, inside: str) -> None:
        super().__init__(directory, mode)
        self._inside = inside

    def _as_seen(self) -> tuple[str, str]:
        return LIBRARY, f"{self._inside}/{self._path.name}"

    def _shared(self, pid: int) -> Path:
        """Return what process 1 of the container made."""
        return Path(f"/proc/{pid}/root/dev/shm/faketime_shm_1")
