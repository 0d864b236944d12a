"""The storage: values by key, and before those that were ever written with a token, a fence.

The fence is asked where a write takes effect, never at the client, and knows nothing of locks: it sees
tokens. The greatest accepted one is remembered before the value is changed, both by one entry of the
log, which is durable before anybody hears of it. A write without a token shows 0, so that a key once
fenced takes none of those any more; a deletion leaves the fence where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checker.evidence import Refused, Stored
from targets.leasekv.fencing import Claim, Fencing
from targets.leasekv.messages import Code, Op

from .kv import KeyValue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.evidence import Fact
    from targets.leasekv.messages import Entry, Key


CHANGES: Final = frozenset({Op.WRITE, Op.CAS, Op.DELETE})


class Storage:
    """A `KeyValue` behind its fence; ``told`` is taken away by whoever applies entries."""

    __slots__ = ("_fencing", "_newest", "_values", "told")

    def __init__(self, fencing: Fencing) -> None:
        self._fencing = fencing
        self._values = KeyValue()
        self._newest: dict[Key, int] = {}
        self.told: list[Fact] = []

    def read(self, key: Key) -> Any:
        """Return what ``key`` holds, None if nothing."""
        return self._values.read(key)

    def foresee(self, key: Key, entries: Iterable[Entry]) -> Any:
        """Return what ``key`` would hold if these entries were applied as well."""
        ahead = Storage(self._fencing)
        newest = {key: self._newest[key]} if key in self._newest else {}
        ahead.restore((((key, self.read(key)),), newest))
        for entry in entries:
            ahead.apply(entry)
        return ahead.read(key)

    def snapshot(self) -> Any:
        """Return everything it holds, as a value that never changes again."""
        return self._values.snapshot(), tuple(self._fencing.kept(self._newest).items())

    def restore(self, snapshot: Any) -> None:
        """Hold what another one held when it gave that."""
        values, newest = snapshot
        self._values.restore(values)
        self._newest = dict(newest)

    def apply(self, entry: Entry) -> tuple[Code | None, Any]:
        """Do what ``entry`` says; return the code and value its client hears."""
        if entry.op is Op.STORE:
            return self._store(entry)
        if entry.key in self._newest and entry.op in CHANGES:
            return self._unless_fenced(entry)
        return self._values.apply(entry)

    def _store(self, entry: Entry) -> tuple[Code | None, Any]:
        match entry.key, entry.value:
            case ((str() | int()), [int(token), _]) if type(token) is int and token > 0:
                pass
            case _:
                return Code.UNSUPPORTED, None
        newest = self._newest.get(entry.key, 0)
        if not self._fencing.accepts(Claim(token, newest)):
            return self._refuse(entry, newest)
        self._newest[entry.key] = max(token, newest)
        self._values.put(entry.key, entry.value)
        self.told.append(Stored(entry.term, entry.index, entry.key, token))
        return None, None

    def _unless_fenced(self, entry: Entry) -> tuple[Code | None, Any]:
        newest = self._newest[entry.key]
        if self._fencing.accepts(Claim(0, newest)):
            return self._values.apply(entry)
        return self._refuse(entry, newest)

    def _refuse(self, entry: Entry, newest: int) -> tuple[Code, int]:
        self.told.append(Refused(entry.term, Code.FENCED.value))
        return Code.FENCED, newest
