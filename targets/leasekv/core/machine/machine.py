"""The replicated state of a node: a lock service and a storage, side by side on one log.

They share the log, and with it durability, snapshots and an order of everything, and nothing else: a
fence sees the token that a write brings, never the lock. An entry has its answer as soon as it is
applied, but for an acquisition that has to wait: a later entry brings it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from targets.leasekv.messages import Op

from .locks import Answer, Locks
from .storage import Storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checker.evidence import Fact
    from targets.leasekv.fencing import Fencing
    from targets.leasekv.messages import Entry, Key

OF_LOCKS: Final = frozenset({Op.ACQUIRE, Op.RENEW, Op.RELEASE, Op.EXPIRE})


class Machine:
    """Both machines behind one log."""

    __slots__ = ("_locks", "_storage")

    def __init__(self, fencing: Fencing) -> None:
        self._locks = Locks(fencing)
        self._storage = Storage(fencing)

    @property
    def locks(self) -> Locks:
        """The lock service, to be looked at."""
        return self._locks

    def read(self, key: Key) -> Any:
        """Return what ``key`` holds, None if nothing."""
        return self._storage.read(key)

    def foresee(self, key: Key, entries: Iterable[Entry]) -> Any:
        """Return what ``key`` would hold if these entries were applied as well."""
        return self._storage.foresee(key, entries)

    def snapshot(self) -> Any:
        """Return everything it holds, as a value that never changes again."""
        return self._storage.snapshot(), self._locks.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Hold what another one held when it gave that."""
        storage, locks = snapshot
        self._storage.restore(storage)
        self._locks.restore(locks)

    def apply(self, entry: Entry) -> Sequence[Answer]:
        """Do what ``entry`` says; return what is answered now, to whomever."""
        if entry.op not in OF_LOCKS:
            return (Answer(entry.index, *self._storage.apply(entry)),)
        self._locks.apply(entry)
        answers, self._locks.answers = self._locks.answers, []
        return answers

    def told(self) -> Sequence[Fact]:
        """Return what there is to tell since the last time."""
        locks, storage = self._locks, self._storage
        if not (locks.told or storage.told):
            return ()
        told = [*locks.told, *storage.told]
        locks.told, storage.told = [], []
        return told
